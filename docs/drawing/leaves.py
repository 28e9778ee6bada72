"""What do the engines that keep a tree of every expression have in common? Predicates, and the leaves that they are on.

An event finds its satisfied predicates, then their leaves in the posting lists, and so the expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.example_trees import EVENT
from docs.drawing.words import Words
from tellwhen.papers.a_tree.shared.postings import LeafPostings


class Leaf(NamedTuple):
    """A leaf of an expression: its annotation, or its place in a list, and its predicate."""

    annotation: int
    predicate: int


class Found(NamedTuple):
    """The leaves of every expression, those that the event satisfies, and the predicates of all."""

    leaves: list[list[Leaf]]
    satisfied: list[list[Leaf]]
    predicates: list[int]
    true: set[int]


def found_leaves(words: Words, posted: LeafPostings) -> Found:
    """The posting lists, read by expression; of each the leaves in the order of their annotations."""
    assert posted.trees == len(posted.slot), "an expression in a picture has a tree"
    leaves: list[list[Leaf]] = [[] for _ in posted.slot]
    predicates = [p for p in range(len(posted.start) - 1) if posted.start[p] < posted.start[p + 1]]
    for p in predicates:
        for at in range(posted.start[p], posted.start[p + 1]):
            annotation = int(posted.annotation[at]) if len(posted.annotation) else at
            leaves[posted.expression[at]].append(Leaf(annotation, p))
    entries = words.entries(EVENT)
    true = {p for p in predicates if words.is_satisfied(p, entries)}
    leaves = [sorted(mine) for mine in leaves]
    return Found(leaves, [[leaf for leaf in mine if leaf.predicate in true] for mine in leaves], predicates, true)


def predicate_boxes(words: Words, found: Found, is_numbered: bool = False) -> list[Box]:
    heads = {p: f"{p}: {words.predicate(p)}" if is_numbered else words.predicate(p) for p in found.predicates}
    return [Box(f"p{p}", head, (), "leaf", p in found.true) for p, head in heads.items()]


def posting_arrows(found: Found) -> list[Arrow]:
    """From every predicate to the expressions that ask for it."""
    pairs = sorted({(leaf.predicate, x) for x, mine in enumerate(found.leaves) for leaf in mine})
    return [Arrow(f"p{p}", f"x{x}", visited=p in found.true) for p, x in pairs]


def aligned(texts: Sequence[str]) -> list[str]:
    """The same texts, all as long as the longest."""
    width = max(len(text) for text in texts)
    return [text.ljust(width) for text in texts]
