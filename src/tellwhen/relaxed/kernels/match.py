"""Match: satisfied predicates, the parts that ask for them, and the sums of the weights of those that are true."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Snapshot
from tellwhen.kernels.best import keep
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import forget_true, is_true
from tellwhen.relaxed.arrays import ALL, KEEP, OPERATIONS, RECALL, RelaxedIndex, RelaxedScratch


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
def find_parts(index, true, scratch):
    """Find the true parts, and list the slots that have any; returns how many slots."""
    hit, parts, count = scratch.hit, index.part_slot.size, 0
    hit[-1] += 1
    clock = hit[-1]
    for t in range(true):
        p = scratch.found.listed[t]
        for i in range(index.posting_start[p], index.posting_start[p + 1]):
            part = index.posting[i]
            if hit[part] == clock:
                continue
            hit[part] = clock
            is_single = index.code_start[part] == index.code_start[part + 1]
            scratch.holds[part] = is_single or is_part_true(index, part, scratch)
            place = index.place[part]
            if scratch.holds[part] and hit[parts + place] != clock:
                hit[parts + place] = clock
                scratch.touched[count] = place
                count += 1
    return count


@kernel
def rank_relaxed(index, predicates_of, snapshot, scratch, events, factor, best_score, best_slot, found):
    """Offer all slots with a true part to the heap of each event. factor[a] multiplies the weights of attribute a.

    `predicates_of` is the snapshot that the index was made of; slots are alive or not by the other one.
    """
    index, known = unpack(index, RelaxedIndex), unpack(predicates_of, Snapshot)
    snapshot, scratch, events = unpack(snapshot, Snapshot), unpack(scratch, RelaxedScratch), borrow(events, Events)
    died = snapshot.subscriptions.died
    for e in range(events.single_valued.size):
        true = find_satisfied(index.stabbing, known.predicates, events, e, scratch.found)
        scores, slots, kept = best_score[e], best_slot[e], found[e]
        for t in range(find_parts(index, true, scratch)):
            place = scratch.touched[t]
            first = index.first_part[place]
            slot = index.part_slot[first]
            if slot >= died.size or died[slot] <= snapshot.version:
                continue
            score = 0.0
            for part in range(first, index.first_part[place + 1]):
                if scratch.hit[part] == scratch.hit[-1] and scratch.holds[part]:
                    attribute = index.part_attribute[part]
                    weight = index.part_weight[part]
                    score += weight * factor[attribute] if attribute < factor.size else weight
            kept = keep(scores, slots, kept, score, np.int64(slot))
        found[e] = kept
        forget_true(scratch.found.truth, scratch.found.listed, true)
