"""Which pivots and predicate lists does an OpIndex have, and which of them does an event use?"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.words import Words, structure
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.op_index.arrays import AT_LEAST, AT_MOST, EQUAL, Operands, OpIndexIndex

TITLE = "OpIndex: subscriptions by pivot attribute, their predicates in a list for each operator, and counters"

SIGNS = {EQUAL: "=", AT_LEAST: ">=", AT_MOST: "<="}


class Posting(NamedTuple):
    """A predicate of the form `attribute operator operand`, and the conjunctions of the pivot that have it."""

    domain: int
    low: int
    high: int
    conjunctions: list[int]


def draw() -> str:
    index = example("opindex")
    words, opindex = Words(index), structure(index)
    entries = words.entries(EVENT)
    boxes, arrows, found = [event_box()], [], []
    for pivot in range(len(opindex.pivot_start) - 1):
        conjunctions = range(opindex.pivot_start[pivot], opindex.pivot_start[pivot + 1])
        if not conjunctions:
            continue
        name, is_carried, true = words.domain(pivot), pivot in entries, Counter[int]()
        boxes.append(Box(name, f"pivot {name}", visited=is_carried))
        arrows.append(Arrow("event", name, visited=is_carried))
        for operator, sign in SIGNS.items():
            postings = postings_of(opindex, operator, pivot)
            if not postings:
                continue
            marked = [k for k, one in enumerate(postings) if is_carried and is_true(one, entries)]
            true.update(c for k in marked for c in postings[k].conjunctions)
            rows = [row(words, opindex, conjunctions.start, one) for one in postings]
            boxes.append(Box(f"{name} {sign}", f"list {sign}", rows, "node", is_carried, marked=marked))
            arrows.append(Arrow(name, f"{name} {sign}", visited=is_carried))
            arrows.append(Arrow(f"{name} {sign}", f"{name} counters", visited=bool(marked)))
        left = {c: int(opindex.need[c]) - true[c - conjunctions.start] for c in conjunctions}
        matched = [c for c in conjunctions if is_carried and left[c] == 0]
        found += [int(opindex.conjunction_slot[c]) for c in matched]
        counters = [
            f"{words.subscription(opindex.conjunction_slot[c]):4}"
            + (
                f" {opindex.need[c]} - {true[c - conjunctions.start]} = {left[c]}"
                if is_carried
                else f" {opindex.need[c]}"
            )
            for c in conjunctions
        ]
        marked = [c - conjunctions.start for c in matched]
        boxes.append(Box(f"{name} counters", "counters", counters, "leaf", is_carried, marked=marked))
    assert words.subscriptions(found) == index.match(EVENT)
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def postings_of(opindex: OpIndexIndex, operator: int, pivot: int) -> list[Posting]:
    """The list of an operator and a pivot, postings of one operand together."""
    lists, domains = opindex.lists, len(opindex.pivot_start) - 1
    number = operator * domains + pivot
    first, last = lists.segment_start[number], lists.segment_start[number + 1] - 1
    if first > last:
        return []
    by_rank: dict[int, list[int]] = {}
    for k in range(lists.segments[first, 0], lists.segments[last, 0]):
        by_rank.setdefault(int(lists.ranks[k]), []).append(int(lists.conjunctions[k]))
    return [Posting(*interval(lists.operands, operator, rank), mine) for rank, mine in by_rank.items()]


def interval(operands: Operands, operator: int, rank: int) -> tuple[int, int, int]:
    """The domain and the values of an operator with the operand of this rank."""
    key = int(operands.keys[rank])
    low, high = key if operator != AT_MOST else LOWEST, key if operator != AT_LEAST else HIGHEST
    return int(operands.domain[rank]), low, high


def is_true(posting: Posting, entries: dict[int, int]) -> bool:
    return posting.domain in entries and posting.low <= entries[posting.domain] <= posting.high


def row(words: Words, opindex: OpIndexIndex, first: int, posting: Posting) -> str:
    names = words.subscriptions(opindex.conjunction_slot[first + c] for c in posting.conjunctions)
    return f"{words.stretch(*posting[:3])}: {', '.join(names)}"
