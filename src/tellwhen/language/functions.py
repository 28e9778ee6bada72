"""Built-in functions on single values. A function returns None where it is undefined.

Functions of integers are exact, and undefined beyond the largest integer of the language. If an argument is a double,
the result is the double of IEEE 754, and undefined if that is infinite or not a number.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tellwhen.errors import ExpressionError, find_similar
from tellwhen.language import limits
from tellwhen.language.terms import LACKS
from tellwhen.language.times import DAY_NANOSECONDS, EPOCH, MICROSECOND, parse_time, to_nanoseconds
from tellwhen.language.values import Family, Value

Implementation = Callable[..., Value | None]


class Function(NamedTuple):
    """A definition of a function: its number of arguments, the families of arguments and result, its implementation."""

    min_arguments: int
    max_arguments: int
    argument_family: Family | None
    """Family of the arguments, or of the main one; None if any is possible."""
    run: Implementation
    result_family: Family | None = None
    """Family of the results; None if it depends on the arguments."""
    is_user_defined: bool = False
    """Whether it was registered with `tellwhen.function`."""


def make_number(key: int | float) -> Value | None:
    """Return a numeric result; None if it is out of range, infinite or not a number."""
    if type(key) is int:
        return Value("number", key) if -limits.INTEGER_MAX <= key <= limits.INTEGER_MAX else None
    return Value("number", key) if math.isfinite(key) else None


def make_string(key: str) -> Value | None:
    """Return a string result; None if it is too long."""
    return Value("string", key) if len(key) <= limits.COMPUTED_CHARACTERS_MAX else None


# numbers


def _lift_numeric(compute: Callable[..., int | float | None]) -> Implementation:
    """Return a function of Values that applies `compute` to numbers. It is undefined for other arguments."""

    def apply_to_numbers(*values: Value) -> Value | None:
        if any([value.family != "number" for value in values]):
            return None
        key = compute(*[value.key for value in values])
        return None if key is None else make_number(key)

    return apply_to_numbers


def _subtract_or_negate(a: Any, b: Any = None) -> Any:
    return -a if b is None else a - b


def _divide(a: Any, b: Any) -> float | None:
    """Return the quotient as a double, also of two integers."""
    return None if b == 0 else float(a) / float(b)


def _compute_remainder(a: Any, b: Any) -> int | float | None:
    """Return the remainder, with the sign of the dividend as in SQL."""
    if b == 0 or math.isinf(a):
        return None
    if type(a) is int and type(b) is int:
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return math.fmod(a, b)


def _round(a: Any, digits: Any = 0) -> int | float | None:
    """Round to digits after the decimal point, halves away from zero as in SQL."""
    if type(digits) is not int or not -15 <= digits <= 15:
        return None
    if type(a) is int:
        unit = 10 ** max(0, -digits)
        return (abs(a) + unit // 2) // unit * unit * (1 if a >= 0 else -1)
    scaled = a * 10.0**digits
    if not math.isfinite(scaled):
        return None
    whole = math.trunc(scaled)
    whole += (1 if scaled > 0 else -1) * (abs(scaled - whole) >= 0.5)
    return float(whole) / 10.0**digits


# strings


def _lift_string(compute: Callable[[str], Any], make_result: Callable[[Any], Value | None]) -> Implementation:
    """Return a function of Values that applies `compute` to a string. It is undefined for other arguments."""

    def apply_to_string(value: Value) -> Value | None:
        return make_result(compute(value.key)) if value.family == "string" else None

    return apply_to_string


def _concatenate(left: Value, right: Value) -> Value | None:
    return make_string(left.key + right.key) if left.family == right.family == "string" else None


def _take_substring(text: Value, first: Value, length: Value | None = None) -> Value | None:
    """Return the characters from position `first`. The first character has position 1, the last one -1."""
    if text.family != "string" or type(first.key) is not int or first.family != "number":
        return None
    begin = first.key - 1 if first.key >= 0 else first.key + len(text.key)
    end = len(text.key)
    if length is not None:
        if type(length.key) is not int or length.family != "number" or length.key < 0:
            return None
        end = begin + length.key
    return Value("string", text.key[max(0, begin) : max(0, end)])


def encode_address(text: str) -> str | None:
    """Return an IP address as version and hexadecimal digits, which sort like addresses; None for other text."""
    try:
        address = ipaddress.ip_address(text.strip())
        return f"{address.version}:{address.packed.hex()}"
    except ValueError:
        return None


def _compute_address(value: Value) -> Value | None:
    address = encode_address(value.key) if value.family == "string" else None
    return None if address is None else Value("string", address)


@lru_cache(4_096)
def parse_network(text: str) -> tuple[str, str] | None:
    """Return the first and the last address of a network, encoded by `encode_address`; None for other text."""
    try:
        network = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    first, last = (encode_address(str(end)) for end in (network.network_address, network.broadcast_address))
    assert first is not None
    assert last is not None
    return first, last


def _compute_in_networks(value: Value, *networks: Value) -> Value | None:
    address = _compute_address(value)
    ends = [parse_network(network.key) if network.family == "string" else None for network in networks]
    if address is None or None in ends:
        return None
    return Value("bool", int(any(first <= address.key <= last for first, last in ends)))  # type: ignore[misc]


# times


def _get_day_of_week(time: dt.datetime) -> int:
    """Return the day of the week, 0 for Sunday."""
    return time.isoweekday() % 7


DATE_PARTS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda time: time.year,
    "quarter": lambda time: (time.month + 2) // 3,
    "month": lambda time: time.month,
    "week": lambda time: time.isocalendar().week,
    "day": lambda time: time.day,
    "dow": _get_day_of_week,
    "isodow": lambda time: time.isoweekday(),
    "doy": lambda time: time.timetuple().tm_yday,
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
    "second": lambda time: time.second,
    "epoch": lambda time: (time - EPOCH) // dt.timedelta(seconds=1),
}


def _extract_date_part(part: Value, time: Value) -> Value | None:
    if time.family != "time" or part.family != "string" or part.key.lower() not in DATE_PARTS:
        return None
    try:
        return Value("number", DATE_PARTS[part.key.lower()](EPOCH + time.key // 1000 * MICROSECOND))
    except OverflowError:  # beyond year 9999
        return None


# comparisons, of values of one family


def _lift_comparison(compare: Callable[[Any, Any], bool]) -> Implementation:
    def apply_to_pair(left: Value, right: Value) -> Value | None:
        return Value("bool", int(compare(left.key, right.key))) if left.family == right.family else None

    return apply_to_pair


# casts

is_number_text = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
BOOL_BY_TEXT = {"true": 1, "t": 1, "yes": 1, "1": 1, "false": 0, "f": 0, "no": 0, "0": 0}
TYPE_BY_SQL_NAME: dict[str, str] = {
    "int": "int", "integer": "int", "bigint": "int", "smallint": "int",
    "float": "float", "double": "float", "real": "float",
    "string": "string", "varchar": "string", "text": "string", "char": "string",
    "bool": "bool", "boolean": "bool", "date": "date", "timestamp": "timestamp", "datetime": "timestamp",
}  # fmt: skip
"""Types of CAST by the names that SQL has for them."""

CAST_TYPES = tuple(dict.fromkeys(TYPE_BY_SQL_NAME.values()))


def _parse_number(text: str) -> int | float | None:
    text = text.strip()
    if len(text) > 400 or not is_number_text(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _cast(value: Value, kind: Value) -> Value | None:
    family, key = value
    if kind.key in ("int", "float"):
        number = _parse_number(key) if family == "string" else key if family in ("number", "bool") else None
        if number is None or not math.isfinite(number):
            return None
        return make_number(math.trunc(number) if kind.key == "int" else float(number))
    if kind.key == "string":
        return make_string(_format_key(family, key))
    if kind.key == "bool":
        number = BOOL_BY_TEXT.get(key.strip().lower()) if family == "string" else key if family != "time" else None
        return None if number is None else Value("bool", int(number != 0))
    if family == "string":
        try:
            key = to_nanoseconds(parse_time(key.strip()))
        except (ValueError, OverflowError):
            return None
    elif family != "time":
        return None
    return Value("time", key // DAY_NANOSECONDS * DAY_NANOSECONDS if kind.key == "date" else key)


def _format_key(family: Family, key: Any) -> str:
    """Return the text of a key, as CAST to string does."""
    if family == "bool":
        return "true" if key else "false"
    if family == "time":
        return str(to_datetime(key))
    return str(key)


def to_datetime(nanoseconds: int) -> Any:
    """Return the datetime of nanoseconds since 1970; a datetime64 if a datetime cannot represent it."""
    micros, rest = divmod(nanoseconds, 1000)
    try:
        time = EPOCH + micros * MICROSECOND
    except OverflowError:
        return np.datetime64(micros, "us")
    return np.datetime64(nanoseconds, "ns") if rest else time


FUNCTIONS: dict[str, Function] = {
    "+": Function(2, 2, "number", _lift_numeric(lambda a, b: a + b), "number"),
    "-": Function(1, 2, "number", _lift_numeric(_subtract_or_negate), "number"),
    "*": Function(2, 2, "number", _lift_numeric(lambda a, b: a * b), "number"),
    "/": Function(2, 2, "number", _lift_numeric(_divide), "number"),
    "%": Function(2, 2, "number", _lift_numeric(_compute_remainder), "number"),
    "||": Function(2, 2, "string", _concatenate, "string"),
    "=": Function(2, 2, None, _lift_comparison(lambda a, b: a == b)),
    "<>": Function(2, 2, None, _lift_comparison(lambda a, b: a != b)),
    "<": Function(2, 2, None, _lift_comparison(lambda a, b: a < b)),
    "<=": Function(2, 2, None, _lift_comparison(lambda a, b: a <= b)),
    ">": Function(2, 2, None, _lift_comparison(lambda a, b: a > b)),
    ">=": Function(2, 2, None, _lift_comparison(lambda a, b: a >= b)),
    "abs": Function(1, 1, "number", _lift_numeric(abs), "number"),
    "address": Function(1, 1, "string", _compute_address, "string"),
    "cast": Function(2, 2, None, _cast),
    "coalesce": Function(1, 100, None, lambda *values: values[0]),
    "date_part": Function(2, 2, "time", _extract_date_part, "number"),
    "in_networks": Function(2, limits.LIST_CONSTANTS_MAX, "string", _compute_in_networks, "bool"),
    "length": Function(1, 1, "string", _lift_string(len, make_number), "number"),
    "lower": Function(1, 1, "string", _lift_string(str.lower, make_string), "string"),
    "round": Function(1, 2, "number", _lift_numeric(_round), "number"),
    "substr": Function(2, 3, "string", _take_substring, "string"),
    "upper": Function(1, 1, "string", _lift_string(str.upper, make_string), "string"),
}
"""Functions by name. `coalesce` and `length` take whole lists of values: see `LIST_FUNCTIONS` in `computation.py`."""

BUILT_IN_NAMES = frozenset([*FUNCTIONS, LACKS])
FUNCTION_ALIASES = {"substring": "substr", "len": "length", "char_length": "length", "datepart": "date_part"}


def get_function(name: str, argument_count: int) -> Function:
    """Return the function of a name; raise ExpressionError for an unknown name or a wrong number of arguments."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise ExpressionError(_describe_unknown_function(name))
    least, most = function.min_arguments, function.max_arguments
    if not least <= argument_count <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise ExpressionError(f"{name} takes {expected} argument{'' if expected == '1' else 's'}, not {argument_count}")
    return function


def _describe_unknown_function(name: str) -> str:
    if name in ("now", "current_timestamp", "current_date", "today", "sysdate", "getdate"):
        return (
            f"there is no {name}(), because the time differs between events; compare an attribute with a TIMESTAMP, or "
            "send the current time with the event"
        )
    names = sorted(name for name in FUNCTIONS if name[0].isalpha())
    similar = find_similar(name, names)
    hint = f"did you mean {similar}?" if similar else f"the functions are {', '.join(names)}"
    return f"there is no function {name}; {hint}"
