"""Which strings fit a LIKE pattern? `%` stands for any characters, `_` for one; ESCAPE makes the next one literal."""

from __future__ import annotations

from enum import Enum

from tellwhen.errors import ExpressionError


class Wild(Enum):
    """The two wildcards, as opposed to literal characters."""

    ANY = "%"
    ONE = "_"


def tokens(pattern: str, escape: str | None) -> list[str | Wild]:
    """The pattern as literal characters and wildcards."""
    found: list[str | Wild] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            literal = next(characters, None)
            if literal is None or literal not in ("%", "_", escape):
                raise ExpressionError(f"the ESCAPE character {escape!r} in {pattern!r} must precede %, _ or itself")
            found.append(literal)
        elif character == "%":
            found.append(Wild.ANY)
        elif character == "_":
            found.append(Wild.ONE)
        else:
            found.append(character)
    return found


def matches(text: str, pattern: str, escape: str | None) -> bool:
    """Does the whole text fit the pattern? Greedy, and goes back to the last % only: never exponential."""
    wanted = tokens(pattern, escape)
    at = here = 0
    star, resume = -1, 0
    while at < len(text):
        if here < len(wanted) and wanted[here] is Wild.ANY:
            star, resume = here, at
            here += 1
        elif here < len(wanted) and (wanted[here] is Wild.ONE or wanted[here] == text[at]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = resume, star + 1
        else:
            return False
    return all(token is Wild.ANY for token in wanted[here:])
