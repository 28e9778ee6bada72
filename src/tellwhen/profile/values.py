"""How is a value written, so that equal values have equal texts and hashes; and what does a text stand for?

A text is a letter for the family and then the value: n1, n0.5, sred, b1, t0. Whole numbers are written as integers,
times in microseconds since 1970 in UTC.
"""

from __future__ import annotations

import datetime as dt
from hashlib import blake2b
from typing import Any

from tellwhen.lang import limits
from tellwhen.lang.times import EPOCH
from tellwhen.lang.values import Family, reduce

LONG = 200
"""Characters of a string that are kept; a longer one goes on with its hash."""

FAMILIES: dict[str, Family] = {"b": "bool", "n": "number", "s": "string", "t": "time"}


def text_of(value: Any) -> str | None:
    """None for what is of no family."""
    kind = type(value)
    if kind is str and len(value) <= LONG and value.isascii():  # the plain cases first
        return "s" + value
    if kind is int and -limits.INTEGER <= value <= limits.INTEGER:
        return f"n{value}"
    if kind is float and value == value:
        return f"n{int(value) if abs(value) < limits.INTEGER and value.is_integer() else value}"
    reduced = reduce(value)
    if reduced is None:
        return None
    family, key = reduced
    if family == "number":
        return text_of(key)  # now an int in range, or a float
    if family == "time":
        key //= 1000
    elif family == "string" and len(key) > LONG:
        key = f"{key[:LONG]}…{hash_of(key).hex()}"
    return f"{family[0]}{key}"


def value_of(text: str) -> Any:
    """A time is a datetime, or microseconds where it is beyond year 9999."""
    family, rest = FAMILIES[text[0]], text[1:]
    if family == "string":
        return rest
    if family == "bool":
        return rest == "1"
    number = number_of(text)
    try:
        return EPOCH + dt.timedelta(microseconds=number) if family == "time" else number
    except OverflowError:
        return number


def number_of(text: str) -> float:
    """Of the text of a number or a time."""
    try:
        return int(text[1:])
    except ValueError:
        return float(text[1:])


def hash_of(text: str) -> bytes:
    """Eight bytes; Python's own hash of a string differs from process to process."""
    return blake2b(text.encode(), digest_size=8).digest()
