"""Conversion of Python values to values and constants of the language.

A value belongs to one *family*: bool, number, string or time. A predicate compares values of one family only.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tellwhen.errors import EventError, ExpressionError, abbreviate, describe_value
from tellwhen.language import limits
from tellwhen.language.times import EPOCH, MICROSECOND, has_day_unit, split_nanoseconds, to_nanoseconds

Family = Literal["bool", "number", "string", "time"]
Constant = bool | int | float | str | dt.date | dt.datetime


class Value(NamedTuple):
    """A family and a key that is ordered within the family.

    The key of a time is the number of nanoseconds since 1970 in UTC.
    """

    family: Family
    key: Any


Bounds = Literal["[]", "[)", "(]", "()"]


class Interval:
    """All numbers, all times or all strings from `low` to `high`. None stands for no limit.

    An attribute of an event may have an Interval as its value, or a list of Intervals and values. A predicate on it is
    true if *some* value in the interval satisfies it.

    Parameters
    ----------
    low, high
        Two numbers, two times or two strings; one of them may be None.
    bounds : {"[]", "[)", "(]", "()"}, default "[]"
        Which ends belong to the interval: a square bracket includes an end, a round one excludes it.

    Raises
    ------
    EventError
        If both ends are None or differ in family, or if no value lies between them.

    Examples
    --------
    >>> import tellwhen as tw
    >>> tw.parse("price < 15").evaluate({"price": tw.Interval(10, 20)})
    True
    >>> tw.parse("price < 15").evaluate({"price": tw.Interval(15, None)})
    False
    >>> tw.parse("city >= 'M'").evaluate({"city": tw.Interval("A", "M", "[)")})
    False
    """

    __slots__ = ("bounds", "family", "high", "high_key", "low", "low_key")

    def __init__(self, low: Any, high: Any, bounds: Bounds = "[]") -> None:
        if bounds not in get_args(Bounds):
            raise EventError(f"the bounds of an Interval are one of [] [) (] (), not {abbreviate(bounds)}")
        ends = [normalize_value(end) for end in (low, high) if end is not None]
        if not ends:
            raise EventError("an Interval needs a low or a high end, both are None")
        families = {end.family for end in ends if end is not None}
        if None in ends or len(families) != 1 or "bool" in families:
            raise EventError(
                f"the ends of an Interval must be two numbers, two times or two strings, not {abbreviate(low)} and "
                f"{abbreviate(high)}"
            )
        self.low, self.high = low, high
        self.bounds = ("[" if low is None else bounds[0]) + ("]" if high is None else bounds[1])
        self.family: Family = families.pop()
        get_first, get_last = KEYS_OF_ENDS[self.family]
        self.low_key = get_first(None if low is None else get_key(low), bounds[0] == "(")
        self.high_key = get_last(None if high is None else get_key(high), bounds[1] == ")")
        """The last key inside, or the first string behind the interval: below 'b' there is no last string."""
        if self.family == "string" and self.high_key is None:
            return
        if self.low_key > self.high_key or (self.family == "string" and self.low_key == self.high_key):
            raise EventError(f"no value lies in {bounds[0]}{abbreviate(low)}, {abbreviate(high)}{bounds[1]}")

    def __repr__(self) -> str:
        bounds = "" if self.bounds == "[]" else f", {self.bounds!r}"
        return f"Interval({self.low!r}, {self.high!r}{bounds})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Family, Any, Any]:
        return self.family, self.low_key, self.high_key


def _get_first_number(end: Any, is_excluded: bool) -> Any:
    if end is None:
        return -math.inf
    return _find_next_number(end) if is_excluded else end


def _get_last_number(end: Any, is_excluded: bool) -> Any:
    return -_get_first_number(None if end is None else -end, is_excluded)


def _find_next_number(number: Any) -> Any:
    """Return the least number that is greater: the next double, or the next integer if that is nearer."""
    if number == math.inf:
        raise EventError("no number is greater than infinity")
    # From 2**53 to 2**62, an event may have integers between two doubles.
    larger = [math.nextafter(number, math.inf)]
    if math.isfinite(number) and number == int(number):
        larger.append(get_key(int(number) + 1))
    return min(other for other in larger if other > number)


def _get_first_time(end: Any, is_excluded: bool) -> Any:
    return -math.inf if end is None else end + is_excluded  # in nanoseconds


def _get_last_time(end: Any, is_excluded: bool) -> Any:
    return math.inf if end is None else end - is_excluded


def _get_first_string(end: Any, is_excluded: bool) -> Any:
    # The next string in the order of code points has one NUL more.
    return "" if end is None else end + "\0" * is_excluded


def _get_string_behind(end: Any, is_excluded: bool) -> Any:
    return None if end is None else end + "\0" * (not is_excluded)


KEYS_OF_ENDS: dict[Family, tuple[Callable[[Any, bool], Any], Callable[[Any, bool], Any]]] = {
    "number": (_get_first_number, _get_last_number),
    "time": (_get_first_time, _get_last_time),
    "string": (_get_first_string, _get_string_behind),
}
"""By family: functions that return `Interval.low_key` and `Interval.high_key`, given an end and if it is excluded."""


def get_key(value: Any) -> Any:
    """Return the key of a value that belongs to a family."""
    normalized = normalize_value(value)
    assert normalized is not None
    return normalized.key


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA, which all stand for no value."""
    if value is None:
        return True
    if isinstance(value, float | np.floating | np.datetime64 | dt.datetime):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ == "NAType"  # from pandas, which need not be installed


def normalize_value(value: Any) -> Value | None:
    """Return the family and the key of a Python value; None if it is missing or belongs to no family."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = _from_numpy(value)
    if isinstance(value, bool):
        return Value("bool", int(value))
    if isinstance(value, int):
        value = int.__int__(value)  # a subclass such as IntEnum becomes a plain int
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
    """Return the Python value of a NumPy scalar. A scalar of no family is returned unchanged."""
    for kind, convert in ((np.bool_, bool), (np.integer, int), (np.floating, float), (np.str_, str.__str__)):
        if isinstance(value, kind) and not isinstance(value, np.timedelta64):
            return convert(value)
    return value


def _is_whole(value: Decimal | Fraction) -> bool:
    if isinstance(value, Decimal):
        # Huge numbers are excluded: int(Decimal("1e3000000")) takes minutes.
        return value.is_finite() and value.adjusted() < 40 and value == value.to_integral_value()
    return value.denominator == 1


def to_double(value: int | Decimal | Fraction) -> float:
    """Return the nearest double; infinity beyond the largest double."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_unicode(text: str) -> bool:
    """Return whether a string can be encoded, that is, has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_successor(prefix: str) -> str | None:
    """Return the least string greater than all strings with this prefix, or None if there is no such string."""
    for i in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[i])
        if code < 0x10FFFF:
            return prefix[:i] + chr(0xE000 if code == 0xD7FF else code + 1)
    return None


def is_list_like(value: Any) -> bool:
    """Return whether a value is a list, tuple, set or one-dimensional array."""
    return isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim == 1)


def iter_members(value: Any) -> Iterator[Any]:
    """Yield the items of a list-like value, or the value itself."""
    if is_list_like(value):
        yield from value
    else:
        yield value


def is_present(value: Any) -> bool:
    """Return whether any member of a value is not missing, as `IS NOT NULL` requires."""
    return any(not is_missing(member) for member in iter_members(value))


def flatten(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an event in which members of nested objects have dotted names.

    If the event has both a dotted name and a nested object with the same member, the dotted name wins.
    """
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping from attribute names to values, not {describe_value(event)}")
    flat: dict[str, Any] = {}
    pending: list[tuple[str, Mapping[Any, Any]]] = [("", event)]
    objects = 1
    while pending:  # Level by level: dotted names come before nested ones. No recursion: the depth may be hostile.
        nested: list[tuple[str, Mapping[Any, Any]]] = []
        for prefix, mapping in pending:
            for key, value in mapping.items():
                if not isinstance(key, str):
                    raise EventError(f"the name of an attribute is a string, not {abbreviate(key)}")
                name = prefix + key
                if len(name) > limits.NAME_CHARACTERS_MAX:
                    continue
                if isinstance(value, Mapping):
                    objects += 1
                    if objects > limits.EVENT_OBJECTS_MAX:
                        raise EventError(f"an event may have at most {limits.EVENT_OBJECTS_MAX} nested objects")
                    nested.append((name + ".", value))
                else:
                    flat.setdefault(name, value)
        pending = nested
    return flat


def normalize_constant(value: Any, attribute: str) -> Constant:
    """Return a Python value as a constant of an expression; raise ExpressionError if it cannot be one.

    Errors begin with `attribute`.
    """
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
            raise ExpressionError(f"{attribute}: {value} cannot be a constant; use IS NULL to test for missing values")
        return float(value)
    if isinstance(value, str):
        return _validate_string(str.__str__(value), attribute)
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    raise ExpressionError(
        f"{attribute}: a constant must be a bool, int, float, str, date or datetime, not {type(value).__name__}"
    )


def _validate_string(value: str, attribute: str) -> str:
    if len(value) > limits.STRING_CHARACTERS_MAX:
        raise ExpressionError(
            f"{attribute}: a string constant may have at most {limits.STRING_CHARACTERS_MAX} characters, "
            f"this one has {len(value)}"
        )
    if "\0" in value or not is_unicode(value):
        raise ExpressionError(f"{attribute}: a string constant must not contain NUL or a lone surrogate")
    return value


def _normalize_time(value: dt.datetime | np.datetime64, attribute: str) -> dt.date:
    """Return a datetime in UTC without a zone; a date for a datetime64 of whole days."""
    if is_missing(value):
        raise ExpressionError(f"{attribute}: NaT cannot be a constant; use IS NULL to test for missing values")
    try:
        nanos, finer = split_nanoseconds(value)
        found = EPOCH + nanos // 1000 * MICROSECOND
    except (OverflowError, ValueError):
        raise ExpressionError(f"{attribute}: the time {value} is outside of the years 1 to 9999 in UTC") from None
    if nanos % 1000 or finer:
        raise ExpressionError(f"{attribute}: a TIMESTAMP has at most microseconds, {value} is finer; round it")
    return found.date() if isinstance(value, np.datetime64) and has_day_unit(value) else found


def get_family(value: Constant) -> Family:
    """Return the family of a valid constant."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "time"


FRACTIONLESS_DOUBLE_MIN = 1 << 52
"""Doubles of this magnitude or more have no fraction."""


def can_be_int(constants: tuple[Any, ...]) -> bool:
    """Return whether an int domain can hold the constants: whole numbers up to `INTEGER_MAX`."""
    return all(abs(c) <= limits.INTEGER_MAX and (isinstance(c, int) or c.is_integer()) for c in constants)


def can_be_float(constants: tuple[Any, ...]) -> bool:
    """Return whether a float domain can hold the constants.

    It cannot hold integers so large that another integer rounds to the same double.
    """
    return all(abs(c) < FRACTIONLESS_DOUBLE_MIN or abs(c) > limits.INTEGER_MAX for c in constants)
