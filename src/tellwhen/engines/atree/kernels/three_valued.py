"""Match with three truth values (Algorithm 6 and Table 2), without zero suppression, to measure what that saves.

A predicate is undefined if the event lacks its attribute. True and false results are propagated alike.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import RECORD, SIGNATURES, SLOTS, TESTS, ATreeIndex, ATreeScratch
from tellwhen.engines.atree.kernels.match import FALSE, TRUE, emit_record, pop_level, propagate
from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import emit_slots
from tellwhen.kernels.evaluate import close_event, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates, is_true

UNDEFINED = 2


@inline
def read_value(child, domain, scratch, clock):
    """Return the value of a predicate, or of ~ an inner node."""
    if child < 0:
        result = scratch.signature[~child] - clock
        return result if result >= 0 else np.int64(UNDEFINED)
    if is_true(scratch.found.truth, child):
        return np.int64(TRUE)
    return np.int64(FALSE) if scratch.found.first_entry[domain[child]] != 0 else np.int64(UNDEFINED)


@inline
def evaluate_node(record, decisive, index, domain, scratch, clock):
    """Evaluate a node by Table 2: a false child decides an AND, a true child an OR, and else an undefined child."""
    result = np.int64(1 - decisive)
    for k in range(record + RECORD, record + RECORD + index.words[record + TESTS]):
        value = read_value(np.int64(index.words[k]), domain, scratch, clock)
        if value == decisive:
            return value
        if value == UNDEFINED:
            result = value
    return result


@kernel
def match_three_valued(index, snapshot, scratch, events, out, event):
    """Match exactly, whatever values events have."""
    index, snapshot = unpack(index, ATreeIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, ATreeScratch), borrow(events, Events), borrow(out, Matches)
    truth, satisfied = scratch.found.truth, scratch.found.listed
    signature, queue = scratch.signature, scratch.queue
    record_start, domain_of = index.record_start, snapshot.predicates.domain
    predicates = record_start.size - 1 - index.is_or.size
    for e in range(event, events.single_valued.size):
        signature[-1] += SIGNATURES
        clock = signature[-1]
        count = find_satisfied(index.stabbing, snapshot.predicates, events, e, scratch.found)
        open_event(events, e, scratch.found.first_entry)
        written = emit_slots(0, index.always.size, index.always, snapshot, out, out.start[e])
        for i in range(events.start[e], events.start[e + 1]):
            domain = events.domain[i]
            if domain + 1 < index.by_domain_start.size and scratch.found.first_entry[domain] == i + 1:
                for k in range(index.by_domain_start[domain], index.by_domain_start[domain + 1]):
                    record = record_start[index.by_domain[k]]
                    if written >= 0 and is_true(truth, index.by_domain[k]):
                        written = emit_record(record, index, snapshot, out, written)
                    propagate(record, index, scratch)
        for level in range(index.level_start.size - 1):
            for k in range(pop_level(index.level_start[level], index.level_start[level + 1], scratch)):
                record = record_start[predicates + queue[k]]
                scratch.effort[0] += index.words[record + SLOTS]
                value = evaluate_node(record, np.int64(index.is_or[queue[k]]), index, domain_of, scratch, clock)
                if value != UNDEFINED:
                    signature[queue[k]] = clock + value
                    propagate(record, index, scratch)
                if value == TRUE and written >= 0:
                    written = emit_record(record, index, snapshot, out, written)
        close_event(events, e, scratch.found.first_entry)
        clear_true_predicates(truth, satisfied, count)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
