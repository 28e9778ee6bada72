"""Rank slots by the weights of their true parts: predicates that an event satisfies, their parts, sums by slot."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Snapshot
from tellwhen.kernels.best import offer
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates
from tellwhen.relaxed.arrays import STAMP, SUM, TALLY_COLUMNS, RelaxedIndex, RelaxedScratch
from tellwhen.relaxed.kernels.code import run_part

RANK, BEGIN, END, RUN_COLUMNS = range(4)
"""Columns of a run of true predicates: the rank of their attribute, and their begin and end in `satisfied.listed`."""


@inline
def group_by_attribute(index, predicates, true_count, scratch):
    """Write the runs of adjacent true predicates on one attribute; return the number of runs."""
    runs, listed, count = scratch.runs, scratch.satisfied.listed, 0
    begin = 0
    while begin < true_count:
        rank = index.attribute[predicates.domain[listed[begin]]]
        end = begin + 1
        while end < true_count and index.attribute[predicates.domain[listed[end]]] == rank:
            end += 1
        at = RUN_COLUMNS * count
        runs[at + RANK], runs[at + BEGIN], runs[at + END] = rank, begin, end
        count += 1
        begin = end
    return count


@inline
def sink_run(runs, at, count):
    """Sink a run to its place in a heap with the greatest rank on top."""
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and runs[RUN_COLUMNS * (child + 1) + RANK] > runs[RUN_COLUMNS * child + RANK]:
            child += 1
        if runs[RUN_COLUMNS * at + RANK] >= runs[RUN_COLUMNS * child + RANK]:
            return
        swap_runs(runs, at, child)
        at = child


@inline
def swap_runs(runs, a, b):
    for column in range(RUN_COLUMNS):
        i, j = RUN_COLUMNS * a + column, RUN_COLUMNS * b + column
        runs[i], runs[j] = runs[j], runs[i]


@inline
def sort_runs(runs, count):
    """Sort the runs by the ranks of their attributes, in place: an event may have thousands of attributes."""
    for at in range((count >> 1) - 1, -1, -1):
        sink_run(runs, at, count)
    for last in range(count - 1, 0, -1):
        swap_runs(runs, 0, last)
        sink_run(runs, 0, last)


@inline
def add_weight(scratch, owner, weight, count):
    """Add to the sum of the slot at a position, and list new candidates; return the number of candidates."""
    tally, at = scratch.tally, np.uint64(TALLY_COLUMNS) * np.uint64(owner)
    if tally[at + np.uint64(STAMP)] == tally[-1]:
        tally[at + np.uint64(SUM)] += weight
        return count
    tally[at + np.uint64(STAMP)], tally[at + np.uint64(SUM)] = tally[-1], weight
    scratch.candidates[np.uint64(count)] = owner
    return count + 1


@inline
def add_weights(index, predicates, true_count, factor, scratch):
    """Add up the weights of the true parts of all slots, and list these slots; return their number."""
    part_stamp, count = scratch.part_stamp, 0
    scratch.tally[-1] += 1
    part_stamp[-1] += 1
    runs = group_by_attribute(index, predicates, true_count, scratch)
    sort_runs(scratch.runs, runs)
    for r in range(runs):
        rank = scratch.runs[RUN_COLUMNS * r + RANK]
        times = factor[rank] if rank < factor.size else 1.0
        for t in range(scratch.runs[RUN_COLUMNS * r + BEGIN], scratch.runs[RUN_COLUMNS * r + END]):
            p = scratch.satisfied.listed[t]
            for i in range(np.uint64(index.start[p]), np.uint64(index.start[p + 1])):
                posting = index.posting[i]
                if posting >= 0:
                    count = add_weight(scratch, posting, times * index.weight[i], count)
                    continue
                part = -1 - posting
                if part_stamp[part] != part_stamp[-1]:
                    part_stamp[part] = part_stamp[-1]
                    if run_part(index, part, scratch.satisfied.truth, scratch):
                        count = add_weight(scratch, index.part_owner[part], times * index.part_weight[part], count)
    return count


@kernel
def rank_relaxed(index, built_snapshot, snapshot, scratch, events, factor, best_score, best_slot, found):
    """Offer all live slots with a true part to the heap of each event. factor[a] multiplies the weights of attribute a.

    The index was built from `built_snapshot` and has its predicates; `snapshot` says which slots are alive.
    """
    index, snapshot = unpack(index, RelaxedIndex), unpack(snapshot, Snapshot)
    predicates = unpack(built_snapshot, Snapshot).predicates
    scratch, events = unpack(scratch, RelaxedScratch), borrow(events, Events)
    died = snapshot.subscriptions.died
    for e in range(events.single_valued.size):
        true_count = find_satisfied(index.stabbing, predicates, events, e, scratch.satisfied)
        scores, slots, count = best_score[e], best_slot[e], found[e]
        for t in range(add_weights(index, predicates, true_count, factor, scratch)):
            owner = scratch.candidates[t]
            slot = np.int64(index.slot[owner])
            if slot < died.size and (snapshot.removed == 0 or died[slot] > snapshot.version):
                score = scratch.tally[TALLY_COLUMNS * owner + SUM] + 0.0  # turns -0.0 into 0.0
                count = offer(scores, slots, count, score, slot)
        found[e] = count
        clear_true_predicates(scratch.satisfied.truth, scratch.satisfied.listed, true_count)
