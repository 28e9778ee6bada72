"""Trees of predicates that share their parts, as much as one asks for.

Every level has a *pool* of sub-expressions; whatever needs one draws from the pool of its level, popular ones more
often (Zipf). An entry of a pool is not stored: what it looks like is a function of the seed, the level and its number,
so that any process can make it. How large a pool must be for a given sharing is computed beforehand.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Hashed, zipf_ranks

MANY = 1 << 40
"""Entries of a pool whose draws are all different, or nearly."""


def distinct(pool: float, draws: float, skew: float) -> float:
    """How many different entries so many draws from a pool will hit.

    >>> round(distinct(100, 1e9, 0.6)), round(distinct(1e12, 1000, 0.6))
    (100, 1000)
    """
    # The mean over the pool of 1 - exp(-expected hits); finer where ranks are small, which are hit most.
    edges = np.concatenate([[0.0], np.geomspace(1, pool + 1, 2000)[1:] - 1])
    middle = (edges[1:] + edges[:-1]) / 2 + 1
    weight = middle**-skew
    hits = draws * weight / (weight * np.diff(edges)).sum()
    return float((np.diff(edges) * -np.expm1(-hits)).sum())


def pool_for(wanted: float, draws: float, skew: float) -> float:
    """The pool of which so many draws hit `wanted` entries; MANY if they are to be as good as all different."""
    if wanted >= 0.995 * draws:
        return float(MANY)
    low, high = 0.0, np.log(MANY)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if distinct(np.exp(middle), draws, skew) < wanted else (low, middle)
    return float(np.ceil(np.exp(low)))


class TreeWorkload(Workload):
    """Expressions by level: 1 are predicates, and a node has children of lower levels."""

    skew: float
    seed: int

    @property
    @abstractmethod
    def pools(self) -> list[float]:
        """How many entries the pool of each level has; level 0 is nothing."""

    @abstractmethod
    def roots(self, numbers: I64) -> tuple[I64, I64]:
        """Levels and entries of subscriptions, by their numbers."""

    @abstractmethod
    def predicates(self, entries: I64) -> list[str]:
        """The entries of level 1, as text."""

    @abstractmethod
    def nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        """Entries of a higher level: their operators, and the owner (a position), level and number of every child."""

    @cached_property
    def _hashed(self) -> Hashed:
        return Hashed(self.seed, type(self).__name__)

    def drawn(self, level: int, uniform: np.ndarray) -> I64:
        """Entries of a level's pool."""
        return zipf_ranks(uniform, self.pools[level], 0.0 if self.pools[level] >= MANY else self.skew)

    def subscriptions(self, block: int) -> list[str]:
        levels, entries = self.roots(np.arange(block * BLOCK, (block + 1) * BLOCK))
        wanted: dict[int, list[I64]] = {int(level): [entries[levels == level]] for level in np.unique(levels)}
        made: dict[int, tuple[I64, list[str], I64, I64, I64]] = {}
        for level in range(int(levels.max()), 1, -1):
            mine = np.unique(np.concatenate(wanted.get(level, [entries[:0]])))
            operators, owner, below, child = self.nodes(level, mine)
            made[level] = mine, operators, owner, below, child
            for lower in np.unique(below).tolist():
                wanted.setdefault(lower, []).append(child[below == lower])
        leaves = np.unique(np.concatenate(wanted[1]))
        texts = {1: dict(zip(leaves.tolist(), self.predicates(leaves), strict=True))}
        for level in sorted(made):
            mine, operators, owner, below, child = made[level]
            parts: list[list[str]] = [[] for _ in range(len(mine))]
            for at, lower, number in zip(owner.tolist(), below.tolist(), child.tolist(), strict=True):
                parts[at].append(texts[lower][number] if lower == 1 else f"({texts[lower][number]})")
            joined = [_joined(operator, of) for operator, of in zip(operators, parts, strict=True)]
            texts[level] = dict(zip(mine.tolist(), joined, strict=True))
        return [texts[level][number] for level, number in zip(levels.tolist(), entries.tolist(), strict=True)]


def _joined(operator: str, parts: list[str]) -> str:
    if operator == "NOT":
        return f"NOT {parts[0]}" if parts[0].startswith("(") else f"NOT ({parts[0]})"
    return f" {operator} ".join(parts)
