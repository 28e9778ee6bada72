"""What must a string contain if a regular expression is to match it? Found without RE2, from what is written.

    MATCHES 'time ?out in .*s$'     "time", "out in "
    LIKE '%Rome%hotel_'             "Rome", "hotel"; that it ends one character behind it is not told

Whatever is not understood is left out: less is required then, and what is required is never too much.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tellwhen.compile.like_shapes import WHOLE_BEGIN, WHOLE_END

REPEAT = re.compile(r"\{\d+(,\d*)?\}")
CLASS = re.compile(r"\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\]", re.DOTALL)
PLAIN_ESCAPES = frozenset("dDwWsSbBAzafnrtv")
"""Letters that stand for characters or places behind a backslash, and are not followed by anything of theirs."""

NUL = r"\x00"
"""As RE2 quotes the character 0."""


class Required(NamedTuple):
    """What a string must contain, one behind the other, to match."""

    literals: list[str]
    is_all: bool
    """Is that everything? It matches whatever contains the one literal or, if `is_whole`, what has these in between."""
    is_whole: bool = False
    begins: bool = False
    """Must the string begin with the first literal?"""
    ends: bool = False
    """Must the string end with the last one?"""


def required(pattern: str) -> Required:
    """What the pattern requires."""
    is_whole = pattern.startswith(WHOLE_BEGIN) and pattern.endswith(WHOLE_END)
    inner = pattern[len(WHOLE_BEGIN) : -len(WHOLE_END)] if is_whole else pattern
    found = _Reading(inner).read()
    if found is None:
        return Required([], False)
    runs = ["".join(run) for run in found.runs]
    literals = [text for text in runs if text]
    if not is_whole:
        return Required(literals, found.is_plain and len(literals) == 1)
    is_all = found.is_stars and bool(literals)
    return Required(literals, is_all, True, bool(runs[0]), bool(runs[-1]))


class _Reading:
    """Goes through a regular expression once."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0
        self.runs: list[list[str]] = [[]]  # of literal characters
        self.is_plain = True  # nothing but literal characters
        self.is_stars = True  # and .* between them

    def read(self) -> _Reading | None:
        """Itself; None if it is beyond understanding."""
        while self._at < len(self._pattern):
            if not self._next(self._pattern[self._at]):
                return None
        return self

    def _next(self, character: str) -> bool:
        if character == "\\":
            return self._escape()
        if character == "[":
            found = CLASS.match(self._pattern, self._at)
            return found is not None and self._skip(found.end() - self._at)
        if character in "(|)":
            return False  # a group may hold anything, flags for the rest too
        if character == "." and self._pattern.startswith(".*", self._at) and self._is_end(self._at + 2):
            self.is_plain = False
            self.runs.append([])
            self._at += 2
            return True
        if character in ".^$":
            return self._skip(1)
        if character in "*?":
            return self._drop(1)
        if character == "+":
            return self._skip(1)
        if character == "{" and (repeat := REPEAT.match(self._pattern, self._at)) is not None:
            return self._drop(repeat.end() - self._at)
        return self._keep(character, 1)

    def _keep(self, character: str, length: int) -> bool:
        """A literal character; its spelling has this length."""
        self.runs[-1].append(character)
        self._at += length
        return True

    def _is_end(self, at: int) -> bool:
        """Is it no part of a longer quantifier?"""
        return self._pattern[at : at + 1] not in ("?", "+", "*", "{")

    def _escape(self) -> bool:
        if self._pattern.startswith(NUL, self._at):
            return self._keep("\0", len(NUL))
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter and letter in PLAIN_ESCAPES:
            return self._skip(2)
        if not letter or letter.isalnum():
            return False
        return self._keep(letter, 2)

    def _skip(self, length: int) -> bool:
        """Something that is no literal character."""
        self.is_plain = self.is_stars = False
        self.runs.append([])
        self._at += length
        return True

    def _drop(self, length: int) -> bool:
        """A quantifier: the character before it may be missing."""
        del self.runs[-1][-1:]
        return self._skip(length)
