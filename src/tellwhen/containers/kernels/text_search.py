"""Binary search among sorted texts. They are UTF-8, whose byte order is the order of code points."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel


@kernel
def locate_texts(start, data, begin, end, wanted_start, wanted, place_out, is_found_out):
    """Locate the wanted texts in the sorted texts begin:end.

    Set place_out[k] to the number of texts in begin:end that are not greater than wanted text k, and is_found_out[k] to
    1 if the last of these is equal to it, else to 0.
    """
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
        place_out[k] = low - begin
        is_found_out[k] = found
