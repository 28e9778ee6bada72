"""Match: satisfied predicates, the slots and parts that ask for them, and the sums of the weights of what is true."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Snapshot
from tellwhen.kernels.best import offer
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates, is_true
from tellwhen.relaxed.arrays import (
    ALL,
    KEEP,
    OPERATIONS,
    RECALL,
    STAMP,
    SUM,
    TALLY_COLUMNS,
    RelaxedIndex,
    RelaxedScratch,
)

RANK, BEGIN, END, RUN_COLUMNS = range(4)
"""Columns of a run of satisfied predicates on one attribute."""


@inline
def is_part_true(index, part, scratch):
    """Run the code of a part over the true predicates."""
    stack, registers, depth = scratch.stack, scratch.registers, 0
    for i in range(index.code_start[part], index.code_start[part + 1]):
        word = index.code[i]
        if word >= 0:
            stack[depth] = is_true(scratch.found.truth, word)
            depth += 1
            continue
        kind, count = (-1 - word) % OPERATIONS, (-1 - word) // OPERATIONS
        if kind == KEEP:
            depth -= 1
            registers[count] = stack[depth]
        elif kind == RECALL:
            stack[depth] = registers[count]
            depth += 1
        else:
            true = 0
            for k in range(depth - count, depth):
                true += stack[k]
            depth -= count
            stack[depth] = true == count if kind == ALL else true > 0
            depth += 1
    return stack[0] != 0


@inline
def find_runs(index, predicates, true, scratch):
    """The satisfied predicates in runs of one attribute; returns how many runs."""
    runs, listed, count = scratch.runs, scratch.found.listed, 0
    begin = 0
    while begin < true:
        rank = index.attribute[predicates.domain[listed[begin]]]
        end = begin + 1
        while end < true and index.attribute[predicates.domain[listed[end]]] == rank:
            end += 1
        at = RUN_COLUMNS * count
        runs[at + RANK], runs[at + BEGIN], runs[at + END] = rank, begin, end
        count += 1
        begin = end
    return count


@inline
def sink_run(runs, at, count):
    """Let a run sink to its place in a heap whose first one has the greatest rank."""
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
    """In the order of the attributes. In place: an event may have thousands of them."""
    for at in range((count >> 1) - 1, -1, -1):
        sink_run(runs, at, count)
    for last in range(count - 1, 0, -1):
        swap_runs(runs, 0, last)
        sink_run(runs, 0, last)


@inline
def add_weight(scratch, number, weight, count):
    """Add to the sum of a slot; returns how many slots were met."""
    tally, at = scratch.tally, np.uint64(TALLY_COLUMNS) * np.uint64(number)
    if tally[at + np.uint64(STAMP)] == tally[-1]:
        tally[at + np.uint64(SUM)] += weight
        return count
    tally[at + np.uint64(STAMP)], tally[at + np.uint64(SUM)] = tally[-1], weight
    scratch.touched[np.uint64(count)] = number
    return count + 1


@inline
def add_weights(index, predicates, true, factor, scratch):
    """Add up the weights of all slots with a true part, and list these slots; returns how many."""
    seen, count = scratch.seen, 0
    scratch.tally[-1] += 1
    seen[-1] += 1
    runs = find_runs(index, predicates, true, scratch)
    sort_runs(scratch.runs, runs)
    for r in range(runs):
        rank = scratch.runs[RUN_COLUMNS * r + RANK]
        times = factor[rank] if rank < factor.size else 1.0
        for t in range(scratch.runs[RUN_COLUMNS * r + BEGIN], scratch.runs[RUN_COLUMNS * r + END]):
            p = scratch.found.listed[t]
            for i in range(np.uint64(index.start[p]), np.uint64(index.start[p + 1])):
                number = index.posting[i]
                if number >= 0:
                    count = add_weight(scratch, number, times * index.weight[i], count)
                    continue
                part = -1 - number
                if seen[part] != seen[-1]:
                    seen[part] = seen[-1]
                    if is_part_true(index, part, scratch):
                        count = add_weight(scratch, index.part_number[part], times * index.part_weight[part], count)
    return count


@kernel
def rank_relaxed(index, known, snapshot, scratch, events, factor, best_score, best_slot, found):
    """Offer all slots with a true part to the heap of each event. factor[a] multiplies the weights of attribute a.

    `known` is the snapshot that the index was made of; slots are alive or not by the other one.
    """
    index, known, snapshot = unpack(index, RelaxedIndex), unpack(known, Snapshot), unpack(snapshot, Snapshot)
    scratch, events = unpack(scratch, RelaxedScratch), borrow(events, Events)
    died = snapshot.subscriptions.died
    for e in range(events.single_valued.size):
        true = find_satisfied(index.stabbing, known.predicates, events, e, scratch.found)
        scores, slots, kept = best_score[e], best_slot[e], found[e]
        for t in range(add_weights(index, known.predicates, true, factor, scratch)):
            number = scratch.touched[t]
            slot = np.int64(index.slot[number])
            if slot < died.size and (snapshot.removed == 0 or died[slot] > snapshot.version):
                kept = offer(scores, slots, kept, scratch.tally[TALLY_COLUMNS * number + SUM] + 0.0, slot)
        found[e] = kept
        clear_true_predicates(scratch.found.truth, scratch.found.listed, true)
