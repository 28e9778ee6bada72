"""Names and constants as text, and which names need quotes."""

from __future__ import annotations

import datetime as dt
import re
from typing import assert_never

from tellwhen.language.times import time_text
from tellwhen.language.values import Constant

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
IS_NAME = re.compile(NAME).fullmatch
RESERVED = frozenset(["AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"])
"""Keywords that need quotes to be names."""

MARK = "\0"
CONDITION = MARK + MARK
"""What the names of computed attributes begin with (`terms.py`), and of those that are conditions: comparisons of two
terms, and `items[...]`. Users' names contain no NUL."""


def name_text(name: str) -> str:
    """The name of an attribute, in quotes where it would not parse without; of a computed one, its term."""
    if name[:1] == MARK:
        return shown_name(name)
    if IS_NAME(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


LACKING = re.compile(r"lacks\((.*), '(\w+)'\)")


def shown_name(name: str) -> str:
    """The name of an attribute as users know it, without quotes; of a computed one, its term. What `HAS` needs to know
    is no term that a user can write, so it is said in words."""
    text = name.lstrip(MARK)
    if name[:1] == MARK and (found := LACKING.fullmatch(text)):
        return f"no {found[2]} in {found[1]}"
    return text


def constant_text(value: Constant) -> str:
    """A constant as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.date):
        return time_text(value)
    assert_never(value)
