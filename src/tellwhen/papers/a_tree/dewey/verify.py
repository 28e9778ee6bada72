"""Is an index of `dewey` whole? Its invariants, checked; for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex
from tellwhen.papers.a_tree.shared.tree_engine import leaves_of
from tellwhen.papers.a_tree.shared.trees import Trees

ID = list[tuple[int, bool]]
"""Numbers, each with whether it has a star."""


def check_ids(index: DeweyIndex, trees: Trees) -> None:
    """The IDs follow each other without gaps, and those of a tree are the walk from its first leaf to its last."""
    expression, annotation, predicate = leaves_of(index.posted)
    assert np.array_equal(trees.leaves()[1], predicate), "an ID is on another leaf"
    assert (np.diff(annotation) > 0).all(), "IDs are not in the order of the trees"
    at, before, owner = 0, ID(), -1
    for x, where in zip(expression.tolist(), annotation.tolist(), strict=True):
        assert where == at, "an ID does not begin where the one before it ends"
        words = index.ids[at + 1 : at + 1 + int(index.ids[at])].tolist()
        found = [(word // 2, bool(word & STAR)) for word in words]
        if x != owner:
            assert x == owner + 1, "a tree has no leaves"
            check_last(before)
            check_first(found)
        else:
            check_next(before, found)
        at, before, owner = at + 1 + len(found), found, x
    check_last(before)
    assert (at, owner + 1) == (len(index.ids), index.posted.trees)


def check_first(id_: ID) -> None:
    """It leads to first children. Only the AND around a root that is none may have a single child, with a star."""
    assert id_, "an ID is empty"
    assert all(number == 1 for number, _ in id_), "a first child does not have the number 1"
    assert not any(star for _, star in id_[1:]), "a group has a single child, or a child of an OR has a star"


def check_last(id_: ID, level: int = 0) -> None:
    """From this level on it leads to last children."""
    assert all(star for _, star in id_[level + level % 2 :: 2]), "the last child of an AND has no star"


def check_next(before: ID, after: ID) -> None:
    """The leaf behind another one in a tree: below the next child of a node that both have above them."""
    level = next((k for k, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), -1)
    assert level >= 0, "a leaf has another one above it"
    assert after[level][0] == before[level][0] + 1, "a child is missing, or is there twice"
    assert not before[level][1], "a child with a star is not the last one"
    check_last(before, level + 1)
    assert all(number == 1 for number, _ in after[level + 1 :]), "a first child does not have the number 1"
    assert not any(star for _, star in [*after[level + 1 :], *after[1::2]]), "a star is in a wrong place"
