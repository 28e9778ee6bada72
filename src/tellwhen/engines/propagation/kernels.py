"""Match by access predicates (Propagation, BE-Tree section 7.2 and PS-Tree section 2).

All true predicates are found first and noted in a bit vector. A true one that is the access predicate of a cluster has
the conjunctions of that cluster looked at, and only those. At the end exactly the bits that were set are cleared.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import conjunction_accepts, is_true, set_true
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import MAX_RUNS, find_runs


@inline
def note_true(
    domains, keys, list_start, members, entry_domain, entry_low, entry_high, first, last, begins, ends, truth, satisfied
):
    """Set the bits of all predicates that entries first:last satisfy, and list them; returns how many."""
    stride = domains.size // 4
    count = 0
    for i in range(first, last):
        domain = entry_domain[i]
        if domain < stride - 1:
            runs = find_runs(domains, keys, list_start, stride, domain, entry_low[i], entry_high[i], begins, ends)
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
    domains, keys, list_start, members, cluster, conjunction_start, conjunction_code, conjunction_slot, died, version, removed,
    truth, satisfied, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    The conjunctions of predicate p's cluster are cluster[p]:cluster[p+1]; those of the last cluster have no access predicate.
    Exact for single-valued events, and for others no match is missing. effort[0] counts the conjunctions looked at.
    """
    begins, ends = np.empty(MAX_RUNS, dtype=np.int64), np.empty(MAX_RUNS, dtype=np.int64)
    general = cluster.size - 2
    written = start[event]
    for e in range(event, single_valued.size):
        count = note_true(
            domains, keys, list_start, members, entry_domain, entry_low, entry_high, entry_start[e], entry_start[e + 1],
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
            effort[0] += most
            for k in range(count + 1):
                p = satisfied[k]
                for r in range(cluster[p], cluster[p + 1]):
                    if conjunction_accepts(conjunction_code, conjunction_start[r], conjunction_start[r + 1], truth):
                        written = emit(conjunction_slot[r], stamps, removed, died, version, out, written)
        forget_true(truth, satisfied, count)
        if not fits:
            return e
        start[e + 1] = written
    return single_valued.size
