"""Where is a text among sorted ones? Texts are UTF-8, whose byte order is the order of code points."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel


@kernel
def locate(start, data, begin, end, wanted_start, wanted, at, known):
    """Of the sorted texts begin:end, at[k] are not greater than wanted text k, and known[k] tells whether the last of
    these is equal."""
    for k in range(wanted_start.size - 1):
        first, size = wanted_start[k], wanted_start[k + 1] - wanted_start[k]
        low, high = begin, end
        found = False
        while low < high:
            middle = (low + high) >> 1
            there, length = start[middle], start[middle + 1] - start[middle]
            order = length - size
            for i in range(min(length, size)):
                if data[there + i] != wanted[first + i]:
                    order = np.int64(data[there + i]) - np.int64(wanted[first + i])
                    break
            if order <= 0:
                low = middle + 1
                found = found or order == 0
            else:
                high = middle
        at[k] = low - begin
        known[k] = found
