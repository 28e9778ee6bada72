"""Match with all three truth values (Algorithm 6 and Table 2): without zero suppression, to measure what it saves.

A predicate is undefined if the event lacks its attribute. True and false results are propagated alike.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import NONE, SIGNATURES, ATreeIndex, ATreeScratch
from tellwhen.engines.atree.kernels.match import emit_slots, next_marked, propagate
from tellwhen.engines.shared.kernels.satisfied import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.evaluate import close_event, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import forget_true, is_true

FALSE, TRUE, UNDEFINED = 0, 1, 2


@inline
def value_of(child, index, predicates, scratch, clock):
    """The value of a predicate, or of ~ an inner node, whose signature is the event's + its value."""
    if child < 0:
        found = scratch.signature[~child] - clock
        return found if found >= 0 else UNDEFINED
    if is_true(scratch.truth, child):
        return TRUE
    return FALSE if scratch.first_entry[predicates.domain[child]] != 0 else UNDEFINED


@inline
def evaluate(node, index, predicates, scratch, clock):
    """Table 2: one false child makes an AND false, one true child an OR true; else one undefined child decides."""
    decisive = TRUE if index.is_or[node] else FALSE
    found = 1 - decisive
    for k in range(index.other_start[node], index.other_start[node + 1]):
        value = value_of(np.int64(index.others[k]), index, predicates, scratch, clock)
        if value == decisive:
            return decisive
        if value == UNDEFINED:
            found = UNDEFINED
    return found


@kernel
def match_three_valued(index, snapshot, scratch, events, out, event):
    """Exact for all events."""
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
        open_event(events, e, scratch.first_entry)
        written = emit_slots(0, index.always.size, index.always, snapshot, out, out.start[e])
        for i in range(events.start[e], events.start[e + 1]):
            domain = events.domain[i]
            if domain + 1 < index.by_domain_start.size and scratch.first_entry[domain] == i + 1:
                for k in range(index.by_domain_start[domain], index.by_domain_start[domain + 1]):
                    p = index.by_domain[k]
                    if written >= 0 and is_true(truth, p):
                        written = emit_slots(slot_start[p], slot_start[p + 1], index.slots, snapshot, out, written)
                    propagate(p, index, scratch)
        for group in range((inner >> 12) + 1):
            node = next_marked(scratch, group)
            while node != NONE:
                value = evaluate(node, index, snapshot.predicates, scratch, clock)
                if value != UNDEFINED:
                    signature[node] = clock + value
                    propagate(predicates + node, index, scratch)
                first, end = slot_start[predicates + node], slot_start[predicates + node + 1]
                scratch.effort[0] += end - first
                if value == TRUE and written >= 0:
                    written = emit_slots(first, end, index.slots, snapshot, out, written)
                node = next_marked(scratch, group)
        close_event(events, e, scratch.first_entry)
        forget_true(truth, satisfied, count)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
