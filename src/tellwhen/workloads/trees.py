"""Expressions that share sub-expressions to a chosen degree.

Every level has a *pool* of sub-expressions. A child is drawn from the pool of its level, and Zipf weights make some
entries more frequent. An entry is not stored: it is a function of the seed, the level and its number, so any process
can compute it. The size of a pool follows from the chosen degree of sharing.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import HashedDraws, compute_zipf_ranks

UNSHARED = 1 << 40
"""Size of a pool whose draws are practically all different."""


def expect_distinct(pool: float, draws: float, skew: float) -> float:
    """Return the expected number of distinct entries in `draws` draws from a pool.

    >>> round(expect_distinct(100, 1e9, 0.6)), round(expect_distinct(1e12, 1000, 0.6))
    (100, 1000)
    """
    # The sum over the pool of 1 - exp(-expected hits), on a grid that is finer for small ranks, which are hit most.
    edges = np.concatenate([[0.0], np.geomspace(1, pool + 1, 2000)[1:] - 1])
    middle = (edges[1:] + edges[:-1]) / 2 + 1
    weight = middle**-skew
    hits = draws * weight / (weight * np.diff(edges)).sum()
    return float((np.diff(edges) * -np.expm1(-hits)).sum())


def choose_pool_size(distinct_entries: float, draws: float, skew: float) -> float:
    """Return the size of a pool in which `draws` draws hit `distinct_entries`; UNSHARED if nearly all draws differ."""
    if distinct_entries >= 0.995 * draws:
        return float(UNSHARED)
    low, high = 0.0, np.log(UNSHARED)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expect_distinct(np.exp(middle), draws, skew) < distinct_entries else (low, middle)
    return float(np.ceil(np.exp(low)))


class TreeWorkload(Workload):
    """Generator of expressions by level: level 1 has predicates, and a node has children of lower levels."""

    skew: float
    seed: int

    @property
    @abstractmethod
    def pool_sizes(self) -> list[float]:
        """By level: the number of sub-expressions in its pool. Level 0 is not used."""

    @abstractmethod
    def draw_root_entries(self, numbers: I64) -> tuple[I64, I64]:
        """Return the level and the number in its pool of the outermost node of each subscription."""

    @abstractmethod
    def format_predicates(self, entries: I64) -> list[str]:
        """Return the texts of predicates, given by their numbers in the pool of level 1."""

    @abstractmethod
    def expand_nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        """Return (operators, owner, level, number) of nodes and their children. `entries` are numbers in a pool.

        `operators` has one item per node. `owner` (a position in `entries`), `level` and `number` have one per child.
        """

    @cached_property
    def _hashed(self) -> HashedDraws:
        return HashedDraws(self.seed, type(self).__name__)

    def draw_from_pool(self, level: int, uniform: np.ndarray) -> I64:
        """Draw a sub-expression from the pool of a level for each random number in [0, 1); return their numbers."""
        return compute_zipf_ranks(
            uniform, self.pool_sizes[level], 0.0 if self.pool_sizes[level] >= UNSHARED else self.skew
        )

    def generate_subscriptions(self, block: int) -> list[str]:
        levels, entries = self.draw_root_entries(np.arange(block * BLOCK, (block + 1) * BLOCK))
        entries_by_level: dict[int, list[I64]] = {int(level): [entries[levels == level]] for level in np.unique(levels)}
        nodes_by_level: dict[int, tuple[I64, list[str], I64, I64, I64]] = {}
        for level in range(int(levels.max()), 1, -1):
            if level not in entries_by_level:
                continue
            mine = np.unique(np.concatenate(entries_by_level[level]))
            operators, owner, below, child = self.expand_nodes(level, mine)
            nodes_by_level[level] = mine, operators, owner, below, child
            for lower in np.unique(below).tolist():
                entries_by_level.setdefault(lower, []).append(child[below == lower])
        leaves = np.unique(np.concatenate(entries_by_level[1]))
        texts = {1: dict(zip(leaves.tolist(), self.format_predicates(leaves), strict=True))}
        for level in sorted(nodes_by_level):
            mine, operators, owner, below, child = nodes_by_level[level]
            parts: list[list[str]] = [[] for _ in range(len(mine))]
            for at, lower, number in zip(owner.tolist(), below.tolist(), child.tolist(), strict=True):
                parts[at].append(texts[lower][number] if lower == 1 else f"({texts[lower][number]})")
            expressions = map(_join_parts, operators, parts)
            texts[level] = dict(zip(mine.tolist(), expressions, strict=True))
        return [texts[level][number] for level, number in zip(levels.tolist(), entries.tolist(), strict=True)]


def _join_parts(operator: str, parts: list[str]) -> str:
    if operator == "NOT":
        return f"NOT {parts[0]}" if parts[0].startswith("(") else f"NOT ({parts[0]})"
    return f" {operator} ".join(parts)
