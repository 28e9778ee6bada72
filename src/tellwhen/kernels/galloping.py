"""Galloping search in a sorted run of an array: fast if the result is near the start (Bentley and Yao, 1976)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.kernels.search import find_first_at_least


@inline
def find_first_nearby(keys, start, end, point):
    """Return the first index in start:end whose key is at least the point.

    Steps from `start` double until they pass the point. The indexes are unsigned: Numba tests every signed one for
    being negative.
    """
    if start >= end or keys[np.uint64(start)] >= point:
        return start
    step = 1
    while start + step < end and keys[np.uint64(start + step)] < point:
        start += step
        step *= 2
    return find_first_at_least(keys, start + 1, min(start + step, end), point)
