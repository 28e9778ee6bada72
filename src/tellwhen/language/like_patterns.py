"""Which strings fit a LIKE pattern? `%` stands for any characters, `_` for one; ESCAPE makes the next one literal."""

from __future__ import annotations

from enum import Enum
from itertools import groupby

from tellwhen.errors import ExpressionError


class Wildcard(Enum):
    """The two wildcards, as opposed to literal characters."""

    ANY = "%"
    ONE = "_"


def parse_pattern(pattern: str, escape: str | None) -> list[str | Wildcard]:
    """The pattern as literal characters and wildcards."""
    found: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            literal = next(characters, None)
            if literal is None or literal not in ("%", "_", escape):
                raise ExpressionError(f"the ESCAPE character {escape!r} in {pattern!r} must precede %, _ or itself")
            found.append(literal)
        elif character == "%":
            found.append(Wildcard.ANY)
        elif character == "_":
            found.append(Wildcard.ONE)
        else:
            found.append(character)
    return found


def is_like(text: str, pattern: str, escape: str | None) -> bool:
    """Does the whole text fit the pattern? What stands between two % may be anywhere, in this order: the first place
    will do, so that nothing is tried twice."""
    first, *others = _split_at_any(parse_pattern(pattern, escape))
    if not others:
        return len(first) == len(text) and _is_at(0, first, text)
    *middle, last = others
    at, end = len(first), len(text) - len(last)
    if at > end or not _is_at(0, first, text) or not _is_at(end, last, text):
        return False
    for part in middle:
        at = _find_part(part, text, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


Part = list[str | Wildcard]
"""Literal characters, and wildcards for one character."""


def _split_at_any(wanted: list[str | Wildcard]) -> list[Part]:
    """What is before, between and behind the %."""
    parts: list[Part] = [[]]
    for token in wanted:
        if token is Wildcard.ANY:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _find_literal_runs(part: Part) -> list[tuple[int, str]]:
    """Literal texts in a part, each with its place."""
    runs = []
    for is_text, group in groupby(enumerate(part), key=lambda one: isinstance(one[1], str)):
        if is_text:
            places, characters = zip(*group, strict=True)
            runs.append((places[0], "".join(characters)))
    return runs


def _is_at(at: int, part: Part, text: str) -> bool:
    return all([text.startswith(run, at + place) for place, run in _find_literal_runs(part)])


def _find_part(part: Part, text: str, at: int, end: int) -> int:
    """Where the part is first, from `at` on and before `end`; -1 if it is nowhere."""
    runs = _find_literal_runs(part)
    if not runs:
        return at if end - at >= len(part) else -1
    place, run = min(runs, key=lambda one: text.count(one[1], at, end))  # the rarest is looked for
    last = end - len(part)
    found = text.find(run, at + place)
    while 0 <= found - place <= last:
        if all([text.startswith(other, found - place + where) for where, other in runs]):
            return found - place
        found = text.find(run, found + 1)
    return -1
