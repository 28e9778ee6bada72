"""The pivots and predicate lists of an OpIndex, and those that an event uses."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.op_index.arrays import AT_LEAST, AT_MOST, EQUAL, Operands, OpIndexIndex

TITLE = "OpIndex: subscriptions by pivot attribute, their predicates in a list for each operator, and counters"

SIGNS = {EQUAL: "=", AT_LEAST: ">=", AT_MOST: "<="}


class Posting(NamedTuple):
    """A predicate `attribute operator operand` as an interval of a domain, and the conjunctions that contain it."""

    domain: int
    low: int
    high: int
    conjunctions: list[int]


def draw() -> str:
    index = build_example("opindex")
    decoder, opindex = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    boxes, arrows, matched_slots = [make_event_box()], [], []
    for pivot in range(len(opindex.pivot_start) - 1):
        conjunctions = range(opindex.pivot_start[pivot], opindex.pivot_start[pivot + 1])
        if not conjunctions:
            continue
        name, is_in_event, true_counts = decoder.name_attribute(pivot), pivot in event_points, Counter[int]()
        boxes.append(Box(name, f"pivot {name}", is_visited=is_in_event))
        arrows.append(Arrow("event", name, is_visited=is_in_event))
        for operator, sign in SIGNS.items():
            postings = read_postings(opindex, operator, pivot)
            if not postings:
                continue
            marked = [k for k, one in enumerate(postings) if is_in_event and is_satisfied(one, event_points)]
            true_counts.update(c for k in marked for c in postings[k].conjunctions)
            rows = [format_posting(decoder, opindex, conjunctions.start, one) for one in postings]
            boxes.append(Box(f"{name} {sign}", f"list {sign}", rows, "node", is_in_event, marked_lines=marked))
            arrows.append(Arrow(name, f"{name} {sign}", is_visited=is_in_event))
            arrows.append(Arrow(f"{name} {sign}", f"{name} counters", is_visited=bool(marked)))
        missing_counts = {c: int(opindex.need[c]) - true_counts[c - conjunctions.start] for c in conjunctions}
        matched = [c for c in conjunctions if is_in_event and missing_counts[c] == 0]
        matched_slots += [int(opindex.conjunction_slot[c]) for c in matched]
        counters = [
            f"{decoder.name_subscription(opindex.conjunction_slot[c]):4}"
            + (
                f" {opindex.need[c]} - {true_counts[c - conjunctions.start]} = {missing_counts[c]}"
                if is_in_event
                else f" {opindex.need[c]}"
            )
            for c in conjunctions
        ]
        marked = [c - conjunctions.start for c in matched]
        boxes.append(Box(f"{name} counters", "counters", counters, "leaf", is_in_event, marked_lines=marked))
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def read_postings(opindex: OpIndexIndex, operator: int, pivot: int) -> list[Posting]:
    """Return the postings in the list of an operator and a pivot, one for each operand."""
    lists, domains = opindex.lists, len(opindex.pivot_start) - 1
    number = operator * domains + pivot
    first, last = lists.segment_start[number], lists.segment_start[number + 1] - 1
    if first > last:
        return []
    conjunctions_by_rank: dict[int, list[int]] = {}
    for k in range(lists.segments[first, 0], lists.segments[last, 0]):
        conjunctions_by_rank.setdefault(int(lists.ranks[k]), []).append(int(lists.conjunctions[k]))
    return [
        Posting(*compute_interval(lists.operands, operator, rank), conjunctions)
        for rank, conjunctions in conjunctions_by_rank.items()
    ]


def compute_interval(operands: Operands, operator: int, rank: int) -> tuple[int, int, int]:
    """Return (domain, low, high) of an operator with the operand of this rank."""
    key = int(operands.keys[rank])
    low, high = key if operator != AT_MOST else LOWEST, key if operator != AT_LEAST else HIGHEST
    return int(operands.domain[rank]), low, high


def is_satisfied(posting: Posting, event_points: dict[int, int]) -> bool:
    return posting.domain in event_points and posting.low <= event_points[posting.domain] <= posting.high


def format_posting(decoder: IndexDecoder, opindex: OpIndexIndex, first: int, posting: Posting) -> str:
    names = decoder.name_subscriptions(opindex.conjunction_slot[first + c] for c in posting.conjunctions)
    return f"{decoder.format_interval(*posting[:3])}: {', '.join(names)}"
