"""Match by the Dewey IDs of satisfied leaves, in their order (A-Tree, section 2; Fontoura et al., SIGMOD 2010)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.evaluate import code_accepts
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.truth import forget_true
from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex, DeweyScratch
from tellwhen.papers.a_tree.shared.kernels.postings import (
    emit_matched,
    gather_leaves,
    ordered_leaves,
)

PREFETCHED = 8
"""Prefetch distance, in expressions: their IDs are anywhere in memory."""


@inline
def shared_levels(ids, one, other):
    """How many components two IDs have in common, from the first on."""
    most = min(ids[one], ids[other])
    level = 0
    while level < most and ids[one + 1 + level] == ids[other + 1 + level]:
        level += 1
    return level


@inline
def root_is_true(ids, leaf, done):
    """Note that a leaf is true, and what follows from it for the nodes above it; is the root one of them?

    An OR is true with any child. An AND is true with its last child, the one with a star, if those before it are true:
    children become true in the order of their numbers, or never.
    """
    level = np.int64(ids[leaf]) - 1
    while level >= 0:
        component = np.int64(ids[leaf + 1 + level])
        if level % 2 == 0:  # a child of an AND
            number = component >> 1
            if done[level] != number - 1:  # one before it is not true, or it has been true already
                return False
            done[level] = number
            if not component & STAR:
                return False
        level -= 1
    return True


@inline
def ids_satisfy(ids, leaves, count, done):
    """Do the satisfied leaves, in the order of their IDs, make the root true?"""
    shared = 0
    for k in range(count):
        leaf = np.int64(leaves[k])
        if k > 0:
            shared = shared_levels(ids, leaves[k - 1], leaf)
        # The nodes that the last ID does not lead through are met for the first time.
        for level in range(shared + 1 if k > 0 else 0, np.int64(ids[leaf])):
            done[level] = 0
        if root_is_true(ids, leaf, done):
            return True
    return False


@kernel
def match_ids(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the expressions with a satisfied leaf: no other is looked at."""
    index, snapshot = unpack(index, DeweyIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, DeweyScratch), borrow(events, Events), borrow(out, Matches)
    posted, common = index.posted, scratch.posted
    touched, last, chain, leaves = common.touched, scratch.last, scratch.chain, scratch.leaves
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(posted.stabbing, snapshot.predicates, events, e, common.found)
        count = gather_leaves(posted, common.found.listed, true, last, chain, touched)
        scratch.effort[0] += count
        matched = 0
        for k in range(count):
            ahead = last[touched[min(k + PREFETCHED, count - 1)]]
            prefetch(index.ids, chain[2 * ahead])
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                matched += ids_satisfy(index.ids, leaves, ordered_leaves(last[x], chain, leaves), scratch.done)
            else:
                matched += code_accepts(posted.slot[x], snapshot.subscriptions, common.found.truth, common.registers)
            last[x] = 0
        forget_true(common.found.truth, common.found.listed, true)
        written = emit_matched(posted, touched, matched, snapshot, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
