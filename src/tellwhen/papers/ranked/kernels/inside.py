"""Which intervals of a run contain a point? One by one, or 64 at once."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline

WORD = 64
"""Bits in a word."""


@inline
def next_stabbed(low, high, at, end, point):
    """The first from `at` on that contains the point, or `end`."""
    while at < end and not (low[at] <= point and point <= high[at]):
        at += 1
    return at


@inline
def stabbed_bits(low, high, begin, end, point):
    """A bit for each of up to 64 intervals: does it contain the point? Without branches, several at a time."""
    lows, highs = low[begin:end], high[begin:end]
    bits = np.uint64(0)
    for k in range(lows.size):
        bits |= np.uint64((lows[k] <= point) & (point <= highs[k])) << np.uint64(k)
    return bits
