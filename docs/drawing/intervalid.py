"""The intervals of the leaves of expressions, and the chains of adjacent intervals that an event satisfies."""

from __future__ import annotations

from docs.drawing.boxes import Box
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.leaves import Leaf, LeafTable, make_posting_arrows, make_predicate_boxes, pad_texts, read_leaves
from docs.drawing.routing import draw_routed_graph
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex

TITLE = "Interval IDs: every predicate has a list of the leaves that it is on, each with an interval"

Interval = tuple[int, int]


def draw() -> str:
    index = build_example("intervalid")
    decoder, intervals = IndexDecoder(index), get_arrays(index)
    table = read_leaves(decoder, intervals.posted)
    boxes, arrows = make_predicate_boxes(decoder, table), make_posting_arrows(table)
    matched_names = []
    for x, slot in enumerate(intervals.posted.slot):
        chain = find_chain([decode_interval(leaf) for leaf in table.satisfied_leaves[x]], int(intervals.end[x]))
        matched_names += [decoder.name_subscription(slot)] if chain else []
        boxes.append(make_expression_box(decoder, intervals, table, x, chain))
    assert sorted(matched_names) == sorted(index.match(EVENT))
    return draw_routed_graph(TITLE, boxes, arrows, towards="right", extra_gap=100)


def decode_interval(leaf: Leaf) -> Interval:
    return leaf.annotation >> BEGIN_SHIFT, leaf.annotation & END_MASK


def format_interval(interval: Interval) -> str:
    return "<{},{}>".format(*interval)


def make_expression_box(
    decoder: IndexDecoder, intervals: IntervalIndex, table: LeafTable, x: int, chain: list[Interval]
) -> Box:
    """Return a box with the leaves of expression `x`, their intervals, and the chain that makes it true, if any."""
    leaves = table.leaves[x]
    texts = pad_texts([format_interval(decode_interval(leaf)) for leaf in leaves])
    lines = [f"{texts[k]}  {decoder.format_predicate(leaf.predicate)}" for k, leaf in enumerate(leaves)]
    marked = [k for k, leaf in enumerate(leaves) if leaf in table.satisfied_leaves[x]]
    head = f"{decoder.name_subscription(intervals.posted.slot[x])}, up to {intervals.end[x]}"
    if chain:
        head += ": true by " + " ".join(format_interval(one) for one in chain)
    return Box(f"x{x}", head, lines, "result" if chain else "node", bool(marked), marked_lines=marked)


def find_chain(intervals: list[Interval], end: int) -> list[Interval]:
    """Return adjacent intervals that cover the points up to `end`; an empty list if there is a gap.

    The given intervals are sorted by their first points.
    """
    chains: dict[int, list[Interval]] = {0: []}
    for begin, last in intervals:
        if begin - 1 in chains:
            chains.setdefault(last, [*chains[begin - 1], (begin, last)])
    return chains.get(end, [])
