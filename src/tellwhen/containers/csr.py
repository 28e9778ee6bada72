"""Lists of lists in two arrays (compressed sparse rows): list k is members[start[k]:start[k+1]]."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, I64


def gather(start: I64, which: I32 | I64) -> tuple[I64, I64]:
    """Select the lists `which`. Return their new starts, and the index of each of their members in the old array."""
    lengths = start[which + 1] - start[which]
    ends = np.cumsum(lengths)
    fresh = np.concatenate([[0], ends])
    shift = np.repeat(start[which] - (ends - lengths), lengths)
    return fresh, np.arange(len(shift)) + shift
