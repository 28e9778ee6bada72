"""Checks of the Dewey IDs of an index, for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex
from tellwhen.papers.a_tree.shared.trees import Trees
from tellwhen.papers.a_tree.shared.verify import list_postings

DeweyID = list[tuple[int, bool]]
"""The numbers of an ID, each with whether it has a star."""


def check_ids(index: DeweyIndex, trees: Trees) -> None:
    """Check that IDs are stored without gaps, and that the IDs of a tree lead from its first leaf to its last."""
    expression, annotation, predicate = list_postings(index.posted)
    assert np.array_equal(trees.list_leaves()[1], predicate), "an ID is on another leaf"
    assert (np.diff(annotation) > 0).all(), "IDs are not in the order of the trees"
    at, before, owner = 0, DeweyID(), -1
    for x, where in zip(expression.tolist(), annotation.tolist(), strict=True):
        assert where == at, "an ID does not begin where the one before it ends"
        words = index.ids[at + 1 : at + 1 + int(index.ids[at])].tolist()
        found = [(word // 2, bool(word & STAR)) for word in words]
        if x != owner:
            assert x == owner + 1, "a tree has no leaves"
            check_last_children(before)
            check_first_children(found)
        else:
            check_next(before, found)
        at, before, owner = at + 1 + len(found), found, x
    check_last_children(before)
    assert (at, owner + 1) == (len(index.ids), index.posted.trees)


def check_first_children(dewey_id: DeweyID) -> None:
    """Check that the ID of a tree's first leaf leads to first children.

    Only the AND around a root that is no AND may have a single child, with a star.
    """
    assert dewey_id, "an ID is empty"
    assert all(number == 1 for number, _ in dewey_id), "a first child does not have the number 1"
    assert not any(star for _, star in dewey_id[1:]), "a group has a single child, or a child of an OR has a star"


def check_last_children(dewey_id: DeweyID, level: int = 0) -> None:
    """Check that an ID passes only last children from a level on: the numbers of children of ANDs have stars."""
    assert all(star for _, star in dewey_id[level + level % 2 :: 2]), "the last child of an AND has no star"


def check_next(before: DeweyID, after: DeweyID) -> None:
    """Check that two IDs belong to neighbouring leaves of a tree: below neighbouring children of a common node."""
    level = next((k for k, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), -1)
    assert level >= 0, "a leaf has another one above it"
    assert after[level][0] == before[level][0] + 1, "a child is missing, or is there twice"
    assert not before[level][1], "a child with a star is not the last one"
    check_last_children(before, level + 1)
    assert all(number == 1 for number, _ in after[level + 1 :]), "a first child does not have the number 1"
    assert not any(star for _, star in [*after[level + 1 :], *after[1::2]]), "a star is in a wrong place"
