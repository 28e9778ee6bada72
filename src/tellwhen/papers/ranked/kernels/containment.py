"""Tests which intervals of a run contain a point, one by one or 64 at once."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline

WORD = 64
"""Bits in a word."""


@inline
def find_next_stabbed(low, high, at, end, point):
    """Return the first index in at:end of an interval that contains the point, or `end`."""
    while at < end and not (low[at] <= point and point <= high[at]):
        at += 1
    return at


@inline
def find_stabbed_bits(low, high, begin, end, point):
    """Return a bit for each of up to 64 intervals begin:end, set if the interval contains the point.

    Without branches, so that the compiler can test several intervals with one instruction.
    """
    lows, highs = low[begin:end], high[begin:end]
    bits = np.uint64(0)
    for k in range(lows.size):
        bits |= np.uint64((lows[k] <= point) & (point <= highs[k])) << np.uint64(k)
    return bits
