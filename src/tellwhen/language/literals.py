"""Names and constants as text, and which names need quotes."""

from __future__ import annotations

import datetime as dt
import re
from typing import assert_never

from tellwhen.language.times import format_time
from tellwhen.language.values import Constant

NAME_PATTERN = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
is_plain_name = re.compile(NAME_PATTERN).fullmatch
RESERVED_KEYWORDS = frozenset(
    ["AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"]
)
"""Keywords that need quotes to be names."""

COMPUTED_PREFIX = "\0"
CONDITION_PREFIX = COMPUTED_PREFIX + COMPUTED_PREFIX
"""What the names of computed attributes begin with (`terms.py`), and of those that are conditions: comparisons of two
terms, and `items[...]`. Users' names contain no NUL."""


def format_name(name: str) -> str:
    """The name of an attribute, in quotes where it would not parse without; of a computed one, its term."""
    if name[:1] == COMPUTED_PREFIX:
        return get_display_name(name)
    if is_plain_name(name) and name.upper() not in RESERVED_KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


LACKS_PATTERN = re.compile(r"lacks\((.*), '(\w+)'\)")


def get_display_name(name: str) -> str:
    """The name of an attribute as users know it, without quotes; of a computed one, its term. What `HAS` needs to know
    is no term that a user can write, so it is said in words."""
    text = name.lstrip(COMPUTED_PREFIX)
    if name[:1] == COMPUTED_PREFIX and (found := LACKS_PATTERN.fullmatch(text)):
        return f"no {found[2]} in {found[1]}"
    return text


def format_constant(value: Constant) -> str:
    """A constant as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.date):
        return format_time(value)
    assert_never(value)
