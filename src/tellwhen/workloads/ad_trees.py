"""Advertisements as trees of AND and OR, with the sizes and the sharing of the Ads data of A-Tree, section 6.2.

The data belong to an online shop and are not public. The paper gives 1,392,196 expressions, 1 to 56 predicates and 1 to
9 levels in an expression, 122 attributes, 20 attributes in an event, and 973,794 distinct predicates. A predicate
occurs 68.76 times on average, an expression of level 9 2.88 times, and the levels between them lie between; the
distribution is Zipf.
So an expression has 973,794 * 68.76 / 1,392,196 = 48.1 predicates on average.

Our choice are the shares of the levels, the sharing on levels 2 to 8 (geometric), the predicates and the shape. At
most a fifth of the values satisfy a predicate, so that not too many advertisements match the same event. An
advertisement is shown on any of several *occasions*, each an AND of some predicates, and is an OR of these. One
occasion in an advertisement is larger, with another OR in it. That makes about 15 conjunctions of 4 predicates; the
4,592 MB of conjunctions in Table 4 are 3.3 KB for each expression.

The paper does not say how often an expression contains a part of another. Here every second advertisement is a copy of
another one with one more occasion, and every second occasion is a copy of another one with one more predicate. An
advertisement also begins with the ORed occasions of a template, which are a part of other advertisements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import F64, I64
from tellwhen.workloads.ads import ATTRIBUTES, EVENT_SIZE, SHARING, WORD_ATTRIBUTES
from tellwhen.workloads.base import BLOCK
from tellwhen.workloads.draws import Draws, HashedDraws, compute_zipf_ranks, compute_zipf_weights
from tellwhen.workloads.trees import TreeWorkload, choose_pool_size, expect_distinct

LEVELS = (0.01, 0.01, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14)
"""The share of subscriptions with 1, 2, ... 9 levels."""

PREDICATE, OR, ROOT = 1, 1, 20
"""Numbers of pools: PREDICATE; 2 * level for an AND and 2 * level + OR for an OR from level 2 on; ROOT + level for an
advertisement of 3 to 9 levels."""

OCCASION = 4
"""Number of the pool of occasions: an AND on level 2."""

SIZE_MIN, SIZE_MAX, OCCASION_SIZE = 45, 53, 3.0
"""An advertisement of 3 or more levels gets occasions up to a size from 45 to 52 predicates; a copy has one occasion
more, of at most 4 predicates. An occasion has 3 predicates on average."""

FILLERS_MAX = 26
"""The most occasions that an advertisement is filled with."""

ATTRIBUTE_SKEW, NUMBERS, WORDS_MAX = 0.8, 100_000, 8
"""The Zipf skew of attributes, in advertisements and events; the values of an attribute with numbers; the most words in
a list."""


@dataclass(frozen=True)
class AdTrees(TreeWorkload):
    """Generator of advertisements with the sizes and the sharing of the Ads data of A-Tree.

    With `total` subscriptions, sub-expressions occur as often as in the published data, of 1,392,196 subscriptions.
    The same `total` subscriptions come in another random order for each `order` but 0.
    """

    total: int = 1_392_196
    skew: float = 0.6
    order: int = 0
    seed: int = 1

    @cached_property
    def pool_sizes(self) -> list[float]:
        """The size of each pool. Expected draws are computed from the roots down to the predicates."""
        occur, drawn, sizes = ([0.0] * (ROOT + len(LEVELS) + 1) for _ in range(3))
        for level, share in enumerate(LEVELS, 1):
            pool = _get_root_pool(level)
            occur[pool] += self.total * share
            drawn[pool] += self.total * share
        for pool in range(len(sizes) - 1, 0, -1):
            if not drawn[pool]:
                continue
            level = pool - ROOT if pool > ROOT else max(1, pool // 2)
            distinct = min(drawn[pool], occur[pool] / SHARING[level - 1])
            sizes[pool] = choose_pool_size(distinct, drawn[pool], self.skew)
            distinct = expect_distinct(sizes[pool], drawn[pool], self.skew)
            for child, count, draws in _expect_children(pool):
                occur[child] += occur[pool] * count
                drawn[child] += distinct * draws
        return sizes

    @cached_property
    def _order(self) -> I64:
        return np.argsort(HashedDraws(self.order, "order").uniform(np.arange(self.total)), kind="stable")

    def draw_root_entries(self, numbers: I64) -> tuple[I64, I64]:
        draw = self._hashed
        if self.order:  # a block may go beyond the last subscription
            numbers = np.where(numbers < self.total, self._order[np.minimum(numbers, self.total - 1)], numbers)
        levels = 1 + np.searchsorted(np.cumsum(LEVELS)[:-1], draw.uniform(numbers, 1), side="right")
        pools = np.array([0, *(_get_root_pool(level) for level in range(1, len(LEVELS) + 1))])[levels]
        return pools, self._draw_each(pools, draw.uniform(numbers, 2))

    def expand_nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        owner, pools, child = self._list_children(level, entries)
        return [("AND", "OR")[level > ROOT or level % 2]] * len(entries), owner, pools, child

    def _list_children(self, pool: int, entries: I64) -> tuple[I64, I64, I64]:
        """Return (owner, pool, number) of the children of nodes. An owner is a position in `entries`."""
        # Every second entry of these pools is a copy of the entry before it, with one more child.
        is_copy = (entries % 2 == 1) & (pool > ROOT or pool == OCCASION)
        originals = entries - is_copy
        if pool > ROOT:
            template = self._list_template_children(pool - ROOT, originals)
            parts = [template, self._fill(pool, originals, template)]
        else:
            parts = [self._list_own_children(pool, originals)]
        copies = np.flatnonzero(is_copy)
        more = self._hashed.uniform(entries[copies], 100 * pool + 99)
        pools = np.full(len(copies), PREDICATE if pool == OCCASION else OCCASION)
        parts.append((copies, pools, self._draw_each(pools, more)))
        owner, pools, child = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(owner, kind="stable")
        return owner[order], pools[order], child[order]

    def _list_own_children(self, pool: int, entries: I64) -> tuple[I64, I64, I64]:
        """List the children of other nodes: 2 or 3 predicates, or a larger part and 1 or 2 more."""
        draw, salt, level, is_or = self._hashed, 100 * pool, pool // 2, pool % 2
        count = draw.integers(2, 4, entries, salt)
        owner = np.repeat(np.arange(len(entries)), count)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        others = OCCASION if is_or and level > 2 else PREDICATE
        larger = 2 * (level - 1) + 1 - is_or if level > 2 else PREDICATE  # AND and OR alternate
        pools = np.where(position == 0, larger, others)
        uniform = np.choose(position, [draw.uniform(entries, salt + 1 + k)[owner] for k in range(3)])
        return owner, pools, self._draw_each(pools, uniform)

    def _list_template_children(self, level: int, roots: I64) -> tuple[I64, I64, I64]:
        """List the children of the OR that is the template of each advertisement."""
        pool = 2 * level + OR
        templates = self.draw_from_pool(pool, self._hashed.uniform(roots, 100 * (ROOT + level)))
        return self._list_own_children(pool, templates)

    def _fill(self, pool: int, roots: I64, template: tuple[I64, I64, I64]) -> tuple[I64, I64, I64]:
        """Draw occasions for each advertisement until it has its size."""
        draw, salt = self._hashed, 100 * pool
        owner, pools, child = template
        template_sizes = np.zeros(len(roots))
        np.add.at(template_sizes, owner, self._count_predicates(pools, child))
        size = draw.integers(SIZE_MIN, SIZE_MAX, roots, salt + 1)
        columns = [draw.uniform(roots, salt + 2 + k) for k in range(FILLERS_MAX)]
        fillers = self.draw_from_pool(OCCASION, np.stack(columns, axis=1))
        sizes = self._count_predicates(np.full(fillers.size, OCCASION), fillers.ravel()).reshape(fillers.shape)
        row, column = np.nonzero(template_sizes[:, None] + np.cumsum(sizes, axis=1) <= size[:, None])
        return row, np.full(len(row), OCCASION), fillers[row, column]

    def _count_predicates(self, pools: I64, entries: I64) -> F64:
        """Return how many predicates each node has."""
        counts = np.ones(len(entries))
        for pool in np.unique(pools[pools != PREDICATE]).tolist():
            is_in_pool = pools == pool
            distinct, position = np.unique(entries[is_in_pool], return_inverse=True)
            owner, child_pools, child = self._list_children(pool, distinct)
            distinct_counts = np.zeros(len(distinct))
            np.add.at(distinct_counts, owner, self._count_predicates(child_pools, child))
            counts[is_in_pool] = distinct_counts[position]
        return counts

    def _draw_each(self, pools: I64, uniform: F64) -> I64:
        """Draw an entry from each of these pools."""
        entries = np.zeros(len(pools), dtype=np.int64)
        for pool in np.unique(pools).tolist():
            entries[pools == pool] = self.draw_from_pool(pool, uniform[pools == pool])
        return entries

    def format_predicates(self, entries: I64) -> list[str]:
        draw = self._hashed
        attribute = compute_zipf_ranks(draw.uniform(entries, 1), ATTRIBUTES, ATTRIBUTE_SKEW)
        value = draw.integers(0, NUMBERS, entries, 2)
        kind = draw.integers(0, 10, entries, 3)
        more = draw.integers(2, WORDS_MAX + 1, entries, 4)
        words = np.stack([draw.integers(0, NUMBERS, entries, 5 + k) for k in range(WORDS_MAX)], axis=1)
        rows = zip(attribute.tolist(), kind.tolist(), value.tolist(), more.tolist(), words.tolist(), strict=True)
        return [_format_predicate(*row) for row in rows]

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        attributes = draws.draw_subsets(compute_zipf_weights(ATTRIBUTES, ATTRIBUTE_SKEW), EVENT_SIZE, BLOCK)
        values = draws.integers(0, NUMBERS, BLOCK, EVENT_SIZE)
        return [
            {f"ad{a}": _make_word(a, v) if a < WORD_ATTRIBUTES else v for a, v in zip(names, found, strict=True)}
            for names, found in zip(attributes.tolist(), values.tolist(), strict=True)
        ]


def _make_word(attribute: int, value: int) -> str:
    """Return a word of an attribute. The first attribute has the most words, every later one fewer."""
    return f"w{value % (1000 // (attribute + 1) + 2)}"


def _format_predicate(attribute: int, kind: int, value: int, more: int, words: list[int]) -> str:
    name = f"ad{attribute}"
    if attribute < WORD_ATTRIBUTES:
        if kind < 2:
            return f"{name} = '{_make_word(attribute, value)}'"
        members = ", ".join(f"'{_make_word(attribute, word)}'" for word in words[:more])
        return f"{name} IN ({members})"
    if kind < 3:
        return f"{name} <= {value // 5}"
    if kind < 6:
        return f"{name} >= {NUMBERS - value // 5}"
    return f"{name} BETWEEN {value} AND {value + words[0] // 10}" if kind < 9 else f"{name} = {value}"


def _get_root_pool(level: int) -> int:
    """Return the pool of the expressions with `level` levels."""
    return PREDICATE if level == 1 else 2 * level if level == 2 else ROOT + level


def _expect_children(pool: int) -> list[tuple[int, float, float]]:
    """Return (pool, count, draws) of a node's children: their expected number, and how many of them are drawn anew.

    The children of a copy are those of the original, which are drawn once, and one more.
    """
    if pool == PREDICATE:
        return []
    if pool > ROOT:
        template = 2 * (pool - ROOT) + OR
        room = (SIZE_MIN + SIZE_MAX - 1) / 2 - 1.25 - _expect_size(template)  # the last occasion may not fit
        fillers = room / OCCASION_SIZE
        # A template is drawn, and its children are children of the advertisement.
        return [(template, 1.0, 0.5), (OCCASION, fillers + 0.5, (fillers + 1) / 2)]
    level, is_or = pool // 2, pool % 2
    if level == 2:
        return [(PREDICATE, 3.0, 1.75) if pool == OCCASION else (PREDICATE, 2.5, 2.5)]
    return [(2 * (level - 1) + 1 - is_or, 1.0, 1.0), (OCCASION if is_or else PREDICATE, 1.5, 1.5)]


def _expect_size(pool: int) -> float:
    """Return the expected number of predicates of a node."""
    return 1.0 if pool == PREDICATE else sum(count * _expect_size(child) for child, count, _ in _expect_children(pool))
