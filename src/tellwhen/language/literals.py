"""The text of names and constants, and the quotes that names need."""

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
"""Keywords that can be names only in double quotes."""

COMPUTED_PREFIX = "\0"
CONDITION_PREFIX = COMPUTED_PREFIX + COMPUTED_PREFIX
"""Prefixes of the names of computed attributes (`terms.py`).

`CONDITION_PREFIX` marks Boolean ones: comparisons of two terms, and `items[...]`. Names of users contain no NUL.
"""


def format_name(name: str) -> str:
    """Return the name of an attribute as text that parses: quoted if needed; for a computed attribute, its term."""
    if name[:1] == COMPUTED_PREFIX:
        return get_display_name(name)
    if is_plain_name(name) and name.upper() not in RESERVED_KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


LACKS_PATTERN = re.compile(r"lacks\((.*), '(\w+)'\)")


def get_display_name(name: str) -> str:
    """Return the name of an attribute for messages: without quotes; for a computed attribute, its term.

    Users cannot write a call of `lacks`, so it is paraphrased.
    """
    text = name.lstrip(COMPUTED_PREFIX)
    if name[:1] == COMPUTED_PREFIX and (found := LACKS_PATTERN.fullmatch(text)):
        return f"no {found[2]} in {found[1]}"
    return text


def format_constant(value: Constant) -> str:
    """Return a constant as a literal of the language."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.date):
        return format_time(value)
    assert_never(value)
