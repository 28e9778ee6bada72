"""Columns of numbers -> points, and columns of points -> events."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.kernels.jit import kernel

INTEGER = (1 << 62) - 1
BEYOND = float(1 << 62)


@kernel
def int_points(values):
    """`domains.int_point` of int64 values."""
    points = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        v = values[i]
        points[i] = HIGHEST if v > INTEGER else LOWEST if v < -INTEGER else 2 * v
    return points


@kernel
def int_points_of_floats(values):
    """`domains.int_point` of doubles, none of them NaN."""
    points = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        v = values[i]
        if v >= BEYOND:
            points[i] = HIGHEST
        elif v <= -BEYOND:
            points[i] = LOWEST
        else:
            floor = np.floor(v)
            points[i] = 2 * np.int64(floor) + (floor != v)
    return points


@kernel
def float_points(values):
    """`domains.float_point` of doubles, none of them NaN."""
    points = values.view(np.int64).copy()
    for i in range(points.size):
        if points[i] < 0:
            points[i] = LOWEST - points[i]
    return points


@kernel
def doubles_towards_zero(values):
    """int64 -> the nearest double, or the next one towards zero where that would be larger in magnitude."""
    doubles = values.astype(np.float64)
    for i in range(values.size):
        v = values[i]
        if -INTEGER <= v <= INTEGER and abs(np.int64(doubles[i])) > abs(v):
            doubles[i] = np.nextafter(doubles[i], 0.0)
    return doubles


@kernel
def time_points(values, multiply, divide):
    """Ticks -> points of microseconds: ticks * multiply / divide, what is finer lying between."""
    points = np.empty(values.size, dtype=np.int64)
    bound = INTEGER // multiply if divide == 1 else HIGHEST
    for i in range(values.size):
        v = values[i]
        if v > bound:
            points[i] = HIGHEST
        elif v < -bound:
            points[i] = LOWEST
        else:
            v *= multiply
            whole = v // divide
            points[i] = 2 * whole + (whole * divide != v)
    return points


@kernel
def expand(rows, codes, start, domain, point, out_rows, out_domain, out_point):
    """Entries of coded values: value i of row rows[i] has the entries start[c]:start[c+1], c = codes[i]."""
    written = 0
    for i in range(codes.size):
        for k in range(start[codes[i]], start[codes[i] + 1]):
            out_rows[written] = rows[i]
            out_domain[written] = domain[k]
            out_point[written] = point[k]
            written += 1


@kernel
def count_rows(rows, counts):
    """One more entry for each of the rows."""
    for row in rows:
        counts[row] += 1


@kernel
def place_column(rows, domain, points, at, out_domain, out_point):
    """Write a column's entries, all on one domain, where their rows' entries go on."""
    for i in range(rows.size):
        k = at[rows[i]]
        out_domain[k] = domain
        out_point[k] = points[i]
        at[rows[i]] = k + 1


@kernel
def place_entries(rows, domain, points, at, out_domain, out_point):
    """The same for entries with a domain each."""
    for i in range(rows.size):
        k = at[rows[i]]
        out_domain[k] = domain[i]
        out_point[k] = points[i]
        at[rows[i]] = k + 1


@kernel
def find_single_valued(start, domain, single_valued):
    """An event is single-valued when no domain repeats; repeated ones are neighbours."""
    for e in range(single_valued.size):
        single_valued[e] = 1
        for i in range(start[e] + 1, start[e + 1]):
            if domain[i] == domain[i - 1]:
                single_valued[e] = 0
                break
