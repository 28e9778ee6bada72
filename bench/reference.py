"""Hand-written loops for one workload, with which the baseline engines are compared."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel


@kernel
def scan_masks(start, attribute, mask, event, out):
    """Match by testing every subscription; a predicate is a bit mask of values."""
    found = 0
    for s in range(start.size - 1):
        hit = True
        for i in range(start[s], start[s + 1]):
            v = event[attribute[i]]
            if v < 0 or (mask[i] >> np.uint64(v)) & np.uint64(1) == 0:
                hit = False
                break
        if hit:
            out[found] = s
            found += 1
    return found


@kernel
def expand_values(start, attribute, mask, attributes, cardinality):
    """List, for every attribute and value, the subscriptions with a predicate that the value satisfies."""
    offset = np.zeros(attributes * cardinality + 1, dtype=np.int64)
    for step in range(2):  # count the members, then place them
        if step == 1:
            for k in range(offset.size - 1):
                offset[k + 1] += offset[k]
            members = np.empty(offset[-1], dtype=np.int32)
            at = offset[:-1].copy()
        for s in range(start.size - 1):
            for i in range(start[s], start[s + 1]):
                for v in range(cardinality):
                    if (mask[i] >> np.uint64(v)) & np.uint64(1):
                        k = attribute[i] * cardinality + v
                        if step == 0:
                            offset[k + 1] += 1
                        else:
                            members[at[k]] = s
                            at[k] += 1
    return offset, members


@kernel
def count_satisfied(offset, members, need, event, cardinality, counts, out):
    """Match by counting the satisfied predicates of every subscription."""
    counts[:] = 0
    found = 0
    for a in range(event.size):
        if event[a] >= 0:
            k = a * cardinality + event[a]
            for i in range(offset[k], offset[k + 1]):
                s = members[i]
                counts[s] += 1
                if counts[s] == need[s]:
                    out[found] = s
                    found += 1
    return found
