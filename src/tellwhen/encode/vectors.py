"""Arithmetic and comparisons on columns of numbers, where NumPy has exactly the results of the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tellwhen.compile.domains import EXACT_DOUBLE_MAX
from tellwhen.encode.columns import Column, Values
from tellwhen.language.limits import INTEGER_MAX
from tellwhen.language.terms import COMPARISON_FUNCTIONS, Call, Literal, Name, Term

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


class Vector(NamedTuple):
    """Numbers by row, int64 or float64, and which rows have a value. Rows without a value are zero."""

    numbers: np.ndarray
    is_known: NDArray[np.bool_]

    @property
    def is_integer(self) -> bool:
        """Whether the numbers are integers."""
        return self.numbers.dtype == np.int64

    @property
    def largest(self) -> int:
        """Greatest magnitude of integers."""
        return max(int(self.numbers.max(initial=0)), -int(self.numbers.min(initial=0)))

    @property
    def doubles(self) -> np.ndarray:
        return self.numbers.astype(np.float64, copy=False)


def compute_vector(term: Term, columns: Mapping[str, list[Column]], rows: int) -> Values | None:
    """Compute a term for all rows at once. Return None if it must be computed row by row."""
    if not isinstance(term, Call):
        return None
    with np.errstate(all="ignore"):
        if term.function in COMPARISON_FUNCTIONS:
            found = _compare(term, columns, rows)
        else:
            found = _compute(term, columns, rows)
    if found is None:
        return None
    known_rows = np.flatnonzero(found.is_known)
    return Values(pa.array(found.numbers[known_rows]), known_rows)


def _compare(term: Call, columns: Mapping[str, list[Column]], rows: int) -> Vector | None:
    left, right = (_compute(arg, columns, rows) for arg in term.args)
    if left is None or right is None:
        return None
    if (
        left.is_integer != right.is_integer
        and max(left.largest if left.is_integer else right.largest, 0) > EXACT_DOUBLE_MAX
    ):
        return None
    is_known = left.is_known & right.is_known
    return Vector(COMPARISONS[term.function](left.numbers, right.numbers) & is_known, is_known)


def _compute(term: Term, columns: Mapping[str, list[Column]], rows: int) -> Vector | None:
    if isinstance(term, Name):
        return _get_vector(columns.get(term.name, []), rows)
    if isinstance(term, Literal):
        if type(term.value) not in (int, float):
            return None
        return Vector(np.full(rows, term.value), np.ones(rows, dtype=bool))
    if not isinstance(term, Call) or term.function not in ARITHMETIC:
        return None
    args = [_compute(arg, columns, rows) for arg in term.args]
    if any(arg is None for arg in args):
        return None
    found: Vector | None = ARITHMETIC[term.function](*args)
    return found


def _get_vector(columns: list[Column], rows: int) -> Vector | None:
    """Return the vector of an attribute. Return None unless it is one column with at most one number per row."""
    if len(columns) != 1 or not isinstance(columns[0].values, pa.Array):
        return None
    _, values, column_rows, valid = columns[0]
    if len(column_rows) != rows or not (pt.is_integer(values.type) or pt.is_floating(values.type)):
        return None
    if pt.is_uint64(values.type) or pt.is_float16(values.type):
        return None
    is_known = values.is_valid().to_numpy(zero_copy_only=False)
    if valid is not None:
        is_known = is_known & valid
    kind = np.int64 if pt.is_integer(values.type) else np.float64
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False).astype(kind)
    if kind is np.float64:
        is_known = is_known & (numbers == numbers)
        return Vector(np.where(is_known, numbers, 0.0), is_known)
    found = Vector(np.where(is_known, numbers, 0), is_known)
    return found if found.largest <= INTEGER_MAX else None  # beyond, it would be a double


def _make_float_vector(numbers: np.ndarray, is_known: NDArray[np.bool_]) -> Vector:
    """Return a vector of doubles, undefined where the number is not finite."""
    is_known = is_known & np.isfinite(numbers)
    return Vector(np.where(is_known, numbers, 0.0), is_known)


def _add(left: Vector, right: Vector, sign: int = 1) -> Vector | None:
    is_known = left.is_known & right.is_known
    if left.is_integer and right.is_integer:
        if left.largest + right.largest > INTEGER_MAX:
            return None
        return Vector(np.where(is_known, left.numbers + sign * right.numbers, 0), is_known)
    return _make_float_vector(left.doubles + sign * right.doubles, is_known)


def _subtract_or_negate(left: Vector, right: Vector | None = None) -> Vector | None:
    if right is not None:
        return _add(left, right, -1)
    return Vector(-left.numbers, left.is_known) if left.is_integer else _make_float_vector(-left.numbers, left.is_known)


def _multiply(left: Vector, right: Vector) -> Vector | None:
    is_known = left.is_known & right.is_known
    if left.is_integer and right.is_integer:
        if left.largest * right.largest > INTEGER_MAX:
            return None
        return Vector(np.where(is_known, left.numbers * right.numbers, 0), is_known)
    return _make_float_vector(left.doubles * right.doubles, is_known)


def _divide(left: Vector, right: Vector) -> Vector:
    return _make_float_vector(left.doubles / right.doubles, left.is_known & right.is_known & (right.numbers != 0))


def _compute_remainder(left: Vector, right: Vector) -> Vector:
    is_known = left.is_known & right.is_known & (right.numbers != 0)
    if left.is_integer and right.is_integer:
        return Vector(np.where(is_known, np.fmod(left.numbers, np.where(is_known, right.numbers, 1)), 0), is_known)
    return _make_float_vector(np.fmod(left.doubles, right.doubles), is_known)


def _compute_absolute(operand: Vector) -> Vector:
    numbers = np.abs(operand.numbers)
    return Vector(numbers, operand.is_known) if operand.is_integer else _make_float_vector(numbers, operand.is_known)


ARITHMETIC: dict[str, Callable[..., Vector | None]] = {
    "+": _add, "-": _subtract_or_negate, "*": _multiply, "/": _divide, "%": _compute_remainder,
    "abs": _compute_absolute,
}  # fmt: skip
