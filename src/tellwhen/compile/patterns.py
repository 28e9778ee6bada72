"""Which of an attribute's patterns does a string match? Only those are tried of which it has a part that they require.

    CONTAINS 'hotel'        waits for strings with "hote", or "otel": whichever fewer patterns wait for
    LIKE '%a%b_'            has no long part: waits for strings that have an a and a b
    MATCHES '^[0-9]+$'      requires no text: RE2 tries all of these together

A new pattern is entered while other threads look for strings, and nothing is built again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import re2

from tellwhen.compile.regex_literals import Required, required
from tellwhen.containers.growing import Growing
from tellwhen.language.regex import compile_pattern, make_options

SET_MEMORY = 256 << 20
"""Bytes that RE2 may use for the patterns of one attribute that require no text."""

TRIED_MEMORY = 256 << 10
"""Bytes that RE2 may use for a pattern that is tried alone. One that needs more is among the few that
`language/regex.py` keeps."""

PART, SHORT = 4, 2
"""The characters of a part that patterns wait for. Two will do, but single ones occur in most strings."""

PARTS_MAX = 64
"""The parts of a literal among which the rarest is chosen."""

RATIO = 4
"""Sets of patterns are joined as long as the older one has less than four times as many."""


class Pattern(NamedTuple):
    """One pattern, with its domain."""

    domain: int
    text: str
    required: Required

    def matches(self, text: str) -> bool:
        """Does the string match?"""
        literals, is_all, is_whole, begins, ends = self.required
        if not is_all:
            return _tried(self.text).search(text) is not None
        if not is_whole:
            return literals[0] in text
        return _fits(literals, begins, ends, text)


def _fits(literals: list[str], begins: bool, ends: bool, text: str) -> bool:
    """Does the text have the literals one behind the other, if need be at its ends?"""
    at, stop = 0, len(text)
    first, last = 0, len(literals)
    if begins:
        if not text.startswith(literals[0]):
            return False
        at, first = len(literals[0]), 1
    if ends:
        if first == last:
            return at == stop
        stop -= len(literals[-1])
        if stop < at or not text.endswith(literals[-1]):
            return False
        last -= 1
    for literal in literals[first:last]:
        at = text.find(literal, at, stop)
        if at < 0:
            return False
        at += len(literal)
    return True


@lru_cache(maxsize=4_096)
def _small(pattern: str) -> Any:
    """The compiled pattern; None if it needs more memory."""
    try:
        return re2.compile(pattern, make_options(TRIED_MEMORY))
    except re2.error:
        return None


def _tried(pattern: str) -> Any:
    found = _small(pattern)
    return compile_pattern(pattern) if found is None else found


class Patterns:
    """The CONTAINS, MATCHES and wild LIKE patterns of one attribute; each has a Boolean domain.

    One thread at a time adds; others look for strings meanwhile, and may or may not see what is new.
    """

    __slots__ = ("_by_characters", "_by_part", "_lengths", "_sets", "domains", "zeros")

    def __init__(self) -> None:
        self.domains: dict[str, int] = {}
        self.zeros: set[int] = set()  # domains on which some subscription needs the point 0: no match
        self._by_part: dict[str, list[tuple[str, Pattern]]] = {}  # each with another part that it requires
        self._lengths: tuple[int, ...] = ()  # of these parts
        self._by_characters = _ByCharacters()
        self._sets = _Sets()

    def add(self, pattern: str, domain: int) -> None:
        """Enter a pattern that is not there yet."""
        self.domains[pattern] = domain
        self._enter(Pattern(domain, pattern, required(pattern)))

    def _enter(self, pattern: Pattern) -> None:
        length = min(max(map(len, pattern.required.literals), default=0), PART)
        if length >= SHORT:
            long = [literal for literal in pattern.required.literals if len(literal) >= length]
            parts = {text[at : at + length] for text in long for at in range(min(len(text) - length + 1, PARTS_MAX))}
            rarest = sorted(parts, key=lambda part: (len(self._by_part.get(part, ())), part))
            self._by_part.setdefault(rarest[0], []).append((rarest[-1], pattern))
            if length not in self._lengths:
                self._lengths = (*self._lengths, length)
        elif length:
            self._by_characters.add(pattern)
        else:
            self._sets.add(pattern)

    def points(self, text: str) -> list[tuple[int, int]]:
        """(domain, 1) for every pattern that matches; (domain, 0) for others, where some subscription needs it."""
        zeros = list(self.zeros)  # first: these patterns are all entered
        by_part, parts = self._by_part, set()
        for length in self._lengths:
            parts.update([text[at : at + length] for at in range(len(text) - length + 1)])
        found = [
            (pattern.domain, 1)
            for part in by_part.keys() & parts
            for another, pattern in by_part[part]
            if another in parts and pattern.matches(text)
        ]
        found += [(domain, 1) for domain in self._by_characters.found(text)]
        found += [(domain, 1) for domain in self._sets.found(text)]
        if zeros:
            hit = {domain for domain, _ in found}
            found += [(domain, 0) for domain in zeros if domain not in hit]
        return found

    def rewind(self, domains: int) -> bool:
        """Drop the patterns whose domains have this number or above; False if none is left."""
        self.zeros = {domain for domain in self.zeros if domain < domains}
        kept = {pattern: domain for pattern, domain in self.domains.items() if domain < domains}
        if len(kept) < len(self.domains):
            fresh = Patterns()
            for pattern, domain in kept.items():
                fresh.add(pattern, domain)
            for name in ("domains", "_by_part", "_by_characters", "_sets", "_lengths"):
                setattr(self, name, getattr(fresh, name))
        return bool(self.domains)


class _ByCharacters:
    """Patterns that require a character or two. A string is tried with those whose characters it has, by a hash of
    each: 64 bits."""

    def __init__(self) -> None:
        self._needed = Growing(np.uint64)
        self._patterns: list[Pattern] = []

    def add(self, pattern: Pattern) -> None:
        self._patterns.append(pattern)  # first: another thread may be looking
        self._needed.append(_bits("".join(pattern.required.literals)))

    def found(self, text: str) -> list[int]:
        """The domains of the patterns that match."""
        if not self._patterns:
            return []
        tried = np.flatnonzero(self._needed.view & ~_bits(text) == 0)
        patterns = self._patterns
        return [patterns[i].domain for i in tried.tolist() if patterns[i].matches(text)]


def _bits(text: str) -> np.uint64:
    bits = 0
    for character in set(text):
        bits |= 1 << (ord(character) & 63)
    return np.uint64(bits)


class _Set(NamedTuple):
    """Patterns that RE2 tries together."""

    patterns: list[Pattern]
    set: Any
    """None if they take too much memory together: then each is tried alone."""

    @classmethod
    def of(cls, patterns: list[Pattern]) -> _Set:
        fresh = re2.Set.SearchSet(make_options(SET_MEMORY))
        for pattern in patterns:
            fresh.Add(pattern.text)
        fresh.Add("")
        try:
            fresh.Compile()
        except re2.error:
            return cls(patterns, None)
        return cls(patterns, fresh)

    def found(self, text: str) -> list[int]:
        matches = self.set.Match(text) or [] if self.set is not None else []
        # The empty pattern, added last, matches everything. If it is missing, the set has silently run out of memory:
        # then every pattern is tried alone, which is slower and always answers.
        last = len(self.patterns)
        if last in matches:
            return [self.patterns[i].domain for i in matches if i != last]
        return [pattern.domain for pattern in self.patterns if pattern.matches(text)]


class _Sets:
    """Patterns that require no text, in sets: new ones are a set of their own until there are many."""

    def __init__(self) -> None:
        self._patterns: list[Pattern] = []
        self._built: tuple[_Set, ...] = ()

    def add(self, pattern: Pattern) -> None:
        self._patterns.append(pattern)

    def found(self, text: str) -> list[int]:
        """The domains of the patterns that match."""
        if not self._patterns:
            return []
        # Two threads may build the same: the last one stays.
        built, count = self._built, len(self._patterns)
        known = sum(len(one.patterns) for one in built)
        if known < count:
            first = known
            while built and built[-1].set is not None and len(built[-1].patterns) < RATIO * (count - first):
                first -= len(built[-1].patterns)
                built = built[:-1]
            built = self._built = (*built, _Set.of(self._patterns[first:count]))
        return [domain for one in built for domain in one.found(text)]
