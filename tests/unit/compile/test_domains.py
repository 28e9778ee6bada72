"""Points keep the order of numbers and times, and columns give the same points as single values."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tellwhen.compile import domains
from tellwhen.compile.domains import complement, to_float_point, to_int_point, to_time_point
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.language.limits import INTEGER_MAX

NUMBERS = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(allow_nan=False)


@given(st.integers(-INTEGER_MAX, INTEGER_MAX), NUMBERS)
def test_int_domains_keep_order(constant, value):
    point, at = to_int_point(constant), to_int_point(value)
    assert (at < point, at == point) == (value < constant, value == constant)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_float_domains_keep_order(a, b):
    assert (to_float_point(a) < to_float_point(b), to_float_point(a) == to_float_point(b)) == (a < b, a == b)


@given(st.floats(-(2.0**52) + 1, 2.0**52 - 1), st.integers(-INTEGER_MAX, INTEGER_MAX))
def test_integers_are_exact_against_fractions(constant, value):
    point, at = to_float_point(constant), to_float_point(value)
    assert (at < point, at == point) == (value < constant, value == constant)


def test_neighbouring_doubles_have_neighbouring_points():
    for x in (0.0, -5e-324, 0.1, 1e300, -1.0):
        assert to_float_point(math.nextafter(x, math.inf)) == to_float_point(x) + 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
@example([2**53 + 3, -(2**53) - 3, 2**60 + 255, INTEGER_MAX, -INTEGER_MAX, INTEGER_MAX + 1, 2**63 - 1, -(2**63)])
def test_columns_of_integers_agree_with_single_values(values):
    column = np.array(values, dtype=np.int64)
    assert domains.to_int_points(column).tolist() == [to_int_point(v) for v in values]
    assert domains.to_float_points(domains.round_towards_zero(column)).tolist() == [to_float_point(v) for v in values]


@given(st.lists(st.floats(allow_nan=False)))
def test_columns_of_doubles_agree_with_single_values(values):
    column = np.array(values, dtype=np.float64)
    assert domains.to_int_points_of_floats(column).tolist() == [to_int_point(v) for v in values]
    assert domains.to_float_points(column).tolist() == [to_float_point(v) for v in values]


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_columns_of_times_agree_with_single_values(values):
    column = np.array(values, dtype=np.int64)
    assert domains.to_time_points(column, 1, 1000).tolist() == [to_time_point(v) for v in values]


@given(st.sets(st.integers(-20, 20)))
def test_complement(points):
    intervals = [(p, p) for p in sorted(points)]
    rest = complement(intervals)
    inside = {p for p in range(-25, 26) if any(low <= p <= high for low, high in rest)}
    assert inside == set(range(-25, 26)) - points
    assert not rest or rest[0][0] == LOWEST
    assert not rest or rest[-1][1] == HIGHEST
