"""Here is a number or a time, or a column of them: what is its point on a domain?

    int, time   ... 2v-1  2v  2v+1 ...     even points are integers, odd ones everything between two of them
    float       the doubles in their order, one point each; -0.0 and 0.0 share one

An attribute may have both an int and a float domain. Integers beyond 2**52 stay on the int domain, where they are
exact. Constants with a fraction live on the float domain, where no integer event value can be confused with them.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from tellwhen.kernels.arrays import F64, HIGHEST, I64, LOWEST
from tellwhen.language.limits import INTEGER_MAX

BEYOND = float(INTEGER_MAX + 1)
"""The first double that is out of range: no double equals INTEGER."""

EXACT_DOUBLE = 1 << 53
"""All integers up to this magnitude are doubles."""


# one value


def int_point(value: int | float) -> int:
    """On an int domain; a value out of range lies beyond every constant."""
    if isinstance(value, float):
        if abs(value) >= BEYOND:
            return HIGHEST if value > 0 else LOWEST
        floor = math.floor(value)
        return 2 * floor + (floor != value)
    if value > INTEGER_MAX:
        return HIGHEST
    return LOWEST if value < -INTEGER_MAX else 2 * value


def time_point(nanoseconds: int) -> int:
    """On a time domain: even points are microseconds, odd ones all that lies between two of them."""
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
    return math.nextafter(nearest, 0.0) if abs(nearest) > abs(value) and abs(value) <= INTEGER_MAX else nearest


# columns


def int_points(values: I64) -> I64:
    """`int_point` of integers."""
    points = 2 * values
    points[values > INTEGER_MAX] = HIGHEST
    points[values < -INTEGER_MAX] = LOWEST
    return points


def int_points_of_floats(values: F64) -> I64:
    """`int_point` of doubles, none of them NaN."""
    inside = np.clip(values, -BEYOND, BEYOND)
    floor = np.floor(inside)
    points = 2 * floor.astype(np.int64) + (floor != inside)
    points[values >= BEYOND] = HIGHEST
    points[values <= -BEYOND] = LOWEST
    return points


def float_points(values: F64) -> I64:
    """`float_point` of doubles, none of them NaN."""
    bits = values.view(np.int64)
    return np.where(bits < 0, LOWEST - bits, bits)


def doubles_towards_zero(values: I64) -> F64:
    """The nearest doubles of integers, moved towards zero as by `float_point`."""
    doubles = values.astype(np.float64)
    if values.max(initial=0) > EXACT_DOUBLE or values.min(initial=0) < -EXACT_DOUBLE:
        inside = (values >= -INTEGER_MAX) & (values <= INTEGER_MAX)
        nearest = np.where(inside, doubles, 0.0).astype(np.int64)
        is_larger = inside & (np.abs(nearest) > np.abs(values))
        doubles[is_larger] = np.nextafter(doubles[is_larger], 0.0)
    return doubles


def time_points(ticks: I64, multiply: int, divide: int) -> I64:
    """`time_point` of times in ticks of `multiply / divide` microseconds; one of the two is 1."""
    if divide > 1:
        micros = ticks // divide
        return 2 * micros + (micros * divide != ticks)
    bound = INTEGER_MAX // multiply
    points = 2 * multiply * ticks
    points[ticks > bound] = HIGHEST
    points[ticks < -bound] = LOWEST
    return points


# intervals


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
