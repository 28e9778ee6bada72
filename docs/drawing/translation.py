"""The conjunctions that expressions are translated to, and the lists of `pstbloom` that contain them."""

from __future__ import annotations

from typing import Any, NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.decoder import IndexDecoder, Spaces
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.records import list_record_offsets
from docs.drawing.routing import draw_routed_graph
from tellwhen.papers.ps_tree.verify import Record, read_records_by_offset

TITLE = "Translation: every expression becomes conjunctions, which are in the lists of an engine of conjunctions"


class Conjunction(NamedTuple):
    """A conjunction of a subscription."""

    slot: int
    predicates: list[int]


def draw() -> str:
    index = build_example("translation")
    engine: Any = index._shard.engine
    decoder, common = IndexDecoder(index), engine.inner._index.common
    spaces, event_points = Spaces(decoder, common.cut_start, common.cuts), decoder.encode_event(EVENT)
    event_spaces = {spaces.find(domain, point) for domain, point in event_points.items()}
    conjunctions, records = read_conjunctions(engine.inner), read_records_by_offset(common)
    boxes, arrows, matched_slots = list[Box](), list[Arrow](), set[int]()
    is_true = [all(decoder.is_satisfied(p, event_points) for p in one.predicates) for one in conjunctions]
    for space in (space for domain in range(len(common.cut_start) - 1) for space in spaces.list_of_domain(domain)):
        numbers = [
            find_conjunction(decoder, spaces, space, records[at], conjunctions)
            for at in list_record_offsets(common, space)
        ]
        if not numbers:
            continue
        marked = [k for k, number in enumerate(numbers) if space in event_spaces and is_true[number]]
        lines = [decoder.name_subscription(conjunctions[number].slot) for number in numbers]
        boxes.append(
            Box(
                f"l{space}",
                f"list of {spaces.format(space)}",
                lines,
                "leaf",
                space in event_spaces,
                marked_lines=marked,
            )
        )
        for slot in dict.fromkeys(conjunctions[number].slot for number in numbers):
            is_found = any(conjunctions[numbers[k]].slot == slot for k in marked)
            arrows.append(Arrow(f"l{space}", f"s{slot}", is_visited=is_found))
        matched_slots |= {conjunctions[numbers[k]].slot for k in marked}
    assert sorted(decoder.name_subscriptions(matched_slots)) == sorted(index.match(EVENT))
    for slot in sorted({one.slot for one in conjunctions}):
        boxes.append(make_subscription_box(decoder, slot, conjunctions, is_true))
    return draw_routed_graph(TITLE, boxes, arrows, towards="right", extra_gap=70)


def read_conjunctions(inner: Any) -> list[Conjunction]:
    """Return the conjunctions of all subscriptions. Slots with several conjunctions are stored as -1 - slot."""
    slot, start, predicate = inner.conjunctions()
    return [
        Conjunction(int(one) if one >= 0 else -1 - int(one), predicate[start[k] : start[k + 1]].tolist())
        for k, one in enumerate(slot)
    ]


def find_conjunction(
    decoder: IndexDecoder, spaces: Spaces, space: int, record: Record, conjunctions: list[Conjunction]
) -> int:
    """Return the number of the conjunction that a record stands for.

    The conjunction consists of the predicates that the record tests and of one more, on the domain of the space.
    """
    slot = record.slot if record.slot >= 0 else -1 - record.slot
    for number, one in enumerate(conjunctions):
        rest = [p for p in one.predicates if p not in record.tested]
        is_same = one.slot == slot and len(rest) == 1 and len(one.predicates) == len(record.tested) + 1
        if is_same and decoder.snapshot.predicates.domain[rest[0]] == spaces.get_domain(space):
            return number
    raise AssertionError("a record stands for no conjunction")


def make_subscription_box(
    decoder: IndexDecoder, slot: int, conjunctions: list[Conjunction], is_true: list[bool]
) -> Box:
    own_conjunctions = [number for number, one in enumerate(conjunctions) if one.slot == slot]
    lines = [
        " AND ".join(decoder.format_predicate(p) for p in conjunctions[number].predicates)
        for number in own_conjunctions
    ]
    marked = [k for k, number in enumerate(own_conjunctions) if is_true[number]]
    return Box(f"s{slot}", decoder.name_subscription(slot), lines, "result", bool(marked), marked_lines=marked)
