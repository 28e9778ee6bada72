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
from tellwhen.language.times import DAY, EPOCH, MICROSECOND, moment, nanoseconds
from tellwhen.language.values import Family, Value

Run = Callable[..., Value | None]


class Function(NamedTuple):
    """How many arguments it takes, and of which family where that is fixed; and what it does with one value of each."""

    least: int
    most: int
    takes: Family | None
    run: Run
    gives: Family | None = None
    """The family of its results, where that is fixed."""
    is_own: bool = False
    """Was it registered by the user?"""


def number(key: int | float) -> Value | None:
    """A result; None if it is beyond what the language has."""
    if type(key) is int:
        return Value("number", key) if -limits.INTEGER <= key <= limits.INTEGER else None
    return Value("number", key) if math.isfinite(key) else None


def string(key: str) -> Value | None:
    return Value("string", key) if len(key) <= limits.COMPUTED else None


# numbers


def _of_numbers(compute: Callable[..., int | float | None]) -> Run:
    """A function that is undefined where an argument is no number, or where it returns None."""

    def run(*values: Value) -> Value | None:
        if any([value.family != "number" for value in values]):
            return None
        key = compute(*[value.key for value in values])
        return None if key is None else number(key)

    return run


def _minus(a: Any, b: Any = None) -> Any:
    return -a if b is None else a - b


def _divided(a: Any, b: Any) -> float | None:
    """A double, also of two integers."""
    return None if b == 0 else float(a) / float(b)


def _remainder(a: Any, b: Any) -> int | float | None:
    """With the sign of the dividend, as in SQL."""
    if b == 0 or math.isinf(a):
        return None
    if type(a) is int and type(b) is int:
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return math.fmod(a, b)


def _rounded(a: Any, digits: Any = 0) -> int | float | None:
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


def _of_string(compute: Callable[[str], Any], result: Callable[[Any], Value | None]) -> Run:
    def run(value: Value) -> Value | None:
        return result(compute(value.key)) if value.family == "string" else None

    return run


def _joined(one: Value, other: Value) -> Value | None:
    return string(one.key + other.key) if one.family == other.family == "string" else None


def _substring(text: Value, first: Value, length: Value | None = None) -> Value | None:
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


def address(text: str) -> str | None:
    """The version of an IP address, and its hexadecimal digits: their order is that of addresses."""
    try:
        found = ipaddress.ip_address(text.strip())
        return f"{found.version}:{found.packed.hex()}"
    except ValueError:
        return None


def _address(value: Value) -> Value | None:
    found = address(value.key) if value.family == "string" else None
    return None if found is None else Value("string", found)


@lru_cache(4_096)
def network(text: str) -> tuple[str, str] | None:
    """The first and the last address of a network, as `address` writes them."""
    try:
        found = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    first, last = (address(str(end)) for end in (found.network_address, found.broadcast_address))
    assert first is not None
    assert last is not None
    return first, last


def _in_networks(value: Value, *networks: Value) -> Value | None:
    own = _address(value)
    ends = [network(one.key) if one.family == "string" else None for one in networks]
    if own is None or None in ends:
        return None
    return Value("bool", int(any(first <= own.key <= last for first, last in ends)))  # type: ignore[misc]


# times


def _week_day(at: dt.datetime) -> int:
    """Sunday is 0."""
    return at.isoweekday() % 7


PARTS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "week": lambda at: at.isocalendar().week,
    "day": lambda at: at.day,
    "dow": _week_day,
    "isodow": lambda at: at.isoweekday(),
    "doy": lambda at: at.timetuple().tm_yday,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "epoch": lambda at: (at - EPOCH) // dt.timedelta(seconds=1),
}


def _date_part(part: Value, at: Value) -> Value | None:
    if at.family != "time" or part.family != "string" or part.key.lower() not in PARTS:
        return None
    try:
        return Value("number", PARTS[part.key.lower()](EPOCH + at.key // 1000 * MICROSECOND))
    except OverflowError:  # beyond year 9999
        return None


# comparisons, of values of one family


def _compared(holds: Callable[[Any, Any], bool]) -> Run:
    def run(one: Value, other: Value) -> Value | None:
        return Value("bool", int(holds(one.key, other.key))) if one.family == other.family else None

    return run


# casts

NUMERIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
TRUTHS = {"true": 1, "t": 1, "yes": 1, "1": 1, "false": 0, "f": 0, "no": 0, "0": 0}
KINDS: dict[str, str] = {
    "int": "int", "integer": "int", "bigint": "int", "smallint": "int",
    "float": "float", "double": "float", "real": "float",
    "string": "string", "varchar": "string", "text": "string", "char": "string",
    "bool": "bool", "boolean": "bool", "date": "date", "timestamp": "timestamp", "datetime": "timestamp",
}  # fmt: skip
"""Types to cast to, by the names that SQL has for them."""

TYPES = tuple(dict.fromkeys(KINDS.values()))


def _number_in(text: str) -> int | float | None:
    text = text.strip()
    if len(text) > 400 or not NUMERIC(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _cast(value: Value, kind: Value) -> Value | None:
    family, key = value
    if kind.key in ("int", "float"):
        found = _number_in(key) if family == "string" else key if family in ("number", "bool") else None
        if found is None or not math.isfinite(found):
            return None
        return number(math.trunc(found) if kind.key == "int" else float(found))
    if kind.key == "string":
        return string(_written(family, key))
    if kind.key == "bool":
        found = TRUTHS.get(key.strip().lower()) if family == "string" else key if family != "time" else None
        return None if found is None else Value("bool", int(found != 0))
    if family == "string":
        try:
            key = nanoseconds(moment(key.strip()))
        except (ValueError, OverflowError):
            return None
    elif family != "time":
        return None
    return Value("time", key // DAY * DAY if kind.key == "date" else key)


def _written(family: Family, key: Any) -> str:
    if family == "bool":
        return "true" if key else "false"
    if family == "time":
        return str(moment_of(key))
    return str(key)


def moment_of(key: int) -> Any:
    """A time as Python has it, given its nanoseconds since 1970."""
    micros, rest = divmod(key, 1000)
    try:
        at = EPOCH + micros * MICROSECOND
    except OverflowError:
        return np.datetime64(micros, "us")
    return np.datetime64(key, "ns") if rest else at


FUNCTIONS: dict[str, Function] = {
    "+": Function(2, 2, "number", _of_numbers(lambda a, b: a + b), "number"),
    "-": Function(1, 2, "number", _of_numbers(_minus), "number"),
    "*": Function(2, 2, "number", _of_numbers(lambda a, b: a * b), "number"),
    "/": Function(2, 2, "number", _of_numbers(_divided), "number"),
    "%": Function(2, 2, "number", _of_numbers(_remainder), "number"),
    "||": Function(2, 2, "string", _joined, "string"),
    "=": Function(2, 2, None, _compared(lambda a, b: a == b)),
    "<>": Function(2, 2, None, _compared(lambda a, b: a != b)),
    "<": Function(2, 2, None, _compared(lambda a, b: a < b)),
    "<=": Function(2, 2, None, _compared(lambda a, b: a <= b)),
    ">": Function(2, 2, None, _compared(lambda a, b: a > b)),
    ">=": Function(2, 2, None, _compared(lambda a, b: a >= b)),
    "abs": Function(1, 1, "number", _of_numbers(abs), "number"),
    "address": Function(1, 1, "string", _address, "string"),
    "cast": Function(2, 2, None, _cast),
    "coalesce": Function(1, 100, None, lambda *values: values[0]),
    "date_part": Function(2, 2, "time", _date_part, "number"),
    "in_networks": Function(2, limits.MEMBERS, "string", _in_networks, "bool"),
    "length": Function(1, 1, "string", _of_string(len, number), "number"),
    "lower": Function(1, 1, "string", _of_string(str.lower, string), "string"),
    "round": Function(1, 2, "number", _of_numbers(_rounded), "number"),
    "substr": Function(2, 3, "string", _substring, "string"),
    "upper": Function(1, 1, "string", _of_string(str.upper, string), "string"),
}
"""By name. `coalesce` and `length` see whole lists of values: `compute.py` has them."""

BUILT_IN = frozenset([*FUNCTIONS, LACKS])
ALIASES = {"substring": "substr", "len": "length", "char_length": "length", "datepart": "date_part"}


def check_call(function: str, args: int) -> Function:
    """The function of this name; raises ExpressionError if there is none, or if it takes more or fewer arguments."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise ExpressionError(_unknown(function))
    if not found.least <= args <= found.most:
        wanted = str(found.least) if found.least == found.most else f"{found.least} to {found.most}"
        raise ExpressionError(f"{function} takes {wanted} argument{'' if wanted == '1' else 's'}, not {args}")
    return found


def _unknown(function: str) -> str:
    if function in ("now", "current_timestamp", "current_date", "today", "sysdate", "getdate"):
        return (
            f"there is no {function}(): a subscription stands for a long time, and events carry their own; compare an "
            "attribute with a TIMESTAMP, or send the current time with the event"
        )
    named = sorted(name for name in FUNCTIONS if name[0].isalpha())
    similar = find_similar(function, named)
    hint = f"did you mean {similar}?" if similar else f"there are {', '.join(named)}"
    return f"there is no function {function}; {hint}"
