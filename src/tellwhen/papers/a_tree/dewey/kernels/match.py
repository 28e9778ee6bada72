"""The match kernel of `dewey`: the Dewey IDs of satisfied leaves, in their order (A-Tree, section 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex, DeweyScratch
from tellwhen.papers.a_tree.shared.kernels.postings import (
    chain_leaves,
    close_event,
    is_true_by_program,
    sort_chain,
)

PREFETCH_DISTANCE = 8
"""Expressions between a prefetch and its use: their IDs are anywhere in memory."""


@inline
def count_common_components(ids, first, second):
    """Return the length of the common prefix of two IDs, given their offsets."""
    length = min(ids[first], ids[second])
    level = 0
    while level < length and ids[first + 1 + level] == ids[second + 1 + level]:
        level += 1
    return level


@inline
def set_leaf_true(ids, leaf, done):
    """Make a leaf true and, level by level, the nodes above that follow from it; return whether the root is true.

    An OR is true with any child. An AND is true with its last child, the one with a star, if the children before it are
    true: children become true in the order of their numbers, or never.
    """
    level = np.int64(ids[leaf]) - 1
    while level >= 0:
        component = np.int64(ids[leaf + 1 + level])
        if level % 2 == 0:  # a child of an AND
            number = component >> 1
            if done[level] != number - 1:  # a child before it is not true, or it has been true already
                return False
            done[level] = number
            if not component & STAR:
                return False
        level -= 1
    return True


@inline
def is_root_satisfied(ids, leaves, count, done):
    """Return whether the satisfied leaves, in the order of their IDs, make the root true."""
    common = 0
    for k in range(count):
        leaf = np.int64(leaves[k])
        if k > 0:
            common = count_common_components(ids, leaves[k - 1], leaf)
        # Nodes below the common ones are met for the first time.
        for level in range(common + 1 if k > 0 else 0, np.int64(ids[leaf])):
            done[level] = 0
        if set_leaf_true(ids, leaf, done):
            return True
    return False


@kernel
def match_ids(index, snapshot, scratch, events, out, event):
    """Match exactly, for events of any kind. effort[0] counts the expressions with a satisfied leaf."""
    index, snapshot = unpack(index, DeweyIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, DeweyScratch), borrow(events, Events), borrow(out, Matches)
    posted, chains = index.posted, scratch.chains
    touched, last = chains.leaf.touched, chains.last
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true, count = chain_leaves(posted, snapshot, events, e, chains)
        scratch.effort[0] += count
        matched = 0
        for k in range(count):
            ahead = last[touched[min(k + PREFETCH_DISTANCE, count - 1)]]
            prefetch(index.ids, chains.chain[2 * ahead])
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                leaves = sort_chain(last[x], chains)
                matched += is_root_satisfied(index.ids, chains.annotations, leaves, scratch.done)
            else:
                matched += is_true_by_program(x, posted, snapshot, chains.leaf)
            last[x] = 0
        written = close_event(posted, snapshot, chains.leaf, true, matched, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
