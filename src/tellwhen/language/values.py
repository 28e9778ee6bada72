"""Here is a Python value: what is it in the language?

A value belongs to one *family*: bool, number, string or time. A predicate compares within one family only.
Constants of subscriptions and values of events both pass through here.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from tellwhen.errors import EventError, ExpressionError, abbreviate
from tellwhen.language import limits
from tellwhen.language.times import EPOCH, MICROSECOND, has_day_unit, split_nanoseconds, to_nanoseconds

Family = Literal["bool", "number", "string", "time"]
Constant = bool | int | float | str | dt.date | dt.datetime


class Value(NamedTuple):
    """A value reduced to what comparisons need: an ordered key inside a family.

    The key of a time is its number of nanoseconds since 1970 in UTC.
    """

    family: Family
    key: Any


class Interval:
    """All numbers, or all times, from `low` to `high`, ends included; None leaves an end open.

    An event may carry one instead of a value. A predicate is then true when *some* value in the interval satisfies it.

    >>> import tellwhen as tw
    >>> tw.parse("price < 15").evaluate({"price": tw.Interval(10, 20)})
    True
    >>> tw.parse("price < 15").evaluate({"price": tw.Interval(16, None)})
    False
    """

    __slots__ = ("family", "high", "high_key", "low", "low_key")

    def __init__(self, low: Any, high: Any) -> None:
        ends = [normalize_value(end) for end in (low, high) if end is not None]
        if not ends:
            raise EventError("an interval has at least one end: at most one of them is None")
        families = {end.family for end in ends if end is not None}
        if None in ends or len(families) != 1 or not families <= {"number", "time"}:
            raise EventError(
                f"the ends of an interval are two numbers or two times, not {abbreviate(low)} and {abbreviate(high)}"
            )
        self.low, self.high = low, high
        self.family: Family = families.pop()
        self.low_key = -math.inf if low is None else _get_key(low)
        self.high_key = math.inf if high is None else _get_key(high)
        if self.low_key > self.high_key:
            raise EventError(
                f"an interval runs from its low end to its high end, not from {abbreviate(low)} to {abbreviate(high)}"
            )

    def __repr__(self) -> str:
        return f"Interval({self.low!r}, {self.high!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))


def _get_key(value: Any) -> Any:
    reduced = normalize_value(value)
    assert reduced is not None
    return reduced.key


def is_missing(value: Any) -> bool:
    """Is it None, NaN or NaT? These stand for no value."""
    if value is None:
        return True
    if isinstance(value, float | np.floating | np.datetime64 | dt.datetime):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ == "NAType"  # from pandas, which need not be installed


def normalize_value(value: Any) -> Value | None:
    """The family and the key of a value; None for a missing value, and for one of no family."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = _from_numpy(value)
    if isinstance(value, bool):
        return Value("bool", int(value))
    if isinstance(value, int):
        value = int.__int__(value)  # an enum's member, for example, becomes a plain int
        return Value("number", value if -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX else to_double(value))
    if isinstance(value, float):
        return Value("number", float(value))
    if isinstance(value, str):
        return Value("string", str.__str__(value)) if is_unicode(value) else None
    if isinstance(value, dt.date | np.datetime64):
        try:
            return Value("time", to_nanoseconds(value))
        except (OverflowError, ValueError):  # a pandas Timestamp far beyond year 9999
            return None
    if isinstance(value, Decimal | Fraction):
        return normalize_value(int(value) if _is_whole(value) else to_double(value))
    return None


def _from_numpy(value: np.generic) -> Any:
    """The Python value of a NumPy scalar. A scalar of no family is returned as it is."""
    for kind, convert in ((np.bool_, bool), (np.integer, int), (np.floating, float), (np.str_, str.__str__)):
        if isinstance(value, kind) and not isinstance(value, np.timedelta64):
            return convert(value)
    return value


def _is_whole(value: Decimal | Fraction) -> bool:
    if isinstance(value, Decimal):
        # Not the huge ones: as an int, 1e3000000 takes minutes.
        return value.is_finite() and value.adjusted() < 40 and value == value.to_integral_value()
    return value.denominator == 1


def to_double(value: int | Decimal | Fraction) -> float:
    """The nearest double; beyond the largest one, infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_unicode(text: str) -> bool:
    """False for a string with a lone surrogate: it is not text in any encoding."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_list_like(value: Any) -> bool:
    """Is it a list of values?"""
    return isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim == 1)


def iter_members(value: Any) -> Iterator[Any]:
    """The single values of an attribute: the items of a list, or the value itself."""
    if is_list_like(value):
        yield from value
    else:
        yield value


def is_present(value: Any) -> bool:
    """Is there a value, of whatever family? The meaning of `IS NOT NULL`."""
    return any(not is_missing(member) for member in iter_members(value))


def flatten(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event without nested objects: their members get dotted names. A name that is written in full wins."""
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping from attribute names to values, not a {type(event).__name__}")
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Mapping[Any, Any]]] = [("", event)]
    objects = 1
    while waiting:  # level by level: a name in full comes before a nested one. No recursion: depth may be hostile
        deeper: list[tuple[str, Mapping[Any, Any]]] = []
        for prefix, mapping in waiting:
            for key, value in mapping.items():
                if not isinstance(key, str):
                    raise EventError(f"the name of an attribute is a string, not {abbreviate(key)}")
                name = prefix + key
                if len(name) > limits.NAME_CHARACTERS_MAX:
                    continue
                if isinstance(value, Mapping):
                    objects += 1
                    if objects > limits.EVENT_OBJECTS_MAX:
                        raise EventError(f"an event nests at most {limits.EVENT_OBJECTS_MAX} objects")
                    deeper.append((name + ".", value))
                else:
                    flat.setdefault(name, value)
        waiting = deeper
    return flat


def normalize_constant(value: Any, attribute: str) -> Constant:
    """The value as a constant of an expression; raises ExpressionError when it cannot be one."""
    if isinstance(value, dt.datetime | np.datetime64):
        return _normalize_time(value, attribute)
    if isinstance(value, np.generic):
        value = _from_numpy(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX:
            raise ExpressionError(
                f"{attribute}: the integer {abbreviate(value)} is beyond ±{limits.INTEGER_MAX}; "
                "use a float to compare it as a double"
            )
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        return normalize_constant(int(value) if _is_whole(value) else to_double(value), attribute)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExpressionError(f"{attribute}: {value} is not a constant; use IS NULL for missing values")
        return float(value)
    if isinstance(value, str):
        return _validate_string(str.__str__(value), attribute)
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    raise ExpressionError(
        f"{attribute}: a constant is a bool, int, float, str, date or datetime, not {type(value).__name__}"
    )


def _validate_string(value: str, attribute: str) -> str:
    if len(value) > limits.STRING_CHARACTERS_MAX:
        raise ExpressionError(f"{attribute}: a string constant has at most {limits.STRING_CHARACTERS_MAX} characters")
    if "\0" in value or not is_unicode(value):
        raise ExpressionError(f"{attribute}: a string constant contains no NUL and no lone surrogate")
    return value


def _normalize_time(value: dt.datetime | np.datetime64, attribute: str) -> dt.date:
    """A datetime in UTC without a zone; a date for a datetime64 of whole days."""
    if is_missing(value):
        raise ExpressionError(f"{attribute}: NaT is not a constant; use IS NULL for missing values")
    try:
        nanos, finer = split_nanoseconds(value)
        found = EPOCH + nanos // 1000 * MICROSECOND
    except (OverflowError, ValueError):
        raise ExpressionError(f"{attribute}: {value} is not in the years 1 to 9999 in UTC") from None
    if nanos % 1000 or finer:
        raise ExpressionError(f"{attribute}: a TIMESTAMP has microseconds at most, {value} is finer")
    return found.date() if isinstance(value, np.datetime64) and has_day_unit(value) else found


def get_family(value: Constant) -> Family:
    """The family of a checked constant."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "time"


FRACTIONLESS_DOUBLE_MIN = 1 << 52
"""Doubles of this magnitude or more have no fraction."""


def can_be_int(constants: tuple[Any, ...]) -> bool:
    """May these constants live on an int domain? They must be whole numbers in range."""
    return all(abs(c) <= limits.INTEGER_MAX and (isinstance(c, int) or c.is_integer()) for c in constants)


def can_be_float(constants: tuple[Any, ...]) -> bool:
    """May these constants live on a float domain? Not integers so large that another integer may have their double."""
    return all(abs(c) < FRACTIONLESS_DOUBLE_MIN or abs(c) > limits.INTEGER_MAX for c in constants)
