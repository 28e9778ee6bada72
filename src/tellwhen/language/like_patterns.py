"""LIKE patterns: `%` stands for any characters, `_` for one character; ESCAPE makes the next character literal."""

from __future__ import annotations

from enum import Enum
from itertools import groupby

from tellwhen.errors import ExpressionError


class Wildcard(Enum):
    """A wildcard of a pattern, as opposed to a literal character."""

    ANY = "%"
    ONE = "_"


def parse_pattern(pattern: str, escape: str | None) -> list[str | Wildcard]:
    """Return the literal characters and wildcards of a pattern; raise ExpressionError for a misplaced escape."""
    tokens: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            literal = next(characters, None)
            if literal is None or literal not in ("%", "_", escape):
                raise ExpressionError(
                    f"the ESCAPE character {escape!r} in {pattern!r} must be followed by %, _ or itself"
                )
            tokens.append(literal)
        elif character == "%":
            tokens.append(Wildcard.ANY)
        elif character == "_":
            tokens.append(Wildcard.ONE)
        else:
            tokens.append(character)
    return tokens


def find_prefix(pattern: str, escape: str | None) -> tuple[str, bool] | None:
    """Return the text of a pattern, and whether other characters may follow it; None if a wildcard comes before text.

    The pattern is literal text, with nothing but `%` behind it.
    """
    tokens = parse_pattern(pattern, escape)
    text = "".join(token for token in tokens if isinstance(token, str))
    is_prefix = all(token is Wildcard.ANY for token in tokens[len(text) :])
    return (text, len(tokens) > len(text)) if is_prefix else None


def is_like(text: str, pattern: str, escape: str | None) -> bool:
    """Return whether the whole text matches a LIKE pattern.

    Each part between two % is searched from the end of the part before it. The first place found is taken: the search
    never backtracks.
    """
    first, *others = _split_at_any(parse_pattern(pattern, escape))
    if not others:
        return len(first) == len(text) and _has_part_at(0, first, text)
    *middle, last = others
    start, end = len(first), len(text) - len(last)
    if start > end or not _has_part_at(0, first, text) or not _has_part_at(end, last, text):
        return False
    for part in middle:
        position = _find_part(part, text, start, end)
        if position < 0:
            return False
        start = position + len(part)
    return True


Part = list[str | Wildcard]
"""Literal characters and `_` wildcards."""


def _split_at_any(tokens: list[str | Wildcard]) -> list[Part]:
    """Split the tokens of a pattern at its % wildcards."""
    parts: list[Part] = [[]]
    for token in tokens:
        if token is Wildcard.ANY:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _find_literal_runs(part: Part) -> list[tuple[int, str]]:
    """Return (offset, text) of the longest runs of literal characters in a part."""
    runs = []
    for is_literal, group in groupby(enumerate(part), key=lambda item: isinstance(item[1], str)):
        if is_literal:
            offsets, characters = zip(*group, strict=True)
            runs.append((offsets[0], "".join(characters)))
    return runs


def _has_part_at(position: int, part: Part, text: str) -> bool:
    return all([text.startswith(run, position + offset) for offset, run in _find_literal_runs(part)])


def _find_part(part: Part, text: str, start: int, end: int) -> int:
    """Return the first position of a part in `text[start:end]`; -1 if the part does not occur."""
    runs = _find_literal_runs(part)
    if not runs:
        return start if end - start >= len(part) else -1
    # Searching for the rarest run gives the fewest positions to test.
    offset, rarest_run = min(runs, key=lambda item: text.count(item[1], start, end))
    last_position = end - len(part)
    found = text.find(rarest_run, start + offset)
    while 0 <= found - offset <= last_position:
        position = found - offset
        if all([text.startswith(run, position + run_offset) for run_offset, run in runs]):
            return position
        found = text.find(rarest_run, found + 1)
    return -1
