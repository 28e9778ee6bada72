"""Match by counting satisfied predicates (SIFT, BE-Tree section 7.2).

Deviation: the paper's SIFT enumerates ranges into their values. Here a value finds its intervals by stabbing
(kernels/stabbing.py), so memory does not grow with the domain.
Counters run down from the number of predicates: one random access per satisfied predicate instead of two.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import RUNS, find_runs


@inline
def count_down(rows, start, end, once, remaining, done, finished):
    """One predicate fewer for each row of the run; rows that need no more are listed in `done`.

    The hot loop. Unsigned indices spare Numba's test for negative ones, and a write that is kept or not spares the
    branch that would be mispredicted at every match: half the time together. `once` is 0 when an event may satisfy one
    predicate twice: then a row at zero stays there.
    """
    if once:
        for i in range(np.uint64(start), np.uint64(end)):
            row = np.uint32(rows[i])
            left = remaining[row]
            remaining[row] = left - np.uint8(1)
            done[np.uint64(finished)] = row
            finished += left == 1
    else:
        for i in range(start, end):
            row = rows[i]
            left = remaining[row]
            remaining[row] = left - (left > 0)
            done[finished] = row
            finished += left == 1
    return finished


@kernel
def count(
    lines, keys, list_start, members, need, slot_of, always, rows, died, version, removed, remaining, done, stamps,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for plain events, and for others no match is missing. `stamps` holds, for slots of several rows, the last
    event they were written for; its last element counts events over the life of the scratch, so that it need not be
    cleared. `removed` is 0 when no slot has died.
    """
    stride = lines.size // 4
    counters = remaining.view(np.uint8)
    plain_rows = rows - slot_of.size
    begins, ends = np.empty(RUNS, dtype=np.int64), np.empty(RUNS, dtype=np.int64)
    written = start[event]
    for e in range(event, entry_start.size - 1):
        finished = 0
        # By words: Numba copies byte arrays byte by byte.
        for i in range(need.size):
            remaining[i] = need[i]
        for i in range(entry_start[e], entry_start[e + 1]):
            line = entry_line[i]
            if line < stride - 1:
                runs = find_runs(lines, keys, list_start, stride, line, entry_low[i], entry_high[i], begins, ends)
                for k in range(runs):
                    finished = count_down(members, begins[k], ends[k], plain[e], counters, done, finished)
        for row in always:
            done[finished] = row
            finished += 1
        if finished > out.size - written:
            return e
        stamps[-1] += 1
        for k in range(finished):
            slot = done[k]
            if slot >= plain_rows:
                slot = slot_of[slot - plain_rows]
                if slot < 0:  # one of several rows
                    slot = -1 - slot
                    if stamps[slot] == stamps[-1]:
                        continue
                    stamps[slot] = stamps[-1]
            if removed and died[slot] <= version:
                continue
            out[written] = slot
            written += 1
        start[e + 1] = written
    return entry_start.size - 1
