"""The Dewey IDs of the leaves of expressions, and the IDs that an event evaluates."""

from __future__ import annotations

from docs.drawing.boxes import Box
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.leaves import Leaf, LeafTable, make_posting_arrows, make_predicate_boxes, pad_texts, read_leaves
from docs.drawing.routing import draw_routed_graph
from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex

TITLE = "Dewey IDs: every predicate has a list of the leaves that it is on, each with the ID of its place in a tree"

DeweyId = list[int]
"""The components of a Dewey ID as they are stored."""


def draw() -> str:
    index = build_example("dewey")
    decoder, dewey = IndexDecoder(index), get_arrays(index)
    table = read_leaves(decoder, dewey.posted)
    boxes, arrows = make_predicate_boxes(decoder, table), make_posting_arrows(table)
    matched_names = []
    for x, slot in enumerate(dewey.posted.slot):
        deciding_ids = find_deciding_ids([read_id(dewey, leaf) for leaf in table.satisfied_leaves[x]])
        matched_names += [decoder.name_subscription(slot)] if deciding_ids else []
        boxes.append(make_expression_box(decoder, dewey, table, x, deciding_ids))
    assert sorted(matched_names) == sorted(index.match(EVENT))
    return draw_routed_graph(TITLE, boxes, arrows, towards="right", extra_gap=100)


def read_id(dewey: DeweyIndex, leaf: Leaf) -> DeweyId:
    """Return the ID of a leaf. The annotation is the offset of its length, and the components follow."""
    begin = leaf.annotation + 1
    return [int(word) for word in dewey.ids[begin : begin + int(dewey.ids[leaf.annotation])]]


def format_id(components: DeweyId) -> str:
    return ".".join(f"{word // 2}{'*' if word & STAR else ''}" for word in components)


def make_expression_box(
    decoder: IndexDecoder, dewey: DeweyIndex, table: LeafTable, x: int, deciding_ids: list[DeweyId]
) -> Box:
    """Return a box with the leaves of expression `x`, their IDs, and the IDs that make it true, if any."""
    leaves = table.leaves[x]
    ids = pad_texts([format_id(read_id(dewey, leaf)) for leaf in leaves])
    lines = [f"{ids[k]}  {decoder.format_predicate(leaf.predicate)}" for k, leaf in enumerate(leaves)]
    marked = [k for k, leaf in enumerate(leaves) if leaf in table.satisfied_leaves[x]]
    head = decoder.name_subscription(dewey.posted.slot[x])
    if deciding_ids:
        head += ": true by " + ", ".join(format_id(one) for one in deciding_ids)
    return Box(f"x{x}", head, lines, "result" if deciding_ids else "node", bool(marked), marked_lines=marked)


def find_deciding_ids(ids: list[DeweyId]) -> list[DeweyId]:
    """Return the IDs up to the one that makes the root true; an empty list if the root stays false.

    The kernel does the same in `root_is_true`.
    """
    true_children: dict[tuple[int, ...], int] = {}  # by path of an AND: its children up to this number are true
    for count, components in enumerate(ids, 1):
        for level in range(len(components) - 1, -1, -1):
            if level % 2 == 0:  # a child of an AND
                number, path = components[level] // 2, tuple(components[:level])
                if true_children.get(path, 0) != number - 1:
                    break
                true_children[path] = number
                if not components[level] & STAR:
                    break
        else:
            return ids[:count]
    return []
