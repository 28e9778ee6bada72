"""Regular expressions of MATCHES, by RE2, whose time is linear in the text for every pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from tellwhen.errors import ExpressionError, abbreviate


def make_options(memory_bytes: int = 8 << 20) -> Any:
    """Return RE2 options without messages and captures, with at most `memory_bytes` for a compiled pattern."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory_bytes
    return options


@lru_cache(maxsize=64)  # each pattern may take the memory that `make_options` allows
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern; raise ExpressionError if RE2 rejects it."""
    try:
        return re2.compile(pattern, make_options())
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ExpressionError(f"{abbreviate(pattern)} is not a regular expression: {_explain(text, pattern)}") from None


def _explain(reason: str, pattern: str) -> str:
    """Return the reason why RE2 rejects a pattern; name a feature of other libraries that RE2 does not have."""
    if reason.startswith("invalid perl operator: (?"):
        return "RE2 has no lookbehind" if "(?<" in reason else "RE2 has no lookahead"
    if re.fullmatch(r"invalid escape sequence: \\[1-9]", reason):
        return "RE2 has no backreferences"
    return reason.removesuffix(f": {pattern}")


def has_match(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in the text."""
    return compile_pattern(pattern).search(text) is not None
