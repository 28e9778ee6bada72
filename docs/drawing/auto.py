"""Where are the subscriptions of the default engine? In segments, and for a while among those that are pending."""

from __future__ import annotations

from typing import Any

import tellwhen as tw
from docs.drawing.bands import EVENT, expression
from docs.drawing.boxes import Arrow, Box, picture
from tellwhen.encode.events import EventEncoder
from tellwhen.engines.auto.segments import make_segment_readers
from tellwhen.engines.shared.calls import Packed, Refiner

TITLE = "The default engine: a large segment, a smaller one, and subscriptions that are pending"

AT_FIRST, LATER, PENDING = 41_000, 10_000, 150


def draw() -> str:
    index = example()
    engine: Any = index._shard.engine
    snapshot = Packed(engine.source.snapshot())
    encoder = EventEncoder(index._shard.store.attributes, index._schema)
    encoder.add(EVENT)
    events = encoder.finish()
    kinds = ["atree" if one.is_graph else "cover" for one in engine._segments]
    parts = [
        (f"segment of {len(one.slots):,}", f"index: {kind}") for one, kind in zip(engine._segments, kinds, strict=True)
    ]
    parts.append((f"{engine._pending.count} pending", "tested one by one"))
    readers = [*make_segment_readers(engine._segments, snapshot), Refiner(engine._pending.view, snapshot)]
    found = [reader.match(events).slot for reader in readers]
    assert sorted(slot for one in found for slot in one.tolist()) == sorted(index.match(EVENT))
    lines = [f"{name} = {value!r}" for name, value in EVENT.items()]
    boxes, arrows = [Box("event", "the event", lines, "plain", visited=True)], []
    for number, (head, how) in enumerate(parts):
        boxes.append(Box(str(number), head, [how, f"{len(found[number])} match"], "node", visited=True, marked=[1]))
        arrows += [Arrow("event", str(number), visited=True), Arrow(str(number), "all", visited=True)]
    total = sum(len(one) for one in found)
    boxes.append(Box("all", "all of them", [f"{total} subscriptions"], "result", visited=True, marked=[0]))
    return picture(TITLE, boxes, arrows, towards="right", in_order=True)


def example() -> tw.Index:
    """Two loads in bulk, then a few more; ids are slots. The layout is given, so that no clock decides it."""
    index = tw.Index("auto", layout=1)
    for first, count in ((0, AT_FIRST), (AT_FIRST, LATER), (AT_FIRST + LATER, PENDING)):
        index.add_many((k, expression(k)) for k in range(first, first + count))
    return index
