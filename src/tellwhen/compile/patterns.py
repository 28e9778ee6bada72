"""Patterns of an attribute, found by the text that a matching string must contain.

A pattern is tested only on strings that contain a part of its required text:

    CONTAINS 'hotel'        tested on strings with "hote", or on those with "otel": the part that fewer patterns have
    LIKE '%a%b_'            no long part: tested on strings that have an a and a b
    MATCHES '^[0-9]+$'      no required text: RE2 tests all such patterns together

A new pattern is added while other threads match strings, and nothing is rebuilt.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import re2

from tellwhen.compile.regex_literals import RequiredText, find_required_text
from tellwhen.containers.growing import Growing
from tellwhen.language.regex import compile_pattern, make_options

SET_BYTES_MAX = 256 << 20
"""Most bytes that RE2 uses for the patterns of one attribute that require no text."""

PATTERN_BYTES_MAX = 256 << 10
"""Most bytes that RE2 uses for a pattern that is cached here; `language/regex.py` keeps a few larger ones."""

PART_LENGTH = 4
"""Characters of the part by which a pattern is found."""

PART_LENGTH_MIN = 2
"""Least characters of such a part: single characters occur in most strings."""

PARTS_MAX = 64
"""Most parts of a literal among which the rarest is chosen."""

MERGE_RATIO = 4
"""A new set of patterns is merged with the set before it while that one has less than 4 times as many patterns."""


class Pattern(NamedTuple):
    """A pattern with its domain and its required text."""

    domain: int
    text: str
    required: RequiredText

    def matches(self, text: str) -> bool:
        """Return whether the string matches."""
        literals, is_complete, is_anchored, has_prefix, has_suffix = self.required
        if not is_complete:
            return _compile(self.text).search(text) is not None
        if not is_anchored:
            return literals[0] in text
        return _contains_in_order(literals, has_prefix, has_suffix, text)


def _contains_in_order(literals: list[str], has_prefix: bool, has_suffix: bool, text: str) -> bool:
    """Return whether the text contains the literals in this order, without overlaps.

    With `has_prefix` it must begin with the first literal, with `has_suffix` end with the last one.
    """
    at, stop = 0, len(text)
    first, last = 0, len(literals)
    if has_prefix:
        if not text.startswith(literals[0]):
            return False
        at, first = len(literals[0]), 1
    if has_suffix:
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
def _compile_small(pattern: str) -> Any:
    """Compile a pattern; return None if it needs more than PATTERN_BYTES_MAX."""
    try:
        return re2.compile(pattern, make_options(PATTERN_BYTES_MAX))
    except re2.error:
        return None


def _compile(pattern: str) -> Any:
    found = _compile_small(pattern)
    return compile_pattern(pattern) if found is None else found


class Patterns:
    """The CONTAINS, MATCHES and general LIKE patterns of one attribute. Each has a Boolean domain.

    One thread at a time adds patterns. Other threads match strings meanwhile, and may or may not see new patterns.
    """

    __slots__ = ("_by_characters", "_by_part", "_part_lengths", "_sets", "domains", "zeros")

    def __init__(self, set_bytes_max: int = SET_BYTES_MAX) -> None:
        self.domains: dict[str, int] = {}
        self.zeros: set[int] = set()  # domains on which some subscription needs the point 0, which means no match
        self._by_part: dict[str, list[tuple[str, Pattern]]] = {}  # each with another part of its required text
        self._part_lengths: tuple[int, ...] = ()
        self._by_characters = _PatternsByCharacters()
        self._sets = _PatternSets(set_bytes_max)

    def add(self, pattern: str, domain: int) -> None:
        """Add a pattern that is not present yet."""
        self.domains[pattern] = domain
        self._insert(Pattern(domain, pattern, find_required_text(pattern)))

    def _insert(self, pattern: Pattern) -> None:
        length = min(max(map(len, pattern.required.literals), default=0), PART_LENGTH)
        if length >= PART_LENGTH_MIN:
            long_literals = [literal for literal in pattern.required.literals if len(literal) >= length]
            parts = {
                text[at : at + length] for text in long_literals for at in range(min(len(text) - length + 1, PARTS_MAX))
            }
            rarest = sorted(parts, key=lambda part: (len(self._by_part.get(part, ())), part))
            self._by_part.setdefault(rarest[0], []).append((rarest[-1], pattern))
            if length not in self._part_lengths:
                self._part_lengths = (*self._part_lengths, length)
        elif length:
            self._by_characters.add(pattern)
        else:
            self._sets.add(pattern)

    def find_points(self, text: str) -> list[tuple[int, int]]:
        """Return (domain, 1) of each pattern that matches, and (domain, 0) of others if some subscription needs it."""
        zeros = list(self.zeros)  # read first, so that all these patterns are already inserted
        by_part, parts = self._by_part, set()
        for length in self._part_lengths:
            parts.update([text[at : at + length] for at in range(len(text) - length + 1)])
        found = [
            (pattern.domain, 1)
            for part in by_part.keys() & parts
            for another, pattern in by_part[part]
            if another in parts and pattern.matches(text)
        ]
        found += [(domain, 1) for domain in self._by_characters.find_domains(text)]
        found += [(domain, 1) for domain in self._sets.find_domains(text)]
        if zeros:
            matches = {domain for domain, _ in found}
            found += [(domain, 0) for domain in zeros if domain not in matches]
        return found

    def rewind(self, domain_count: int) -> None:
        """Drop the patterns whose domains have numbers from `domain_count` on."""
        self.zeros = {domain for domain in self.zeros if domain < domain_count}
        remaining = {pattern: domain for pattern, domain in self.domains.items() if domain < domain_count}
        if len(remaining) < len(self.domains):
            fresh = Patterns(self._sets.bytes_max)
            for pattern, domain in remaining.items():
                fresh.add(pattern, domain)
            for name in ("domains", "_by_part", "_by_characters", "_sets", "_part_lengths"):
                setattr(self, name, getattr(fresh, name))


class _PatternsByCharacters:
    """Patterns that require only single characters.

    A pattern is tested on strings that contain its characters. Characters are compared by a hash of 64 bits.
    """

    def __init__(self) -> None:
        self._masks = Growing(np.uint64)  # by pattern: the hash of its characters
        self._patterns: list[Pattern] = []

    def add(self, pattern: Pattern) -> None:
        self._patterns.append(pattern)  # before its mask, by which another thread may find it
        self._masks.append(_hash_characters("".join(pattern.required.literals)))

    def find_domains(self, text: str) -> list[int]:
        """Return the domains of the patterns that match the text."""
        if not self._patterns:
            return []
        candidates = np.flatnonzero(self._masks.view & ~_hash_characters(text) == 0)
        patterns = self._patterns
        return [patterns[i].domain for i in candidates.tolist() if patterns[i].matches(text)]


def _hash_characters(text: str) -> np.uint64:
    bits = 0
    for character in set(text):
        bits |= 1 << (ord(character) & 63)
    return np.uint64(bits)


class _PatternSet(NamedTuple):
    """Patterns that RE2 tests together."""

    patterns: list[Pattern]
    set: Any
    """The set that RE2 has compiled; None if it takes too much memory, and then each pattern is tested alone."""

    @classmethod
    def compile(cls, patterns: list[Pattern], bytes_max: int) -> _PatternSet:
        fresh = re2.Set.SearchSet(make_options(bytes_max))
        for pattern in patterns:
            fresh.Add(pattern.text)
        fresh.Add("")
        try:
            fresh.Compile()
        except re2.error:
            return cls(patterns, None)
        return cls(patterns, fresh)

    def find_domains(self, text: str) -> list[int]:
        """Return the domains of the patterns that match the text."""
        matches = self.set.Match(text) or [] if self.set is not None else []
        # The empty pattern, added last, matches every string. If it is missing, RE2 has silently run out of memory.
        # Then every pattern is tested alone, which is slower and always gives an answer.
        last = len(self.patterns)
        if last in matches:
            return [self.patterns[i].domain for i in matches if i != last]
        return [pattern.domain for pattern in self.patterns if pattern.matches(text)]


class _PatternSets:
    """Patterns that require no text, in sets. New patterns are a small set, which is merged with others as it grows."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._patterns: list[Pattern] = []
        self._built: tuple[_PatternSet, ...] = ()

    def add(self, pattern: Pattern) -> None:
        self._patterns.append(pattern)

    def find_domains(self, text: str) -> list[int]:
        """Return the domains of the patterns that match the text."""
        if not self._patterns:
            return []
        # Two threads may compile the same sets; the result of the last one stays.
        built, count = self._built, len(self._patterns)
        known = sum(len(pattern_set.patterns) for pattern_set in built)
        if known < count:
            first = known
            while built and built[-1].set is not None and len(built[-1].patterns) < MERGE_RATIO * (count - first):
                first -= len(built[-1].patterns)
                built = built[:-1]
            built = self._built = (*built, _PatternSet.compile(self._patterns[first:count], self.bytes_max))
        return [domain for pattern_set in built for domain in pattern_set.find_domains(text)]
