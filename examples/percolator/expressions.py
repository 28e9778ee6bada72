"""How are expressions joined?"""

import math
from collections.abc import Iterable
from functools import reduce
from itertools import combinations
from operator import and_, or_
from typing import TypeVar

import tellwhen as tw

COMBINATIONS_MAX = 200
"""Limit on the ANDs that a `minimum_should_match` is written out to."""

ALWAYS, NEVER = tw.parse("TRUE"), tw.parse("FALSE")
T = TypeVar("T")


def all_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by AND."""
    return reduce(and_, list(parts) or [ALWAYS])


def any_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by OR."""
    return reduce(or_, list(parts) or [NEVER])


def list_combinations(count: int, parts: list[T]) -> list[tuple[T, ...]]:
    """Return all ways to take `count` of the parts. There is no operator for it, so they are written out."""
    if math.comb(len(parts), count) > COMBINATIONS_MAX:
        raise ValueError(f"{count} of {len(parts)} would be {math.comb(len(parts), count):,} combinations")
    return list(combinations(parts, count))


def at_least(count: int, parts: list[tw.Expr]) -> tw.Expr:
    """At least `count` of the parts are true."""
    return any_of(map(all_of, list_combinations(count, parts)))
