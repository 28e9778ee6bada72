"""Match by counting satisfied leaves, then evaluating those with enough of them (BoP; A-Tree, section 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.evaluate import code_accepts
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.truth import forget_true, is_true
from tellwhen.papers.a_tree.bop.arrays import DISJUNCTION_CODE, LEAF_CODE, BoPIndex, BoPScratch
from tellwhen.papers.a_tree.bop.kernels.encode import number_at
from tellwhen.papers.a_tree.shared.kernels.postings import emit_matched

PREFETCHED = 8
"""Prefetch distance, in candidates: their encodings are anywhere in memory."""


@inline
def count_leaves(posted, satisfied, true, counts, touched):
    """Count the satisfied leaves of every expression; those that have any are listed in `touched`. Returns how many."""
    count = 0
    for k in range(true):
        p = satisfied[k]
        for j in range(np.uint64(posted.start[p]), np.uint64(posted.start[p + 1])):
            x = np.uint32(posted.expression[j])
            before = counts[x]
            counts[x] = before + 1
            touched[np.uint64(count)] = x
            count += before == 0
    return count


@inline
def behind_nodes(encoding, at, count):
    """Where the encoding goes on behind the next `count` nodes, and all that is below them."""
    while count > 0:
        code = encoding[np.uint64(at)]
        number, at = number_at(encoding, at + 1)
        count += number - 1 if code != LEAF_CODE else -1
    return at


@inline
def encoding_accepts(encoding, at, truth, group, left):
    """Is the expression true whose encoding begins there? A group is left as soon as a child decides it."""
    level = -1
    while True:
        code = encoding[np.uint64(at)]
        number, at = number_at(encoding, at + 1)
        if code != LEAF_CODE:
            level += 1
            group[level], left[level] = code, number
            continue
        value = is_true(truth, number)
        # The value of the leaf, then of every group that it is the last of, or decides.
        while level >= 0:
            left[level] -= 1
            if left[level] > 0:
                if value != (group[level] == DISJUNCTION_CODE):
                    break
                if level > 0:
                    at = behind_nodes(encoding, at, left[level])
            level -= 1
        if level < 0:
            return value


@kernel
def match_counted(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the expressions with enough satisfied leaves."""
    index, snapshot = unpack(index, BoPIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, BoPScratch), borrow(events, Events), borrow(out, Matches)
    posted, common = index.posted, scratch.posted
    touched, counts, truth = common.touched, scratch.counts, common.found.truth
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(posted.stabbing, snapshot.predicates, events, e, common.found)
        count = count_leaves(posted, common.found.listed, true, counts, touched)
        candidates = 0
        for k in range(np.uint64(count)):
            x = np.uint32(touched[k])
            touched[np.uint64(candidates)] = x
            candidates += counts[x] >= index.minimum[x]
            counts[x] = 0
        scratch.effort[0] += candidates
        matched = 0
        for k in range(candidates):
            ahead = touched[min(k + PREFETCHED, candidates - 1)]
            prefetch(index.encoding, index.start[min(ahead, posted.trees)])
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                matched += encoding_accepts(index.encoding, index.start[x], truth, scratch.group, scratch.left)
            else:
                matched += code_accepts(posted.slot[x], snapshot.subscriptions, truth, common.registers)
        forget_true(truth, common.found.listed, true)
        written = emit_matched(posted, touched, matched, snapshot, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
