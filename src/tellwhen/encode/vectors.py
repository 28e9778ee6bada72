"""Arithmetic and comparisons of whole columns: of numbers, where NumPy's result is the language's to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tellwhen.compile.domains import EXACT_DOUBLE
from tellwhen.encode.columns import Column, Values
from tellwhen.language.limits import INTEGER_MAX
from tellwhen.language.terms import COMPARISON_FUNCTIONS, Call, Literal, Name, Term

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


class Vector(NamedTuple):
    """int64 or float64 by row, and which rows have a value; the others are zero."""

    numbers: np.ndarray
    is_known: NDArray[np.bool_]

    @property
    def is_whole(self) -> bool:
        """Are they integers?"""
        return self.numbers.dtype == np.int64

    @property
    def largest(self) -> int:
        """The greatest magnitude of integers."""
        return max(int(self.numbers.max(initial=0)), -int(self.numbers.min(initial=0)))

    @property
    def doubles(self) -> np.ndarray:
        return self.numbers.astype(np.float64, copy=False)


def vector(term: Term, columns: Mapping[str, list[Column]], rows: int) -> Values | None:
    """The values of a term; None if it must be computed row by row."""
    if not isinstance(term, Call):
        return None
    with np.errstate(all="ignore"):
        if term.function in COMPARISON_FUNCTIONS:
            found = _compared(term, columns, rows)
        else:
            found = _computed(term, columns, rows)
    if found is None:
        return None
    where = np.flatnonzero(found.is_known)
    return Values(pa.array(found.numbers[where]), where)


def _compared(term: Call, columns: Mapping[str, list[Column]], rows: int) -> Vector | None:
    left, right = (_computed(arg, columns, rows) for arg in term.args)
    if left is None or right is None:
        return None
    if left.is_whole != right.is_whole and max(left.largest if left.is_whole else right.largest, 0) > EXACT_DOUBLE:
        return None
    is_known = left.is_known & right.is_known
    return Vector(COMPARED[term.function](left.numbers, right.numbers) & is_known, is_known)


def _computed(term: Term, columns: Mapping[str, list[Column]], rows: int) -> Vector | None:
    if isinstance(term, Name):
        return _column(columns.get(term.name, []), rows)
    if isinstance(term, Literal):
        if type(term.value) not in (int, float):
            return None
        return Vector(np.full(rows, term.value), np.ones(rows, dtype=bool))
    if not isinstance(term, Call) or term.function not in ARITHMETIC:
        return None
    args = [_computed(arg, columns, rows) for arg in term.args]
    if any(arg is None for arg in args):
        return None
    found: Vector | None = ARITHMETIC[term.function](*args)
    return found


def _column(columns: list[Column], rows: int) -> Vector | None:
    """A column with one number, or none, for each row."""
    if len(columns) != 1 or not isinstance(columns[0].values, pa.Array):
        return None
    _, values, where, valid = columns[0]
    if len(where) != rows or not (pt.is_integer(values.type) or pt.is_floating(values.type)):
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


def _result(numbers: np.ndarray, is_known: NDArray[np.bool_]) -> Vector:
    """Of doubles: undefined where it is no finite number."""
    is_known = is_known & np.isfinite(numbers)
    return Vector(np.where(is_known, numbers, 0.0), is_known)


def _plus(left: Vector, right: Vector, sign: int = 1) -> Vector | None:
    is_known = left.is_known & right.is_known
    if left.is_whole and right.is_whole:
        if left.largest + right.largest > INTEGER_MAX:
            return None
        return Vector(np.where(is_known, left.numbers + sign * right.numbers, 0), is_known)
    return _result(left.doubles + sign * right.doubles, is_known)


def _minus(left: Vector, right: Vector | None = None) -> Vector | None:
    if right is not None:
        return _plus(left, right, -1)
    return Vector(-left.numbers, left.is_known) if left.is_whole else _result(-left.numbers, left.is_known)


def _times(left: Vector, right: Vector) -> Vector | None:
    is_known = left.is_known & right.is_known
    if left.is_whole and right.is_whole:
        if left.largest * right.largest > INTEGER_MAX:
            return None
        return Vector(np.where(is_known, left.numbers * right.numbers, 0), is_known)
    return _result(left.doubles * right.doubles, is_known)


def _divided(left: Vector, right: Vector) -> Vector:
    return _result(left.doubles / right.doubles, left.is_known & right.is_known & (right.numbers != 0))


def _remainder(left: Vector, right: Vector) -> Vector:
    is_known = left.is_known & right.is_known & (right.numbers != 0)
    if left.is_whole and right.is_whole:
        return Vector(np.where(is_known, np.fmod(left.numbers, np.where(is_known, right.numbers, 1)), 0), is_known)
    return _result(np.fmod(left.doubles, right.doubles), is_known)


def _absolute(one: Vector) -> Vector:
    return Vector(np.abs(one.numbers), one.is_known) if one.is_whole else _result(np.abs(one.numbers), one.is_known)


ARITHMETIC: dict[str, Callable[..., Vector | None]] = {
    "+": _plus, "-": _minus, "*": _times, "/": _divided, "%": _remainder, "abs": _absolute,
}  # fmt: skip
