"""Match by joining the intervals of satisfied leaves (A-Tree, section 2; Fontoura et al., SIGMOD 2010)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.evaluate import code_accepts
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import forget_true
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex, IntervalScratch
from tellwhen.papers.a_tree.shared.kernels.postings import (
    emit_matched,
    gather_leaves,
    ordered_leaves,
)


@inline
def intervals_join(leaves, count, end, reached):
    """Do intervals, sorted by their begins, lead from point 0 to `end`?

    A point is reached before any interval from there is looked at, since all that lead to it begin earlier.
    """
    reached[0] = 1
    furthest = 0
    for k in range(np.uint64(count)):
        begin, to = leaves[k] >> BEGIN_SHIFT, leaves[k] & END_MASK
        if begin - 1 > furthest:
            break
        if reached[np.uint32(begin - 1)]:
            reached[np.uint32(to)] = 1
            furthest = max(furthest, to)
    is_joined = reached[end] != 0
    reached[0] = 0
    for k in range(np.uint64(count)):
        reached[np.uint32(leaves[k] & END_MASK)] = 0
    return is_joined


@kernel
def match_intervals(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the expressions with a satisfied leaf: no other is looked at."""
    index, snapshot = unpack(index, IntervalIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, IntervalScratch), borrow(events, Events), borrow(out, Matches)
    posted, common = index.posted, scratch.posted
    touched, last, chain, leaves = common.touched, scratch.last, scratch.chain, scratch.leaves
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(posted.stabbing, snapshot.predicates, events, e, common.found)
        count = gather_leaves(posted, common.found.listed, true, last, chain, touched)
        scratch.effort[0] += count
        matched = 0
        for k in range(count):
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                many = ordered_leaves(last[x], chain, leaves)
                matched += intervals_join(leaves, many, index.end[x], scratch.reached)
            else:
                matched += code_accepts(posted.slot[x], snapshot.subscriptions, common.found.truth, common.registers)
            last[x] = 0
        forget_true(common.found.truth, common.found.listed, true)
        written = emit_matched(posted, touched, matched, snapshot, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
