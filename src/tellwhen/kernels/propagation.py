"""Match by access predicates (Propagation, BE-Tree section 7.2 and PS-Tree section 2).

All true predicates are found first and noted in a bit vector. A true one that is the access predicate of a cluster has
the rows of that cluster looked at, and only those. At the end exactly the bits that were set are cleared.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.evaluate import is_true, row_accepts, set_true
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.rows import emit
from tellwhen.kernels.stabbing import RUNS, find_runs


@inline
def note_true(
    lines, keys, list_start, members, entry_line, entry_low, entry_high, first, last, begins, ends, truth, satisfied
):
    """Set the bits of all predicates that entries first:last satisfy, and list them; returns how many."""
    stride = lines.size // 4
    count = 0
    for i in range(first, last):
        line = entry_line[i]
        if line < stride - 1:
            runs = find_runs(lines, keys, list_start, stride, line, entry_low[i], entry_high[i], begins, ends)
            for k in range(runs):
                for j in range(np.uint64(begins[k]), np.uint64(ends[k])):
                    p = members[j]
                    if not is_true(truth, p):
                        set_true(truth, p)
                        satisfied[count] = p
                        count += 1
    return count


@inline
def forget_true(truth, satisfied, count):
    """Clear exactly the bits that were set."""
    for k in range(count):
        truth[satisfied[k] >> 6] = 0


@kernel
def propagate(
    lines, keys, list_start, members, cluster, row_start, row_code, row_slot, died, version, removed,
    truth, satisfied, stamps, looked,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    The rows of predicate p's cluster are cluster[p]:cluster[p+1]; those of the last cluster have no access predicate.
    Exact for plain events, and for others no match is missing. looked[0] counts the rows looked at.
    """
    begins, ends = np.empty(RUNS, dtype=np.int64), np.empty(RUNS, dtype=np.int64)
    general = cluster.size - 2
    written = start[event]
    for e in range(event, plain.size):
        count = note_true(
            lines, keys, list_start, members, entry_line, entry_low, entry_high, entry_start[e], entry_start[e + 1],
            begins, ends, truth, satisfied,
        )  # fmt: skip
        satisfied[count] = general
        stamps[-1] += 1
        most = 0
        for k in range(count + 1):
            p = satisfied[k]
            most += cluster[p + 1] - cluster[p]
        fits = most <= out.size - written
        if fits:
            looked[0] += most
            for k in range(count + 1):
                p = satisfied[k]
                for r in range(cluster[p], cluster[p + 1]):
                    if row_accepts(row_code, row_start[r], row_start[r + 1], truth):
                        written = emit(row_slot[r], stamps, removed, died, version, out, written)
        forget_true(truth, satisfied, count)
        if not fits:
            return e
        start[e + 1] = written
    return plain.size
