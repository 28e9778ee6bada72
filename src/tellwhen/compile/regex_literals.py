"""Required text of a regular expression: the literals that every matching string contains.

    MATCHES 'time ?out in .*s$'     "time", "out in ", "s"
    LIKE '%Rome%hotel_'             "Rome", "hotel"; that one more character follows is not part of the result

The pattern is read without RE2. Syntax that is not understood is left out, so the result may have too few literals, but
never a wrong one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tellwhen.compile.like_shapes import WHOLE_BEGIN, WHOLE_END

REPEAT = re.compile(r"\{\d+(,\d*)?\}")
CLASS = re.compile(r"\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\]", re.DOTALL)
PLAIN_ESCAPES = frozenset("dDwWsSbBAzafnrtv")
"""Letters that with a backslash before them are a complete escape for a class of characters or a position."""

NUL = r"\x00"
"""The escape that RE2 writes for the character 0."""


class RequiredText(NamedTuple):
    """Literals that a string must contain to match, in this order and without overlaps."""

    literals: list[str]
    is_complete: bool
    """Whether nothing else is required. If not `is_anchored`, there is one literal then."""
    is_anchored: bool = False
    """Whether the pattern must match the whole string, as LIKE does."""
    has_prefix: bool = False
    """Whether the string must begin with the first literal."""
    has_suffix: bool = False
    """Whether the string must end with the last literal."""


def find_required_text(pattern: str) -> RequiredText:
    """Return the literals that every string contains which the regular expression matches."""
    is_anchored = pattern.startswith(WHOLE_BEGIN) and pattern.endswith(WHOLE_END)
    inner = pattern[len(WHOLE_BEGIN) : -len(WHOLE_END)] if is_anchored else pattern
    reader = _PatternReader(inner)
    if not reader.collect_runs():
        return RequiredText([], False)
    runs = ["".join(run) for run in reader.runs]
    literals = [text for text in runs if text]
    if not is_anchored:
        return RequiredText(literals, reader.is_plain and len(literals) == 1)
    is_complete = reader.has_only_stars and bool(literals)
    return RequiredText(literals, is_complete, True, bool(runs[0]), bool(runs[-1]))


class _PatternReader:
    """Reader of a regular expression that collects runs of literal characters."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0
        self.runs: list[list[str]] = [[]]
        self.is_plain = True  # whether there are only literal characters
        self.has_only_stars = True  # whether there are only literal characters and .*

    def collect_runs(self) -> bool:
        """Read the whole pattern and collect its runs; return False if it has syntax that is not understood."""
        while self._at < len(self._pattern):
            if not self._read_next(self._pattern[self._at]):
                return False
        return True

    def _read_next(self, character: str) -> bool:
        if character == "\\":
            return self._read_escape()
        if character == "[":
            found = CLASS.match(self._pattern, self._at)
            return found is not None and self._skip(found.end() - self._at)
        if character in "(|)":
            return False  # a group may contain anything, even flags for the rest of the pattern
        if character == "." and self._pattern.startswith(".*", self._at) and self._is_unquantified(self._at + 2):
            self.is_plain = False
            self.runs.append([])
            self._at += 2
            return True
        if character in ".^$":
            return self._skip(1)
        if character in "*?":
            return self._drop_quantified_literal(1)
        if character == "+":
            return self._skip(1)
        if character == "{" and (repeat := REPEAT.match(self._pattern, self._at)) is not None:
            return self._drop_quantified_literal(repeat.end() - self._at)
        return self._append(character, 1)

    def _append(self, character: str, length: int) -> bool:
        """Append a literal character to the current run. Its spelling in the pattern has `length` characters."""
        self.runs[-1].append(character)
        self._at += length
        return True

    def _is_unquantified(self, at: int) -> bool:
        """Return whether no quantifier begins at this position."""
        return self._pattern[at : at + 1] not in ("?", "+", "*", "{")

    def _read_escape(self) -> bool:
        if self._pattern.startswith(NUL, self._at):
            return self._append("\0", len(NUL))
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter and letter in PLAIN_ESCAPES:
            return self._skip(2)
        if not letter or letter.isalnum():
            return False
        return self._append(letter, 2)

    def _skip(self, length: int) -> bool:
        """Skip `length` characters of the pattern that are no literal character, and begin a new run."""
        self.is_plain = self.has_only_stars = False
        self.runs.append([])
        self._at += length
        return True

    def _drop_quantified_literal(self, quantifier_length: int) -> bool:
        """Skip a quantifier, and drop the literal character before it, which may be absent from the string."""
        del self.runs[-1][-1:]
        return self._skip(quantifier_length)
