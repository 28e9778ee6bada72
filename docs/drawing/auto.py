"""The parts of the default engine: segments, and pending subscriptions."""

from __future__ import annotations

from typing import Any

import tellwhen as tw
from docs.drawing.bands import EVENT, make_expression
from docs.drawing.boxes import Arrow, Box, draw_graph
from tellwhen.encode.events import EventEncoder
from tellwhen.engines.auto.segments import make_segment_readers
from tellwhen.engines.shared.calls import Packed, Refiner

TITLE = "The default engine: a large segment, a smaller one, and subscriptions that are pending"

FIRST_LOAD, SECOND_LOAD, PENDING_COUNT = 41_000, 10_000, 150


def draw() -> str:
    index = build_example()
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
    matched_slots = [reader.match(events).slot for reader in readers]
    assert sorted(slot for one in matched_slots for slot in one.tolist()) == sorted(index.match(EVENT))
    lines = [f"{name} = {value!r}" for name, value in EVENT.items()]
    boxes, arrows = [Box("event", "the event", lines, "plain", is_visited=True)], []
    for number, (head, method) in enumerate(parts):
        boxes.append(
            Box(
                str(number),
                head,
                [method, f"{len(matched_slots[number])} match"],
                "node",
                is_visited=True,
                marked_lines=[1],
            )
        )
        arrows += [Arrow("event", str(number), is_visited=True), Arrow(str(number), "all", is_visited=True)]
    total = sum(len(one) for one in matched_slots)
    boxes.append(Box("all", "all of them", [f"{total} subscriptions"], "result", is_visited=True, marked_lines=[0]))
    return draw_graph(TITLE, boxes, arrows, towards="right", in_order=True)


def build_example() -> tw.Index:
    """Return an index after two bulk loads and a few single additions. Ids are slots.

    The layout is fixed, so that no measured time decides it.
    """
    index = tw.Index("auto", layout=1)
    for first, count in ((0, FIRST_LOAD), (FIRST_LOAD, SECOND_LOAD), (FIRST_LOAD + SECOND_LOAD, PENDING_COUNT)):
        index.add_many((k, make_expression(k)) for k in range(first, first + count))
    return index
