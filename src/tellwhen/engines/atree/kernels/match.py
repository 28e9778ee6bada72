"""Match bottom-up, level by level (Algorithm 6), with zero suppression and propagation on demand (section 5.2).

Inner nodes are numbered level by level, so a bitmap of them is the queues of all levels in one. Only true results are
propagated. An AND is looked at when its access child is true. Predicates are all known before any node is looked at, so
an AND with one that is false (its guard) need not even be queued.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import NONE, SIGNATURES, ATreeIndex, ATreeScratch
from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.bits import lowest_bit
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import forget_true, is_true, set_true

WORD_SHIFT = np.uint64(6)


@inline
def mark(scratch, node):
    """Queue an inner node."""
    set_true(scratch.marks, node)
    set_true(scratch.groups, np.int64(node) >> 6)


@inline
def propagate(source, index, scratch):
    """Queue what a true node makes worth a look."""
    links = index.links
    for j in range(np.uint64(links.start[source]), np.uint64(links.start[source + 1])):
        guard = links.guard[j]
        if guard == NONE or is_true(scratch.truth, guard):
            mark(scratch, links.target[j])


@inline
def emit_slots(first, end, slots, snapshot, out, written):
    """Write the slots that are not removed; returns the new end of the output, or -1 if it is full."""
    if end - first > out.slot.size - written:
        return np.int64(-1)
    died, version = snapshot.subscriptions.died, snapshot.version
    for k in range(np.uint64(first), np.uint64(end)):
        out.slot[np.uint64(written)] = slots[k]
        written += snapshot.removed == 0 or died[np.uint32(slots[k])] > version
    return written


@inline
def are_true(node, index, scratch, clock):
    """Is all true that must be true beside what has led to a node?"""
    for k in range(np.uint64(index.other_start[node]), np.uint64(index.other_start[node + 1])):
        other = index.others[k]
        if other >= 0:
            if not is_true(scratch.truth, other):
                return False
        elif scratch.signature[~other] != clock:
            return False
    return True


@inline
def next_marked(scratch, group):
    """Take the first node out of a group of queues, NONE if it is empty."""
    groups, marks = scratch.groups, scratch.marks
    while groups[group] != 0:
        word = (np.uint64(group) << WORD_SHIFT) + lowest_bit(groups[group])
        if marks[word] != 0:
            node = (word << WORD_SHIFT) + lowest_bit(marks[word])
            marks[word] &= marks[word] - np.uint64(1)
            return np.int64(node)
        groups[group] &= groups[group] - np.uint64(1)
    return np.int64(NONE)


@kernel
def match_tree(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the subscriptions whose node is looked at."""
    index, snapshot = unpack(index, ATreeIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, ATreeScratch), borrow(events, Events), borrow(out, Matches)
    truth, satisfied, signature, slot_start = scratch.truth, scratch.satisfied, scratch.signature, index.slot_start
    inner = index.other_start.size - 1
    predicates = index.links.start.size - 1 - inner
    for e in range(event, events.single_valued.size):
        signature[-1] += SIGNATURES
        clock = signature[-1]
        count = find_satisfied(
            index.stabbing, snapshot.predicates, events, e, scratch.first_entry, scratch.runs, truth, satisfied
        )
        written = emit_slots(0, index.always.size, index.always, snapshot, out, out.start[e])
        for k in range(count):
            p = satisfied[k]
            if written >= 0:
                written = emit_slots(slot_start[p], slot_start[p + 1], index.slots, snapshot, out, written)
                propagate(p, index, scratch)
        for group in range((inner >> 12) + 1):
            node = next_marked(scratch, group)
            while node != NONE:
                first, end = slot_start[predicates + node], slot_start[predicates + node + 1]
                scratch.effort[0] += end - first
                if written >= 0 and are_true(node, index, scratch, clock):
                    signature[node] = clock
                    written = emit_slots(first, end, index.slots, snapshot, out, written)
                    propagate(predicates + node, index, scratch)
                node = next_marked(scratch, group)
        forget_true(truth, satisfied, count)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
