"""Conversion of numbers and times, or columns of them, to points on domains, and the complement of intervals.

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

OUT_OF_RANGE = float(INTEGER_MAX + 1)
"""The least positive double that is out of the range of an int domain. (No double equals INTEGER_MAX.)"""

EXACT_DOUBLE_MAX = 1 << 53
"""Greatest magnitude up to which every integer is a double."""


# single values


def to_int_point(value: int | float) -> int:
    """Return the point of a number on an int domain. A number out of range lies beyond every constant."""
    if isinstance(value, float):
        if abs(value) >= OUT_OF_RANGE:
            return HIGHEST if value > 0 else LOWEST
        floor = math.floor(value)
        return 2 * floor + (floor != value)
    if value > INTEGER_MAX:
        return HIGHEST
    return LOWEST if value < -INTEGER_MAX else 2 * value


def to_time_point(nanoseconds: int) -> int:
    """Return the point of a time on a time domain, from nanoseconds since 1970.

    Even points are whole microseconds; an odd point is everything between two of them.
    """
    micros, rest = divmod(nanoseconds, 1000)
    return to_int_point(micros) + (rest != 0)


def to_float_point(value: int | float) -> int:
    """Return the point of a number on a float domain.

    An integer that no double equals is rounded towards zero. No constant of a float domain lies between the two.
    """
    if isinstance(value, int):
        value = _round_towards_zero(value)
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else LOWEST - bits


def _round_towards_zero(value: int) -> float:
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return math.nextafter(nearest, 0.0) if abs(nearest) > abs(value) and abs(value) <= INTEGER_MAX else nearest


# columns


def to_int_points(values: I64) -> I64:
    """Return the points of integers on an int domain. `to_int_point` returns the point of one."""
    points = 2 * values
    points[values > INTEGER_MAX] = HIGHEST
    points[values < -INTEGER_MAX] = LOWEST
    return points


def to_int_points_of_floats(values: F64) -> I64:
    """Return the points of doubles on an int domain, as `to_int_point` does for one. None may be NaN."""
    inside = np.clip(values, -OUT_OF_RANGE, OUT_OF_RANGE)
    floor = np.floor(inside)
    points = 2 * floor.astype(np.int64) + (floor != inside)
    points[values >= OUT_OF_RANGE] = HIGHEST
    points[values <= -OUT_OF_RANGE] = LOWEST
    return points


def to_float_points(values: F64) -> I64:
    """Return the points of doubles on a float domain, as `to_float_point` does for one. None may be NaN."""
    bits = values.view(np.int64)
    return np.where(bits < 0, LOWEST - bits, bits)


def round_towards_zero(values: I64) -> F64:
    """Return the nearest doubles of integers, rounded towards zero as in `to_float_point`."""
    doubles = values.astype(np.float64)
    if values.max(initial=0) > EXACT_DOUBLE_MAX or values.min(initial=0) < -EXACT_DOUBLE_MAX:
        inside = (values >= -INTEGER_MAX) & (values <= INTEGER_MAX)
        nearest = np.where(inside, doubles, 0.0).astype(np.int64)
        is_larger = inside & (np.abs(nearest) > np.abs(values))
        doubles[is_larger] = np.nextafter(doubles[is_larger], 0.0)
    return doubles


def to_time_points(ticks: I64, multiply: int, divide: int) -> I64:
    """Return the points of times on a time domain, as `to_time_point` does for one.

    Times are counted in ticks of `multiply / divide` microseconds since 1970; one of the two factors is 1.
    """
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
    """Return the intervals that cover the rest of a domain. All are closed, sorted and disjoint."""
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
