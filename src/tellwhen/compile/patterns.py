"""Which of an attribute's patterns does a string match? RE2 tries all of them together, once per distinct string."""

from __future__ import annotations

from typing import Any

import re2

from tellwhen.lang.like import Wild, tokens
from tellwhen.lang.patterns import compiled, options

SET_MEMORY = 256 << 20


class Patterns:
    """The CONTAINS, MATCHES and wild LIKE patterns of one attribute; each has a Boolean line."""

    __slots__ = ("_set", "_size", "lines", "zeros")

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.zeros: set[int] = set()  # lines on which some subscription asks for 0: did not match
        self._set: Any = None
        self._size = 0

    def points(self, text: str) -> list[tuple[int, int]]:
        """(line, 1) for every pattern that matches, and (line, 0) where a subscription waits for that."""
        known = list(self.lines.items())  # one moment of it: another thread may be adding patterns
        found = [(known[i][1], 1) for i in self._matched(text) if i < len(known)]
        if self.zeros:
            hit = {line for line, _ in found}
            found += [(line, 0) for line in sorted(self.zeros) if line not in hit]
        return found

    def _matched(self, text: str) -> list[int]:
        patterns = list(self.lines)
        if self._size != len(patterns) or self._set is None:
            self._compile(patterns)
        matches = self._set.Match(text) or []
        # The empty pattern, added last, matches everything. Without it the set ran out of memory and said nothing:
        # then every pattern is tried alone, slower but always answered.
        if self._size in matches:
            return sorted(i for i in matches if i != self._size)
        return [i for i, pattern in enumerate(patterns) if compiled(pattern).search(text)]

    def _compile(self, patterns: list[str]) -> None:
        fresh = re2.Set.SearchSet(options(SET_MEMORY))
        for pattern in patterns:
            fresh.Add(pattern)
        fresh.Add("")
        fresh.Compile()
        self._set, self._size = fresh, len(patterns)

    def trimmed(self, used: set[int]) -> Patterns:
        """Only the patterns whose lines are in use."""
        after = Patterns()
        after.lines = {pattern: line for pattern, line in self.lines.items() if line in used}
        after.zeros = self.zeros & used
        return after


def containing(part: str) -> str:
    """The pattern of CONTAINS."""
    return quote(part)


def quote(text: str) -> str:
    """The text as a literal for RE2."""
    return re2.escape(text)


class Shape:
    """What a LIKE pattern boils down to."""

    EQUAL, PREFIX, SUFFIX, WILD = range(4)


def like_shape(pattern: str, escape: str | None) -> tuple[int, str]:
    """A shape and its literal text, or the regular expression of a wild one."""
    parts = tokens(pattern, escape)
    text = "".join(part for part in parts if isinstance(part, str))
    wild = [i for i, part in enumerate(parts) if isinstance(part, Wild)]
    if not wild:
        return Shape.EQUAL, text
    if all(parts[i] is Wild.ANY for i in wild):
        if wild[0] == len(parts) - len(wild):
            return Shape.PREFIX, text
        if wild[-1] == len(wild) - 1:
            return Shape.SUFFIX, text
    pieces = [".*" if part is Wild.ANY else "." if part is Wild.ONE else quote(str(part)) for part in parts]
    # %% asks no more than %, and costs RE2 more.
    pieces = [piece for i, piece in enumerate(pieces) if i == 0 or (piece, pieces[i - 1]) != (".*", ".*")]
    return Shape.WILD, rf"\A(?s:{''.join(pieces)})\z"
