"""The leaves of expressions, for the pictures of engines that keep a tree of every expression.

An event satisfies predicates. The posting list of a predicate holds the leaves with this predicate, and each leaf leads
to an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.decoder import IndexDecoder
from docs.drawing.example_trees import EVENT
from tellwhen.papers.a_tree.shared.postings import LeafPostings


class Leaf(NamedTuple):
    """A leaf of an expression: its predicate, and its annotation or else its position in the postings."""

    annotation: int
    predicate: int


class LeafTable(NamedTuple):
    """The leaves of each expression, the leaves that the event satisfies, all predicates, and the true ones."""

    leaves: list[list[Leaf]]
    satisfied_leaves: list[list[Leaf]]
    predicates: list[int]
    true_predicates: set[int]


def read_leaves(decoder: IndexDecoder, postings: LeafPostings) -> LeafTable:
    """Collect the leaves of each expression from the posting lists, sorted by annotation."""
    assert postings.trees == len(postings.slot), "an expression in a picture has a tree"
    leaves: list[list[Leaf]] = [[] for _ in postings.slot]
    predicates = [p for p in range(len(postings.start) - 1) if postings.start[p] < postings.start[p + 1]]
    for p in predicates:
        for position in range(postings.start[p], postings.start[p + 1]):
            annotation = int(postings.annotation[position]) if len(postings.annotation) else position
            leaves[postings.expression[position]].append(Leaf(annotation, p))
    event_points = decoder.encode_event(EVENT)
    true_predicates = {p for p in predicates if decoder.is_satisfied(p, event_points)}
    leaves = [sorted(tree_leaves) for tree_leaves in leaves]
    satisfied = [[leaf for leaf in tree_leaves if leaf.predicate in true_predicates] for tree_leaves in leaves]
    return LeafTable(leaves, satisfied, predicates, true_predicates)


def make_predicate_boxes(decoder: IndexDecoder, table: LeafTable, is_numbered: bool = False) -> list[Box]:
    """Return a box for each predicate, with the number of the predicate if `is_numbered`."""
    heads = {p: f"{p}: " * is_numbered + decoder.format_predicate(p) for p in table.predicates}
    return [Box(f"p{p}", head, (), "leaf", p in table.true_predicates) for p, head in heads.items()]


def make_posting_arrows(table: LeafTable) -> list[Arrow]:
    """Return an arrow from each predicate to each expression that contains it."""
    pairs = sorted({(leaf.predicate, x) for x, leaves in enumerate(table.leaves) for leaf in leaves})
    return [Arrow(f"p{p}", f"x{x}", is_visited=p in table.true_predicates) for p, x in pairs]


def pad_texts(texts: Sequence[str]) -> list[str]:
    """Pad all texts with spaces to the length of the longest."""
    width = max(len(text) for text in texts)
    return [text.ljust(width) for text in texts]
