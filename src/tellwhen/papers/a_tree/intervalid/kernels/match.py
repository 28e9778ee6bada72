"""The match kernel of `intervalid`: the intervals of satisfied leaves, joined (A-Tree, section 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex, IntervalScratch
from tellwhen.papers.a_tree.shared.kernels.postings import (
    chain_leaves,
    close_event,
    is_true_by_program,
    sort_chain,
)


@inline
def has_gapless_path(intervals, count, end, is_reached):
    """Return whether intervals, sorted by their begins, lead from point 0 to `end` without a gap.

    All intervals to a point begin earlier than any interval from it, so a point is reached before it is left.
    """
    is_reached[0] = 1
    furthest = 0
    for k in range(np.uint64(count)):
        begin, to = intervals[k] >> BEGIN_SHIFT, intervals[k] & END_MASK
        if begin - 1 > furthest:
            break
        if is_reached[np.uint32(begin - 1)]:
            is_reached[np.uint32(to)] = 1
            furthest = max(furthest, to)
    is_joined = is_reached[end] != 0
    is_reached[0] = 0
    for k in range(np.uint64(count)):
        is_reached[np.uint32(intervals[k] & END_MASK)] = 0
    return is_joined


@kernel
def match_intervals(index, snapshot, scratch, events, out, event):
    """Match exactly, for events of any kind. effort[0] counts the expressions with a satisfied leaf."""
    index, snapshot = unpack(index, IntervalIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, IntervalScratch), borrow(events, Events), borrow(out, Matches)
    posted, chains = index.posted, scratch.chains
    touched, last = chains.leaf.touched, chains.last
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true, count = chain_leaves(posted, snapshot, events, e, chains)
        scratch.effort[0] += count
        matched = 0
        for k in range(count):
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                leaves = sort_chain(last[x], chains)
                matched += has_gapless_path(chains.annotations, leaves, index.end[x], scratch.reached)
            else:
                matched += is_true_by_program(x, posted, snapshot, chains.leaf)
            last[x] = 0
        written = close_event(posted, snapshot, chains.leaf, true, matched, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
