"""Here is a number or a time: what is its point on a domain of int64?

    int, time   ... 2v-1  2v  2v+1 ...     even points are integers, odd ones everything between two of them
    float       the doubles in their order, one point each; -0.0 and 0.0 share one

An attribute may have both an int and a float domain. Integers beyond 2**52 stay on the int domain, where they are exact;
constants with a fraction live on the float domain, where no integer event value can be confused with them.
"""

from __future__ import annotations

import math
import struct

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.lang import limits


def int_point(value: int | float) -> int:
    """On an int domain; a value out of range lies beyond every constant."""
    if isinstance(value, float):
        if value >= limits.INTEGER or value <= -limits.INTEGER:
            # Not at the bound itself: no double equals it, the nearest is 2**62.
            return HIGHEST if value > 0 else LOWEST
        floor = math.floor(value)
        return 2 * floor + (floor != value)
    if value > limits.INTEGER:
        return HIGHEST
    return LOWEST if value < -limits.INTEGER else 2 * value


def time_point(nanoseconds: int) -> int:
    """On a time domain: microseconds, with what is finer lying between."""
    micros, rest = divmod(nanoseconds, 1000)
    return int_point(micros) + (rest != 0)


def float_point(value: int | float) -> int:
    """On a float domain; an integer that is no double is moved towards zero, past no constant (see above)."""
    if isinstance(value, int):
        value = _towards_zero(value)
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else LOWEST - bits


def _towards_zero(value: int) -> float:
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return math.nextafter(nearest, 0.0) if abs(nearest) > abs(value) and abs(value) <= limits.INTEGER else nearest


def complement(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The rest of the domain: sorted disjoint intervals for sorted disjoint intervals."""
    rest = []
    start = LOWEST
    for low, high in intervals:
        if low > start:
            rest.append((start, low - 1))
        if high == HIGHEST:
            return rest
        start = high + 1
    rest.append((start, HIGHEST))
    return rest
