"""Match conjunctions of clauses by pivots and sorted predicate lists (OpIndex, section 6.1)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, PredicateLists
from tellwhen.kernels.evaluate import close_event, longest_event, open_event
from tellwhen.kernels.jit import kernel
from tellwhen.kernels.opindex import PLACES, locate, pivot_runs
from tellwhen.kernels.rows import emit


@kernel
def match_clauses(
    key_start, keys, key_line, segment_start, segments, ranks, rows, pivot_rows, row_slot, clauses, clause, upto,
    died, version, removed, remaining, done, first_entry, stamps, looked,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for plain events, and for others no match is missing. looked[0] counts the rows whose bitmaps were touched.
    """
    events = Events(entry_start, entry_line, entry_low, entry_high, plain)
    lists = PredicateLists(key_start, keys, key_line, segment_start, segments, ranks, rows)
    lines = pivot_rows.size - 1
    longest = longest_event(entry_start, event)
    place, runs = np.empty((PLACES, longest), dtype=np.int64), np.empty((3, 3 * longest + 1), dtype=np.int64)
    written = start[event]
    for e in range(event, plain.size):
        # Rows without clauses have no pivot, and come last.
        fits = row_slot.size - pivot_rows[lines] <= out.size - written
        if not fits:
            return e
        stamps[-1] += 1
        for row in range(pivot_rows[lines], row_slot.size):
            written = emit(row_slot[row], stamps, removed, died, version, out, written)
        repeats = locate(events, e, key_start, keys, lines, place)
        open_event(events, e, first_entry)
        for j in range(entry_start[e], entry_start[e + 1]):
            pivot = entry_line[j]
            if pivot >= lines or first_entry[pivot] != j + 1:
                continue
            top, count = pivot_rows[pivot], pivot_rows[pivot + 1] - pivot_rows[pivot]
            for r in range(count):
                remaining[r] = clauses[top + r]
            for k in range(pivot_runs(lists, pivot, lines, events, e, first_entry, repeats, place, runs)):
                low = entry_low[runs[2, k]]
                for i in range(np.uint64(runs[0, k]), np.uint64(runs[1, k])):
                    inside = np.uint64(upto[np.uint32(ranks[i])] >= low)
                    remaining[np.uint32(rows[i])] &= ~(inside << np.uint64(clause[i]))
            if looked[0]:
                for r in range(count):
                    looked[0] += remaining[r] != clauses[top + r]
            finished = 0
            for r in range(np.uint64(count)):
                done[np.uint64(finished)] = r
                finished += remaining[r] == np.uint64(0)
            fits = finished <= out.size - written
            if not fits:
                break
            for k in range(finished):
                written = emit(row_slot[top + done[k]], stamps, removed, died, version, out, written)
        close_event(events, e, first_entry)
        if not fits:
            return e
        start[e + 1] = written
    return plain.size
