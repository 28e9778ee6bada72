"""AND/OR trees of subscriptions: one for every expression, with no shared parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.extract import mask_predicate_words
from tellwhen.compile.tree import allocate_tree
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import CONJUNCTION, I32, I64, NEVER, PROGRAM, Snapshot
from tellwhen.papers.a_tree.shared.kernels.expand import ExpansionWorkspace, write_trees

LEAVES_MAX = 4_096
"""Leaves of a tree, at most. An XOR of XORs is written out, and may have exponentially many."""


class Trees(NamedTuple):
    """Expressions as trees in preorder (`kernels/expand.py`), and the subscriptions without a tree."""

    slot: I32  # |4|7|
    start: I64  # |0|3|5|              the tree of slot[k] is node[start[k]:start[k+1]]
    node: I32  # |AND 5 9|5|          predicates, and encoded groups below zero
    by_code: I32  # |2|6|                 slots of expressions with too many leaves: their code in the store decides
    always: I32  # slots of empty conjunctions, which every event satisfies

    def list_leaves(self) -> tuple[I32, I32]:
        """Return by leaf its expression, an index into `slot`, and its predicate."""
        is_leaf = self.node >= 0
        expression = np.repeat(np.arange(len(self.slot), dtype=np.int32), np.diff(self.start))
        return expression[is_leaf], self.node[is_leaf]


def expand_trees(snapshot: Snapshot, slots: I32, leaves_max: int) -> Trees:
    """Expand the slots to trees. An expression of more than `leaves_max` leaves gets none."""
    subscriptions = snapshot.subscriptions
    kind = subscriptions.kind[slots]
    lengths = subscriptions.start[slots + 1] - subscriptions.start[slots]
    work = _allocate_workspace(int(lengths[kind == PROGRAM].max(initial=0)) // 3, leaves_max)
    start = np.zeros(len(slots) + 1, dtype=np.int64)
    # Enough unless registers are written out: a tree has fewer than two nodes for a leaf, a test three words.
    node = np.empty(int(lengths.sum()) + len(slots), dtype=np.int32)
    done = 0
    while (done := write_trees(subscriptions, slots, done, leaves_max, work, start, node)) < len(slots):
        grown = np.empty(2 * len(node) + 2 * leaves_max, dtype=np.int32)
        grown[: start[done]] = node[: start[done]]
        node = grown
    has_tree = start[1:] > start[:-1]
    is_always = (kind == CONJUNCTION) & (lengths == 0)
    return Trees(
        slots[has_tree],
        np.concatenate([[0], start[1:][has_tree]]),
        node[: start[-1]].copy(),
        slots[~has_tree & ~is_always & (kind != NEVER)],
        slots[is_always],
    )


def _allocate_workspace(tests: int, leaves_max: int) -> ExpansionWorkspace:
    """Allocate working arrays to expand programs with at most `tests` tests."""
    leaves, parts = np.empty((2, 2 * tests + 2), dtype=np.int64)
    return ExpansionWorkspace(
        tree=allocate_tree(tests),
        leaves=leaves,
        parts=parts,
        pending=np.empty(2 * leaves_max + 2, dtype=np.int64),
    )


def drop_trees(trees: Trees, is_dropped: NDArray[np.bool_]) -> Trees:
    """Drop the trees of some expressions, so that their code decides them."""
    if not is_dropped.any():
        return trees
    remaining = np.flatnonzero(~is_dropped)
    start, which = gather(trees.start, remaining)
    by_code = np.concatenate([trees.by_code, trees.slot[is_dropped]])
    return trees._replace(slot=trees.slot[remaining], start=start, node=trees.node[which], by_code=by_code)


def list_predicates(snapshot: Snapshot, slots: I32) -> tuple[I32, I32]:
    """Return the distinct pairs of an expression, an index into `slots`, and a predicate in its code."""
    kind, code_start, code, _ = snapshot.subscriptions
    start, which = gather(code_start, slots)
    is_predicate = mask_predicate_words(kind[slots], start, code[which])
    number = np.repeat(np.arange(len(slots)), np.diff(start))[is_predicate]
    pairs = np.unique(number << 32 | code[which][is_predicate])
    return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
