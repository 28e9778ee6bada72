"""Which of an attribute's patterns does a string match? RE2 tries all of them together, once per distinct string."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import re2

from tellwhen.lang.like import Wild, tokens
from tellwhen.lang.patterns import found, options

SET_MEMORY = 256 << 20
"""Bytes that RE2 may use for the patterns of one attribute."""


class Patterns:
    """The CONTAINS, MATCHES and wild LIKE patterns of one attribute; each has a Boolean domain."""

    __slots__ = ("_compiled", "domains", "zeros")

    def __init__(self) -> None:
        self.domains: dict[str, int] = {}
        self.zeros: set[int] = set()  # domains on which some subscription needs the point 0: no match
        self._compiled: _Compiled | None = None

    def points(self, text: str) -> list[tuple[int, int]]:
        """(domain, 1) for every pattern that matches; (domain, 0) for others, where some subscription needs it."""
        # Each read once: another thread may be adding patterns, or undoing that.
        compiled, domains = self._compiled, self.domains
        if compiled is None or compiled.source is not domains or len(compiled.known) != len(domains):
            compiled = self._compiled = _compile(domains)
        found = [(compiled.known[i][1], 1) for i in _matched(compiled, text)]
        if self.zeros:
            hit = {domain for domain, _ in found}
            # Only domains that were tried: another thread may have added one meanwhile.
            found += [(domain, 0) for domain in sorted(self.zeros) if domain in compiled.domains and domain not in hit]
        return found

    def rewind(self, domains: int) -> bool:
        """Drop the patterns whose domains have this number or above; False if none is left."""
        self.domains = {pattern: domain for pattern, domain in self.domains.items() if domain < domains}
        self.zeros = {domain for domain in self.zeros if domain < domains}
        return bool(self.domains)


class _Compiled(NamedTuple):
    """Patterns with their domains, and RE2's set of them."""

    source: dict[str, int]  # the very dict of which it was made, and which only grows
    known: list[tuple[str, int]]
    domains: frozenset[int]
    set: Any


def _compile(source: dict[str, int]) -> _Compiled:
    known = list(source.items())
    fresh = re2.Set.SearchSet(options(SET_MEMORY))
    for pattern, _ in known:
        fresh.Add(pattern)
    fresh.Add("")
    fresh.Compile()
    return _Compiled(source, known, frozenset(domain for _, domain in known), fresh)


def _matched(compiled: _Compiled, text: str) -> list[int]:
    matches = compiled.set.Match(text) or []
    # The empty pattern, added last, matches everything. If it is missing, the set has silently run out of memory: then
    # every pattern is tried alone, which is slower and always answers.
    last = len(compiled.known)
    if last in matches:
        return sorted(i for i in matches if i != last)
    return [i for i, (pattern, _) in enumerate(compiled.known) if found(pattern, text)]


def quote(text: str) -> str:
    """The regular expression that finds exactly this text."""
    return re2.escape(text)


class Shape(Enum):
    """What a LIKE pattern amounts to: equality, a prefix, a suffix, or a regular expression."""

    EQUAL, PREFIX, SUFFIX, WILD = range(4)


def like_shape(pattern: str, escape: str | None) -> tuple[Shape, str]:
    """The shape of a LIKE pattern with its text, or with its regular expression."""
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
    # %% means the same as %, and costs RE2 more.
    pieces = [piece for i, piece in enumerate(pieces) if i == 0 or (piece, pieces[i - 1]) != (".*", ".*")]
    return Shape.WILD, rf"\A(?s:{''.join(pieces)})\z"
