"""Classification of LIKE patterns as equality, prefix, suffix or regular expression."""

from __future__ import annotations

from enum import Enum
from itertools import groupby

import re2

from tellwhen.language.like_patterns import Wildcard, parse_pattern

WHOLE_BEGIN, WHOLE_END = r"\A(?s:", r")\z"
"""Text before and after the regular expression of a LIKE pattern: match the whole string, and newlines with dots."""


def escape_regex(text: str) -> str:
    """Return the regular expression that matches exactly this text."""
    return re2.escape(text)


class LikeShape(Enum):
    """The simplest test that is equivalent to a LIKE pattern; WILD is a regular expression."""

    EQUAL, PREFIX, SUFFIX, WILD = range(4)


def classify_like(pattern: str, escape: str | None) -> tuple[LikeShape, str]:
    """Return the shape of a LIKE pattern with its literal text, or for WILD with its regular expression."""
    parts = parse_pattern(pattern, escape)
    text = "".join(part for part in parts if isinstance(part, str))
    wild = [i for i, part in enumerate(parts) if isinstance(part, Wildcard)]
    if not wild:
        return LikeShape.EQUAL, text
    if all(parts[i] is Wildcard.ANY for i in wild):
        if wild[0] == len(parts) - len(wild):
            return LikeShape.PREFIX, text
        if wild[-1] == len(wild) - 1:
            return LikeShape.SUFFIX, text
    pieces = []
    for wildcard, run in groupby(parts, key=lambda part: part if isinstance(part, Wildcard) else None):
        neighbors = list(run)
        if wildcard is None:
            pieces.append(escape_regex("".join(map(str, neighbors))))
        else:  # %% means the same as %, and costs RE2 more
            pieces.append(".*" if wildcard is Wildcard.ANY else "." * len(neighbors))
    return LikeShape.WILD, WHOLE_BEGIN + "".join(pieces) + WHOLE_END
