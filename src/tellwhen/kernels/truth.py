"""Bitmap of the predicates that an event makes true.

Indexes are unsigned, because Numba tests every signed one for being negative.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.kernels.stabbing import find_runs


@inline
def is_true(truth, p):
    return (truth[np.uint32(p) >> np.uint32(6)] >> np.uint64(p & 63)) & np.uint64(1) != 0


@inline
def set_true(truth, p):
    truth[np.uint32(p) >> np.uint32(6)] |= np.uint64(1) << np.uint64(p & 63)


@inline
def clear_true(truth, p):
    truth[np.uint32(p) >> np.uint32(6)] &= ~(np.uint64(1) << np.uint64(p & 63))


@inline
def find_true_predicates(stabbing, events, event, runs, truth, satisfied):
    """Set the bits of all predicates that the event satisfies, and list them in `satisfied`. Return how many.

    The members of the stabbing index are predicates.
    """
    domains = stabbing.key_start.size // 4 - 1
    count = 0
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] < domains:
            for k in range(find_runs(stabbing, events.domain[i], events.low[i], events.high[i], runs)):
                for j in range(np.uint64(runs.begin[k]), np.uint64(runs.end[k])):
                    p = stabbing.members[j]
                    if not is_true(truth, p):
                        set_true(truth, p)
                        satisfied[np.uint64(count)] = p
                        count += 1
    return count


@inline
def clear_true_predicates(truth, satisfied, count):
    """Clear the bits of the predicates that `find_true_predicates` listed."""
    for k in range(count):
        truth[np.uint32(satisfied[k]) >> np.uint32(6)] = 0
