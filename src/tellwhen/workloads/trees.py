"""How are expressions generated that share their sub-expressions, as much as a parameter says?

Every level has a *pool* of sub-expressions. A child is drawn from the pool of its level; by Zipf, some entries are
drawn more often. An entry is not stored: it is a function of the seed, the level and its number, so any process can
make it. The size of a pool is computed from the wanted sharing.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Hashed, zipf_ranks

UNSHARED = 1 << 40
"""The size of a pool whose draws are practically all different."""


def distinct(pool: float, draws: float, skew: float) -> float:
    """The expected number of different entries in `draws` draws from a pool.

    >>> round(distinct(100, 1e9, 0.6)), round(distinct(1e12, 1000, 0.6))
    (100, 1000)
    """
    # The sum over the pool of 1 - exp(-expected hits), on a grid that is finer for small ranks, which are hit most.
    edges = np.concatenate([[0.0], np.geomspace(1, pool + 1, 2000)[1:] - 1])
    middle = (edges[1:] + edges[:-1]) / 2 + 1
    weight = middle**-skew
    hits = draws * weight / (weight * np.diff(edges)).sum()
    return float((np.diff(edges) * -np.expm1(-hits)).sum())


def pool_for(wanted: float, draws: float, skew: float) -> float:
    """The size of a pool in which `draws` draws hit `wanted` entries; UNSHARED if practically all are to differ."""
    if wanted >= 0.995 * draws:
        return float(UNSHARED)
    low, high = 0.0, np.log(UNSHARED)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if distinct(np.exp(middle), draws, skew) < wanted else (low, middle)
    return float(np.ceil(np.exp(low)))


class TreeWorkload(Workload):
    """Expressions by level: level 1 are predicates, and a node has children of lower levels."""

    skew: float
    seed: int

    @property
    @abstractmethod
    def pools(self) -> list[float]:
        """The size of the pool of each level; level 0 does not exist."""

    @abstractmethod
    def roots(self, numbers: I64) -> tuple[I64, I64]:
        """The levels and entries of subscriptions, by their numbers."""

    @abstractmethod
    def predicates(self, entries: I64) -> list[str]:
        """Entries of level 1, as text."""

    @abstractmethod
    def nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        """Entries of a higher level: their operators, and for every child its owner (a position), level and number."""

    @cached_property
    def _hashed(self) -> Hashed:
        return Hashed(self.seed, type(self).__name__)

    def drawn(self, level: int, uniform: np.ndarray) -> I64:
        """Entries drawn from the pool of a level."""
        return zipf_ranks(uniform, self.pools[level], 0.0 if self.pools[level] >= UNSHARED else self.skew)

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
