"""Advertisements: deep expressions over few attributes that share very much (A-Tree, section 6.2; PS-Tree, 7.4).

The real ones are a secret of an online shop. Published are 122 attributes, 1 to 56 predicates and 1 to 9 levels in an
expression, 20 attributes in an event, and how often a sub-expression occurs: 68.76 times on level 1, down to 2.88 on
level 9, Zipf on each. Not published, so chosen here, are the shares of the levels, the sharing on levels 2 to 8
(geometric in between), and the predicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK
from tellwhen.workloads.draws import Draws, zipf, zipf_ranks
from tellwhen.workloads.trees import TreeWorkload, distinct, pool_for

ATTRIBUTES, WORDS, EVENT = 122, 40, 20
"""Attributes; how many of them are words and not numbers; and attributes of an event."""

LEVELS = (0.12, 0.23, 0.2, 0.14, 0.11, 0.08, 0.06, 0.035, 0.025)
"""The share of subscriptions with so many levels: 8 predicates on average, as PS-Tree 7.4 has it."""

SHARING = tuple(68.76 * (2.88 / 68.76) ** (level / 8) for level in range(9))
OTHERS = 4
"""A node has one child on the level below, and up to so many more predicates, of which one may be of level 2; a node
of level 2 one less. So there are 53 predicates at most."""

PAIR = 0.2


def _others(level: int) -> int:
    return OTHERS - (level == 2)


@dataclass(frozen=True)
class Ads(TreeWorkload):
    """`total` is the number of subscriptions that the sharing is meant for; the shop had 1,392,196."""

    total: int = 1_392_196
    skew: float = 0.6
    seed: int = 1

    @cached_property
    def pools(self) -> list[float]:
        top = len(LEVELS)
        occur = [0.0] * (top + 2)
        drawn = [0.0] * (top + 2)
        sizes = [0.0] * (top + 1)
        for level in range(top, 0, -1):
            occur[level] += self.total * LEVELS[level - 1]
            drawn[level] += self.total * LEVELS[level - 1]
            different = min(drawn[level], occur[level] / SHARING[level - 1])
            sizes[level] = pool_for(different, drawn[level], self.skew)
            different = distinct(sizes[level], drawn[level], self.skew)
            if level > 1:
                paired, more = PAIR if level > 2 else 0.0, (1 + _others(level)) / 2
                for counts, size in ((occur, occur[level]), (drawn, different)):
                    counts[level - 1] += size
                    counts[2] += size * paired * (level > 2)
                    counts[1] += size * (more - paired)
        return sizes

    def roots(self, numbers: I64) -> tuple[I64, I64]:
        draw = self._hashed
        levels = 1 + np.searchsorted(np.cumsum(LEVELS)[:-1], draw.uniform(numbers, 1), side="right")
        place = draw.uniform(numbers, 2)
        entries = np.zeros(len(numbers), dtype=np.int64)
        for level in np.unique(levels).tolist():
            mine = levels == level
            entries[mine] = self.drawn(level, place[mine])
        return levels, entries

    def nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        draw, salt = self._hashed, 100 * level
        count = 1 + draw.integers(1, _others(level) + 1, entries, salt)
        owner = np.repeat(np.arange(len(entries)), count)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        paired = (draw.uniform(entries, salt + 1) < PAIR) & (level > 2)
        below = np.where(place == 0, level - 1, np.where((place == 1) & paired[owner], 2, 1))
        child = np.zeros(len(owner), dtype=np.int64)
        for k in range(1 + OTHERS):
            uniform = draw.uniform(entries, salt + 10 + k)[owner]
            for lower in {1, 2, level - 1}:
                mine = (place == k) & (below == lower)
                child[mine] = self.drawn(lower, uniform[mine])
        # AND and OR take turns from level to level, as in a targeting form; now and then something is excluded.
        operators = np.where(draw.uniform(entries, salt + 2) < 0.85, level % 2, 1 - level % 2)
        return [("AND", "OR")[o] for o in operators.tolist()], owner, below, child

    def predicates(self, entries: I64) -> list[str]:
        draw = self._hashed
        attribute = zipf_ranks(draw.uniform(entries, 1000), ATTRIBUTES, 0.8)
        value = draw.integers(0, 1000, entries, 1001)
        kind = draw.integers(0, 10, entries, 1002)
        return [
            _predicate(a, k, v, e)
            for a, k, v, e in zip(attribute.tolist(), kind.tolist(), value.tolist(), entries.tolist(), strict=True)
        ]

    def events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        attributes = draws.subsets(zipf(ATTRIBUTES, 0.8), EVENT, BLOCK)
        values = draws.integers(0, 1000, BLOCK, EVENT)
        return [
            {f"ad{a}": _word(a, v) if a < WORDS else v for a, v in zip(names, found, strict=True)}
            for names, found in zip(attributes.tolist(), values.tolist(), strict=True)
        ]


def _word(attribute: int, value: int) -> str:
    """A word of an attribute; most have few, the first has most."""
    return f"w{value % (1000 // (attribute + 1) + 2)}"


def _predicate(attribute: int, kind: int, value: int, entry: int) -> str:
    name = f"ad{attribute}"
    if attribute >= WORDS:
        if kind < 3:
            return f"{name} <= {value}"
        if kind < 6:
            return f"{name} >= {value}"
        if kind < 8:
            return f"{name} BETWEEN {value} AND {value + entry % 97}"
        return f"{name} = {value}"
    word = _word(attribute, value)
    if kind < 5:
        return f"{name} = '{word}'"
    others = ", ".join(f"'{_word(attribute, value + step * (1 + entry % 7))}'" for step in (1, 2, 3))
    return f"{name} {'NOT IN' if kind == 9 else 'IN'} ('{word}', {others})"
