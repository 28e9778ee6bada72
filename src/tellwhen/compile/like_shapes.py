"""What does a LIKE pattern amount to? Equality, a prefix, a suffix, or a regular expression."""

from __future__ import annotations

from enum import Enum
from itertools import groupby

import re2

from tellwhen.language.like_patterns import Wildcard, parse_pattern

WHOLE_BEGIN, WHOLE_END = r"\A(?s:", r")\z"
"""Around the regular expression of a LIKE pattern, which fits the whole string, and whose dots are any characters."""


def quote(text: str) -> str:
    """The regular expression that finds exactly this text."""
    return re2.escape(text)


class Shape(Enum):
    """What a LIKE pattern amounts to: equality, a prefix, a suffix, or a regular expression."""

    EQUAL, PREFIX, SUFFIX, WILD = range(4)


def like_shape(pattern: str, escape: str | None) -> tuple[Shape, str]:
    """The shape of a LIKE pattern with its text, or with its regular expression."""
    parts = parse_pattern(pattern, escape)
    text = "".join(part for part in parts if isinstance(part, str))
    wild = [i for i, part in enumerate(parts) if isinstance(part, Wildcard)]
    if not wild:
        return Shape.EQUAL, text
    if all(parts[i] is Wildcard.ANY for i in wild):
        if wild[0] == len(parts) - len(wild):
            return Shape.PREFIX, text
        if wild[-1] == len(wild) - 1:
            return Shape.SUFFIX, text
    pieces = []
    for wildcard, together in groupby(parts, key=lambda part: part if isinstance(part, Wildcard) else None):
        some = list(together)
        if wildcard is None:
            pieces.append(quote("".join(map(str, some))))
        else:  # %% means the same as %, and costs RE2 more
            pieces.append(".*" if wildcard is Wildcard.ANY else "." * len(some))
    return Shape.WILD, WHOLE_BEGIN + "".join(pieces) + WHOLE_END
