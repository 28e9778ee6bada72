"""Checks of leaf postings against the trees of the store, for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, I64, NEVER, Snapshot
from tellwhen.papers.a_tree.shared.postings import LeafPostings
from tellwhen.papers.a_tree.shared.trees import Trees, list_predicates


def check_slots(postings: LeafPostings, built_slots: I32, snapshot: Snapshot) -> None:
    """Check that every slot that can be true is indexed once."""
    indexed = np.concatenate([postings.slot, postings.always])
    can_be_true = built_slots[snapshot.subscriptions.kind[built_slots] != NEVER]
    assert np.array_equal(np.sort(indexed), np.sort(can_be_true)), "a slot is not indexed, or one too many is"
    assert 0 <= postings.trees <= len(postings.slot)


def check_postings(postings: LeafPostings, snapshot: Snapshot, trees: Trees) -> None:
    """Check that every leaf of a tree has a posting, and every predicate of an expression without a tree has one.

    All these predicates must be members of the stabbing index.
    """
    start, expression = postings.start, postings.expression
    assert start[0] == 0, "the first list does not begin at 0"
    assert start[-1] == len(expression), "the last list does not end with the postings"
    assert (np.diff(start) >= 0).all(), "lists overlap"
    predicate = np.repeat(np.arange(len(start) - 1), np.diff(start))
    is_same = predicate[1:] == predicate[:-1]
    assert (np.diff(expression)[is_same] >= 0).all(), "a list is not ascending"
    number, named = list_predicates(snapshot, postings.slot)
    by_code = _pack_pairs(number, named)[number >= postings.trees]
    wanted = np.sort(np.concatenate([_pack_pairs(*trees.list_leaves()), by_code]))
    assert np.array_equal(np.sort(_pack_pairs(expression, predicate)), wanted), (
        "a leaf has no posting, or one too many is there"
    )
    assert np.array_equal(np.unique(wanted), _pack_pairs(number, named)), "a tree has other predicates than its code"
    assert np.array_equal(np.unique(postings.stabbing.members), np.unique(named)), "a predicate cannot be stabbed"


def list_postings(postings: LeafPostings) -> tuple[I32, I32, I64]:
    """Return by leaf of all trees its expression, annotation and predicate, sorted in this order."""
    predicate = np.repeat(np.arange(len(postings.start) - 1), np.diff(postings.start))
    order = np.lexsort((predicate, postings.annotation, postings.expression))
    order = order[postings.expression[order] < postings.trees]
    return postings.expression[order], postings.annotation[order], predicate[order]


def _pack_pairs(expression: I32, predicate: I32 | I64) -> I64:
    return expression.astype(np.int64) << 32 | predicate
