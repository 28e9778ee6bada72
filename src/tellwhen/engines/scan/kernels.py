"""Match by testing every subscription (SCAN; BE-Tree, section 7.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.scan.arrays import ScanIndex, ScanScratch
from tellwhen.kernels.arrays import CONJUNCTION, PROGRAM, Events, Matches, Snapshot
from tellwhen.kernels.evaluate import close_event, conjunction_accepts, holds, open_event, program_accepts
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import find_runs
from tellwhen.kernels.truth import is_true, set_true


@inline
def evaluate_predicates(index, predicates, events, event, first_entry, truth, runs):
    """Set the bits of all true predicates.

    Those numbered `index.stabbed` and above are not in the stabbing index yet: they are few, and tested one by one.
    """
    stabbing = index.stabbing
    domains = stabbing.key_start.size // 4 - 1
    end = events.start[event + 1]
    for i in range(events.start[event], end):
        domain = events.domain[i]
        if domain >= domains:
            continue
        for k in range(find_runs(stabbing, domain, events.low[i], events.high[i], runs)):
            for j in range(np.uint64(runs.begin[k]), np.uint64(runs.end[k])):
                p = stabbing.members[j]
                # A negated predicate must hold for all values of its domain: tested once, with the first of them.
                if (
                    events.single_valued[event]
                    or predicates.every[p] == 0
                    or (first_entry[domain] == i + 1 and holds(p, predicates, first_entry, events, end))
                ):
                    set_true(truth, p)
    for p in range(index.stabbed, predicates.domain.size):
        if holds(p, predicates, first_entry, events, end):
            set_true(truth, p)


@kernel
def scan(index, snapshot, scratch, events, out, event):
    """Exact for all events."""
    index, snapshot = unpack(index, ScanIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, ScanScratch), borrow(events, Events), borrow(out, Matches)
    predicates, subscriptions, version = snapshot.predicates, snapshot.subscriptions, snapshot.version
    truth, candidates, first_entry = scratch.truth, scratch.candidates, scratch.first_entry
    code, code_start, died = subscriptions.code, subscriptions.start, subscriptions.died
    words = (predicates.domain.size >> 6) + 1
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        truth[:words] = 0
        open_event(events, e, first_entry)
        evaluate_predicates(index, predicates, events, e, first_entry, truth, scratch.runs)
        close_event(events, e, first_entry)
        # One predicate of each conjunction, from an array of its own, turns most of them away: 4 bytes read for each,
        # and no branch to mispredict.
        count = 0
        for k in range(np.uint64(index.conjunctions.size)):
            candidates[np.uint64(count)] = index.conjunctions[k]
            count += is_true(truth, index.head[k])
        if count + index.others.size > out.slot.size - written:
            return e
        for k in range(np.uint64(count)):
            slot = np.uint32(candidates[k])
            out.slot[np.uint64(written)] = slot
            if conjunction_accepts(code, code_start[slot], code_start[slot + np.uint32(1)], truth):
                written += died[slot] > version
        for slot in index.others:
            out.slot[written] = slot
            # A conjunction among them is empty, and always true.
            kind = subscriptions.kind[slot]
            if kind == CONJUNCTION or (
                kind == PROGRAM and program_accepts(code, code_start[slot], truth, scratch.registers)
            ):
                written += died[slot] > version
        out.start[e + 1] = written
    return events.single_valued.size
