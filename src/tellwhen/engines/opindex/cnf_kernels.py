"""Match conjunctions of clauses by pivots and sorted predicate lists (OpIndex, section 6.1)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.opindex.arrays import PredicateLists
from tellwhen.engines.opindex.kernels import PLACES, locate, pivot_runs
from tellwhen.kernels.arrays import Events
from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import close_event, longest_event, open_event
from tellwhen.kernels.jit import kernel


@kernel
def match_clauses(
    key_start, keys, key_domain, segment_start, segments, ranks, conjunctions, pivot_start, conjunction_slot, clauses, clause, upto,
    died, version, removed, remaining, done, first_entry, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for single-valued events, and for others no match is missing. effort[0] counts the conjunctions whose bitmaps were touched.
    """
    events = Events(entry_start, entry_domain, entry_low, entry_high, single_valued)
    lists = PredicateLists(key_start, keys, key_domain, segment_start, segments, ranks, conjunctions)
    domains = pivot_start.size - 1
    longest = longest_event(entry_start, event)
    place, runs = np.empty((PLACES, longest), dtype=np.int64), np.empty((3, 3 * longest + 1), dtype=np.int64)
    written = start[event]
    for e in range(event, single_valued.size):
        # Conjunctions without clauses have no pivot, and come last.
        fits = conjunction_slot.size - pivot_start[domains] <= out.size - written
        if not fits:
            return e
        stamps[-1] += 1
        for conjunction in range(pivot_start[domains], conjunction_slot.size):
            written = emit(conjunction_slot[conjunction], stamps, removed, died, version, out, written)
        repeats = locate(events, e, key_start, keys, domains, place)
        open_event(events, e, first_entry)
        for j in range(entry_start[e], entry_start[e + 1]):
            pivot = entry_domain[j]
            if pivot >= domains or first_entry[pivot] != j + 1:
                continue
            top, count = pivot_start[pivot], pivot_start[pivot + 1] - pivot_start[pivot]
            for r in range(count):
                remaining[r] = clauses[top + r]
            for k in range(pivot_runs(lists, pivot, domains, events, e, first_entry, repeats, place, runs)):
                low = entry_low[runs[2, k]]
                for i in range(np.uint64(runs[0, k]), np.uint64(runs[1, k])):
                    inside = np.uint64(upto[np.uint32(ranks[i])] >= low)
                    remaining[np.uint32(conjunctions[i])] &= ~(inside << np.uint64(clause[i]))
            if effort[0]:
                for r in range(count):
                    effort[0] += remaining[r] != clauses[top + r]
            finished = 0
            for r in range(np.uint64(count)):
                done[np.uint64(finished)] = r
                finished += remaining[r] == np.uint64(0)
            fits = finished <= out.size - written
            if not fits:
                break
            for k in range(finished):
                written = emit(conjunction_slot[top + done[k]], stamps, removed, died, version, out, written)
        close_event(events, e, first_entry)
        if not fits:
            return e
        start[e + 1] = written
    return single_valued.size
