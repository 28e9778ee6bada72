"""Does a regular expression match? By RE2, which is linear in the text whatever the pattern: it cannot hang."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from tellwhen.errors import ExpressionError


def make_options(memory: int = 8 << 20) -> Any:
    """RE2's options: no messages, no captures, and `memory` bytes for a compiled pattern."""
    chosen = re2.Options()
    chosen.log_errors = False
    chosen.never_capture = True
    chosen.max_mem = memory
    return chosen


@lru_cache(maxsize=64)  # each may take all the memory that `options` allows
def compile_pattern(pattern: str) -> Any:
    """The compiled pattern; raises ExpressionError where RE2 refuses it."""
    try:
        return re2.compile(pattern, make_options())
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ExpressionError(f"MATCHES takes an RE2 regular expression: {text}") from None


def has_match(pattern: str, text: str) -> bool:
    """Does the pattern match anywhere in the text?"""
    return compile_pattern(pattern).search(text) is not None
