"""Which intervals do the leaves of expressions have, and do those that an event satisfies join?"""

from __future__ import annotations

from docs.drawing.boxes import Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.leaves import Found, Leaf, aligned, found_leaves, posting_arrows, predicate_boxes
from docs.drawing.routed import picture
from docs.drawing.words import Words, structure
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex

TITLE = "Interval IDs: every predicate has a list of the leaves that it is on, each with an interval"

Interval = tuple[int, int]


def draw() -> str:
    index = example("intervalid")
    words, intervals = Words(index), structure(index)
    found = found_leaves(words, intervals.posted)
    boxes, arrows = predicate_boxes(words, found), posting_arrows(found)
    matched = []
    for x, slot in enumerate(intervals.posted.slot):
        way = way_through([interval_of(leaf) for leaf in found.satisfied[x]], int(intervals.end[x]))
        matched += [words.subscription(slot)] if way else []
        boxes.append(expression_box(words, intervals, found, x, way))
    assert sorted(matched) == sorted(index.match(EVENT))
    return picture(TITLE, boxes, arrows, towards="right", apart=100)


def interval_of(leaf: Leaf) -> Interval:
    return leaf.annotation >> BEGIN_SHIFT, leaf.annotation & END_MASK


def said(interval: Interval) -> str:
    return "<{},{}>".format(*interval)


def expression_box(words: Words, intervals: IntervalIndex, found: Found, x: int, way: list[Interval]) -> Box:
    """The leaves with their intervals, and if it is true, which of them join."""
    leaves = found.leaves[x]
    texts = aligned([said(interval_of(leaf)) for leaf in leaves])
    lines = [f"{texts[k]}  {words.predicate(leaf.predicate)}" for k, leaf in enumerate(leaves)]
    marked = [k for k, leaf in enumerate(leaves) if leaf in found.satisfied[x]]
    head = f"{words.subscription(intervals.posted.slot[x])}, up to {intervals.end[x]}"
    if way:
        head += ": true by " + " ".join(said(one) for one in way)
    return Box(f"x{x}", head, lines, "result" if way else "node", bool(marked), marked=marked)


def way_through(satisfied: list[Interval], end: int) -> list[Interval]:
    """Intervals that lead from point 0 to the last one; none if there is a gap. They are sorted by their begins."""
    ways: dict[int, list[Interval]] = {0: []}
    for begin, to in satisfied:
        if begin - 1 in ways:
            ways.setdefault(to, [*ways[begin - 1], (begin, to)])
    return ways.get(end, [])
