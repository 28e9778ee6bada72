"""What can be computed? Functions of single values; each returns None where it is undefined.

Integers stay integers, exact up to the limit of the language and undefined beyond it; once a double takes part, the
result is the double that IEEE 754 says, and undefined where that is infinite or not a number.
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
    """How many arguments it takes, and of which family where that is fixed; and what it does with one value of each."""

    min_arguments: int
    max_arguments: int
    argument_family: Family | None
    run: Implementation
    result_family: Family | None = None
    """The family of its results, where that is fixed."""
    is_user_defined: bool = False
    """Was it registered by the user?"""


def make_number(key: int | float) -> Value | None:
    """A result; None if it is beyond what the language has."""
    if type(key) is int:
        return Value("number", key) if -limits.INTEGER_MAX <= key <= limits.INTEGER_MAX else None
    return Value("number", key) if math.isfinite(key) else None


def make_string(key: str) -> Value | None:
    return Value("string", key) if len(key) <= limits.COMPUTED_CHARACTERS_MAX else None


# numbers


def _lift_numeric(compute: Callable[..., int | float | None]) -> Implementation:
    """A function that is undefined where an argument is no number, or where it returns None."""

    def run(*values: Value) -> Value | None:
        if any([value.family != "number" for value in values]):
            return None
        key = compute(*[value.key for value in values])
        return None if key is None else make_number(key)

    return run


def _subtract_or_negate(a: Any, b: Any = None) -> Any:
    return -a if b is None else a - b


def _divide(a: Any, b: Any) -> float | None:
    """A double, also of two integers."""
    return None if b == 0 else float(a) / float(b)


def _compute_remainder(a: Any, b: Any) -> int | float | None:
    """With the sign of the dividend, as in SQL."""
    if b == 0 or math.isinf(a):
        return None
    if type(a) is int and type(b) is int:
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return math.fmod(a, b)


def _round(a: Any, digits: Any = 0) -> int | float | None:
    """Rounded to some digits behind the point; halves away from zero, as in SQL."""
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


def _lift_string(compute: Callable[[str], Any], result: Callable[[Any], Value | None]) -> Implementation:
    def run(value: Value) -> Value | None:
        return result(compute(value.key)) if value.family == "string" else None

    return run


def _concatenate(one: Value, other: Value) -> Value | None:
    return make_string(one.key + other.key) if one.family == other.family == "string" else None


def _take_substring(text: Value, first: Value, length: Value | None = None) -> Value | None:
    """From position 1 on; a negative position counts from the end."""
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
    """The version of an IP address, and its hexadecimal digits: their order is that of addresses."""
    try:
        found = ipaddress.ip_address(text.strip())
        return f"{found.version}:{found.packed.hex()}"
    except ValueError:
        return None


def _compute_address(value: Value) -> Value | None:
    found = encode_address(value.key) if value.family == "string" else None
    return None if found is None else Value("string", found)


@lru_cache(4_096)
def parse_network(text: str) -> tuple[str, str] | None:
    """The first and the last address of a network, as `address` writes them."""
    try:
        found = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    first, last = (encode_address(str(end)) for end in (found.network_address, found.broadcast_address))
    assert first is not None
    assert last is not None
    return first, last


def _compute_in_networks(value: Value, *networks: Value) -> Value | None:
    own = _compute_address(value)
    ends = [parse_network(one.key) if one.family == "string" else None for one in networks]
    if own is None or None in ends:
        return None
    return Value("bool", int(any(first <= own.key <= last for first, last in ends)))  # type: ignore[misc]


# times


def _get_day_of_week(at: dt.datetime) -> int:
    """Sunday is 0."""
    return at.isoweekday() % 7


DATE_PARTS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "week": lambda at: at.isocalendar().week,
    "day": lambda at: at.day,
    "dow": _get_day_of_week,
    "isodow": lambda at: at.isoweekday(),
    "doy": lambda at: at.timetuple().tm_yday,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "epoch": lambda at: (at - EPOCH) // dt.timedelta(seconds=1),
}


def _extract_date_part(part: Value, at: Value) -> Value | None:
    if at.family != "time" or part.family != "string" or part.key.lower() not in DATE_PARTS:
        return None
    try:
        return Value("number", DATE_PARTS[part.key.lower()](EPOCH + at.key // 1000 * MICROSECOND))
    except OverflowError:  # beyond year 9999
        return None


# comparisons, of values of one family


def _lift_comparison(holds: Callable[[Any, Any], bool]) -> Implementation:
    def run(one: Value, other: Value) -> Value | None:
        return Value("bool", int(holds(one.key, other.key))) if one.family == other.family else None

    return run


# casts

is_number_text = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
BOOL_BY_TEXT = {"true": 1, "t": 1, "yes": 1, "1": 1, "false": 0, "f": 0, "no": 0, "0": 0}
TYPE_BY_SQL_NAME: dict[str, str] = {
    "int": "int", "integer": "int", "bigint": "int", "smallint": "int",
    "float": "float", "double": "float", "real": "float",
    "string": "string", "varchar": "string", "text": "string", "char": "string",
    "bool": "bool", "boolean": "bool", "date": "date", "timestamp": "timestamp", "datetime": "timestamp",
}  # fmt: skip
"""Types to cast to, by the names that SQL has for them."""

CAST_TYPES = tuple(dict.fromkeys(TYPE_BY_SQL_NAME.values()))


def _parse_number(text: str) -> int | float | None:
    text = text.strip()
    if len(text) > 400 or not is_number_text(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _cast(value: Value, kind: Value) -> Value | None:
    family, key = value
    if kind.key in ("int", "float"):
        found = _parse_number(key) if family == "string" else key if family in ("number", "bool") else None
        if found is None or not math.isfinite(found):
            return None
        return make_number(math.trunc(found) if kind.key == "int" else float(found))
    if kind.key == "string":
        return make_string(_format_key(family, key))
    if kind.key == "bool":
        found = BOOL_BY_TEXT.get(key.strip().lower()) if family == "string" else key if family != "time" else None
        return None if found is None else Value("bool", int(found != 0))
    if family == "string":
        try:
            key = to_nanoseconds(parse_time(key.strip()))
        except (ValueError, OverflowError):
            return None
    elif family != "time":
        return None
    return Value("time", key // DAY_NANOSECONDS * DAY_NANOSECONDS if kind.key == "date" else key)


def _format_key(family: Family, key: Any) -> str:
    if family == "bool":
        return "true" if key else "false"
    if family == "time":
        return str(to_datetime(key))
    return str(key)


def to_datetime(key: int) -> Any:
    """A time as Python has it, given its nanoseconds since 1970."""
    micros, rest = divmod(key, 1000)
    try:
        at = EPOCH + micros * MICROSECOND
    except OverflowError:
        return np.datetime64(micros, "us")
    return np.datetime64(key, "ns") if rest else at


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
"""By name. `coalesce` and `length` see whole lists of values: `compute.py` has them."""

BUILT_IN_NAMES = frozenset([*FUNCTIONS, LACKS])
FUNCTION_ALIASES = {"substring": "substr", "len": "length", "char_length": "length", "datepart": "date_part"}


def get_function(function: str, args: int) -> Function:
    """The function of this name; raises ExpressionError if there is none, or if it takes more or fewer arguments."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise ExpressionError(_describe_unknown_function(function))
    if not found.min_arguments <= args <= found.max_arguments:
        wanted = (
            str(found.min_arguments)
            if found.min_arguments == found.max_arguments
            else f"{found.min_arguments} to {found.max_arguments}"
        )
        raise ExpressionError(f"{function} takes {wanted} argument{'' if wanted == '1' else 's'}, not {args}")
    return found


def _describe_unknown_function(function: str) -> str:
    if function in ("now", "current_timestamp", "current_date", "today", "sysdate", "getdate"):
        return (
            f"there is no {function}(): a subscription stands for a long time, and events carry their own; compare an "
            "attribute with a TIMESTAMP, or send the current time with the event"
        )
    named = sorted(name for name in FUNCTIONS if name[0].isalpha())
    similar = find_similar(function, named)
    hint = f"did you mean {similar}?" if similar else f"there are {', '.join(named)}"
    return f"there is no function {function}; {hint}"
