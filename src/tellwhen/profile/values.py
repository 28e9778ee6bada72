"""Encode values as texts, so that equal values have equal texts and hashes, and decode them.

A text is a letter for the family and then the value: n1, n0.5, sred, b1, t0. Whole numbers are written as integers,
times in microseconds since 1970 in UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import U64
from tellwhen.language import limits
from tellwhen.language.times import EPOCH
from tellwhen.language.values import Family, normalize_value

LENGTH_MAX = 200
"""Characters of a string in a text, at most; a hash replaces the rest of a longer string."""

FAMILIES: dict[str, Family] = {"b": "bool", "n": "number", "s": "string", "t": "time"}


def encode_value(value: Any) -> str | None:
    """Return the text of a value, or None for a value of no family."""
    kind = type(value)
    if kind is str and len(value) <= LENGTH_MAX and value.isascii():  # the common cases first
        return "s" + value
    if kind is int and -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX:
        return f"n{value}"
    if kind is float and value == value:
        return f"n{int(value) if abs(value) < limits.INTEGER_MAX and value.is_integer() else value}"
    reduced = normalize_value(value)
    if reduced is None:
        return None
    family, key = reduced
    if family == "number":
        return encode_value(key)  # now an int in range, or a float
    if family == "time":
        key //= 1000
    elif family == "string" and len(key) > LENGTH_MAX:
        key = f"{key[:LENGTH_MAX]}…{hash_text(key).hex()}"
    return f"{family[0]}{key}"


def decode_value(text: str) -> Any:
    """Decode the text of a value. A time becomes a datetime or, after the year 9999, an int of microseconds."""
    family, rest = FAMILIES[text[0]], text[1:]
    if family == "string":
        return rest
    if family == "bool":
        return rest == "1"
    number = parse_number(text)
    try:
        return EPOCH + dt.timedelta(microseconds=number) if family == "time" else number
    except OverflowError:
        return number


def parse_number(text: str) -> float:
    """Return the number in the text of a number or a time."""
    try:
        return int(text[1:])
    except ValueError:
        return float(text[1:])


def hash_text(text: str) -> bytes:
    """Return a hash of eight bytes, which is the same in every process, unlike Python's own hash of a string."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def convert_hashes(hashes: Iterable[bytes]) -> U64:
    """Return hashes as an array of integers in the same order."""
    return np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64)
