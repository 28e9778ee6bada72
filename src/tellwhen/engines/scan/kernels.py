"""Match by testing every subscription (SCAN; BE-Tree, section 7.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.scan.arrays import ScanIndex, ScanScratch
from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import CONJUNCTION, PROGRAM, Events, Matches, Snapshot
from tellwhen.kernels.evaluate import close_event, is_conjunction_true, is_predicate_true, open_event, run_program
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates, is_true, set_true


@inline
def evaluate_predicates(index, predicates, events, event, scratch):
    """Set the bits of all true predicates, and list them; return how many.

    Predicates numbered from `index.stabbed` on are not in the stabbing index yet. They are few, and tested one by one.
    """
    found, first_entry = scratch.found, scratch.found.first_entry
    count = find_satisfied(index.stabbing, predicates, events, event, found)
    if index.stabbed < predicates.domain.size:
        open_event(events, event, first_entry)
        for p in range(index.stabbed, predicates.domain.size):
            if is_predicate_true(p, predicates, first_entry, events, events.start[event + 1]):
                set_true(found.truth, p)
                found.listed[count] = p
                count += 1
        close_event(events, event, first_entry)
    return count


@kernel
def match_scan(index, snapshot, scratch, events, out, event):
    """Match exactly, whatever values events have."""
    index, snapshot = unpack(index, ScanIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, ScanScratch), borrow(events, Events), borrow(out, Matches)
    predicates, subscriptions, version = snapshot.predicates, snapshot.subscriptions, snapshot.version
    truth, candidates = scratch.found.truth, scratch.candidates
    code, code_start, died = subscriptions.code, subscriptions.start, subscriptions.died
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = evaluate_predicates(index, predicates, events, e, scratch)
        # One predicate of each conjunction, from a separate array, rules most of them out: 4 bytes are read for each,
        # and there is no branch to mispredict.
        count = 0
        for k in range(np.uint64(index.conjunctions.size)):
            candidates[np.uint64(count)] = index.conjunctions[k]
            count += is_true(truth, index.head[k])
        if count + index.others.size > out.slot.size - written:
            clear_true_predicates(truth, scratch.found.listed, true)
            return e
        for k in range(np.uint64(count)):
            slot = np.uint32(candidates[k])
            out.slot[np.uint64(written)] = slot
            if is_conjunction_true(code, code_start[slot], code_start[slot + np.uint32(1)], truth):
                written += died[slot] > version
        for slot in index.others:
            out.slot[written] = slot
            # A conjunction among them is empty, and always true.
            kind = subscriptions.kind[slot]
            if kind == CONJUNCTION or (
                kind == PROGRAM and run_program(code, code_start[slot], truth, scratch.registers)
            ):
                written += died[slot] > version
        clear_true_predicates(truth, scratch.found.listed, true)
        out.start[e + 1] = written
    return events.single_valued.size
