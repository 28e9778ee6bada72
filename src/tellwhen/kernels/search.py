"""Binary searches in sorted runs of an array."""

from __future__ import annotations

from tellwhen.kernels.jit import inline


@inline
def find_first_at_least(keys, start, end, point):
    """Return the first index in start:end whose key is at least the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] < point:
            start = middle + 1
        else:
            end = middle
    return start


@inline
def find_first_above(keys, start, end, point):
    """Return the first index in start:end whose key is greater than the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] <= point:
            start = middle + 1
        else:
            end = middle
    return start


@inline
def find_first_below(keys, start, end, point):
    """Return the first index in start:end whose key is below the point. The keys descend."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] >= point:
            start = middle + 1
        else:
            end = middle
    return start
