"""Advertisements of 8 predicates on average over few attributes, with much sharing (PS-Tree, 7.4; A-Tree, 6.2).

The real ones belong to an online shop and are not public. Published are 122 attributes, 1 to 56 predicates and 1 to 9
levels in an expression, 20 attributes in an event, and how often a sub-expression occurs: 68.76 times on level 1, down
to 2.88 on level 9, by Zipf. PS-Tree has 8 predicates in a subscription; A-Tree has far more, see `ad_trees.py`. Chosen
here are the shares of the levels, the sharing on levels 2 to 8 (geometric), and the predicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK
from tellwhen.workloads.draws import Draws, compute_zipf_ranks, compute_zipf_weights
from tellwhen.workloads.trees import TreeWorkload, choose_pool_size, expect_distinct

ATTRIBUTES, WORD_ATTRIBUTES, EVENT_SIZE = 122, 40, 20
"""Numbers of all attributes, of attributes with words (the others have numbers), and of attributes of an event."""

LEVELS = (0.12, 0.23, 0.2, 0.14, 0.11, 0.08, 0.06, 0.035, 0.025)
"""The share of subscriptions with 1, 2, ... 9 levels. The average is 8 predicates, as in PS-Tree 7.4."""

SHARING = tuple(68.76 * (2.88 / 68.76) ** (level / 8) for level in range(9))
OTHERS_MAX = 4
"""A node has one child on the level below, and up to 4 more predicates, one of which may be a node of level 2. A node
of level 2 has up to 3. So an expression has at most 53 predicates."""

PAIR_SHARE = 0.2
"""Share of the nodes that have a node of level 2 among their further children."""


def _count_further_children_max(level: int) -> int:
    return OTHERS_MAX - (level == 2)


@dataclass(frozen=True)
class Ads(TreeWorkload):
    """Generator of advertisements for an online shop.

    With `total` subscriptions, sub-expressions occur as often as in the published data, of 1,392,196 subscriptions.
    """

    total: int = 1_392_196
    skew: float = 0.6
    seed: int = 1

    @cached_property
    def pool_sizes(self) -> list[float]:
        top = len(LEVELS)
        occur = [0.0] * (top + 2)
        drawn = [0.0] * (top + 2)
        sizes = [0.0] * (top + 1)
        for level in range(top, 0, -1):
            occur[level] += self.total * LEVELS[level - 1]
            drawn[level] += self.total * LEVELS[level - 1]
            different = min(drawn[level], occur[level] / SHARING[level - 1])
            sizes[level] = choose_pool_size(different, drawn[level], self.skew)
            different = expect_distinct(sizes[level], drawn[level], self.skew)
            if level > 1:
                paired, more = PAIR_SHARE if level > 2 else 0.0, (1 + _count_further_children_max(level)) / 2
                for counts, size in ((occur, occur[level]), (drawn, different)):
                    counts[level - 1] += size
                    counts[2] += size * paired * (level > 2)
                    counts[1] += size * (more - paired)
        return sizes

    def draw_root_entries(self, numbers: I64) -> tuple[I64, I64]:
        draw = self._hashed
        levels = 1 + np.searchsorted(np.cumsum(LEVELS)[:-1], draw.uniform(numbers, 1), side="right")
        uniform = draw.uniform(numbers, 2)
        entries = np.zeros(len(numbers), dtype=np.int64)
        for level in np.unique(levels).tolist():
            mine = levels == level
            entries[mine] = self.draw_from_pool(level, uniform[mine])
        return levels, entries

    def expand_nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        draw, salt = self._hashed, 100 * level
        count = 1 + draw.integers(1, _count_further_children_max(level) + 1, entries, salt)
        owner = np.repeat(np.arange(len(entries)), count)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        paired = (draw.uniform(entries, salt + 1) < PAIR_SHARE) & (level > 2)
        below = np.where(position == 0, level - 1, np.where((position == 1) & paired[owner], 2, 1))
        child = np.zeros(len(owner), dtype=np.int64)
        for k in range(1 + OTHERS_MAX):
            uniform = draw.uniform(entries, salt + 10 + k)[owner]
            for lower in {1, 2, level - 1}:
                mine = (position == k) & (below == lower)
                child[mine] = self.draw_from_pool(lower, uniform[mine])
        # AND and OR alternate from level to level, as in a form for targeting, with some exceptions.
        operators = np.where(draw.uniform(entries, salt + 2) < 0.85, level % 2, 1 - level % 2)
        return [("AND", "OR")[o] for o in operators.tolist()], owner, below, child

    def format_predicates(self, entries: I64) -> list[str]:
        draw = self._hashed
        attribute = compute_zipf_ranks(draw.uniform(entries, 1000), ATTRIBUTES, 0.8)
        value = draw.integers(0, 1000, entries, 1001)
        kind = draw.integers(0, 10, entries, 1002)
        return [
            _format_predicate(a, k, v, e)
            for a, k, v, e in zip(attribute.tolist(), kind.tolist(), value.tolist(), entries.tolist(), strict=True)
        ]

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        attributes = draws.draw_subsets(compute_zipf_weights(ATTRIBUTES, 0.8), EVENT_SIZE, BLOCK)
        values = draws.integers(0, 1000, BLOCK, EVENT_SIZE)
        return [
            {f"ad{a}": _make_word(a, v) if a < WORD_ATTRIBUTES else v for a, v in zip(names, found, strict=True)}
            for names, found in zip(attributes.tolist(), values.tolist(), strict=True)
        ]


def _make_word(attribute: int, value: int) -> str:
    """Return a word of an attribute. The first attribute has the most words, every later one fewer."""
    return f"w{value % (1000 // (attribute + 1) + 2)}"


def _format_predicate(attribute: int, kind: int, value: int, entry: int) -> str:
    name = f"ad{attribute}"
    if attribute >= WORD_ATTRIBUTES:
        if kind < 3:
            return f"{name} <= {value}"
        if kind < 6:
            return f"{name} >= {value}"
        if kind < 8:
            return f"{name} BETWEEN {value} AND {value + entry % 97}"
        return f"{name} = {value}"
    word = _make_word(attribute, value)
    if kind < 5:
        return f"{name} = '{word}'"
    others = ", ".join(f"'{_make_word(attribute, value + step * (1 + entry % 7))}'" for step in (1, 2, 3))
    return f"{name} {'NOT IN' if kind == 9 else 'IN'} ('{word}', {others})"
