"""ABE-Gen: trees of AND, OR, NOT, XOR and XNOR with shared parts, by Zipf (A-Tree, section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK
from tellwhen.workloads.draws import Draws, compute_zipf_ranks
from tellwhen.workloads.trees import UNSHARED, TreeWorkload, choose_pool_size, expect_distinct

OPERATORS = ("AND", "OR", "NOT", "XOR", "XNOR")
OCCURRENCES, DEFAULT_SKEW = 4.33, 0.6
"""At the default skew a sub-expression occurs 4.33 times on average. A predicate, two levels below the root, occurs
4.33^2 or about 18.35 times (section 6.1)."""

KIND_SHARES, TEXTS = (0.4, 0.2, 0.2, 0.1, 0.1), 100_000
"""The shares of =, <=, >=, BETWEEN and IN, and how many predicates each of the first four can form by default. Of IN
there are far more."""


@dataclass(frozen=True)
class ABEGen(TreeWorkload):
    """Generator with the parameters of Table 3 of A-Tree.

    With `total` subscriptions, sub-expressions occur as often as in the paper. With more, they occur more often: they
    are drawn from the same pools. `dimension_skew` is that of the predicates' attributes. The attributes of events are
    uniform, and so are all values.

    The paper does not say which predicates it generates. Here 40 % are =, 20 % each <= and >=, 10 % BETWEEN over 12 %
    of the values, and 10 % IN with three values.
    """

    total: int = 1_000_000
    operators: tuple[float, float, float, float, float] = (0.4, 0.4, 0.1, 0.05, 0.05)
    depth: int = 3
    children: int = 4
    skew: float = DEFAULT_SKEW
    dimensions: int = 1000
    cardinality: int = 100
    dimension_skew: float = 0.0
    event_size: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        if abs(sum(self.operators) - 1) > 1e-9 or min(self.operators) < 0:
            raise ValueError("the shares of the operators add up to 1, and none is negative")
        if self.depth < 1 or self.children < 2 or not 1 <= self.event_size <= self.dimensions:
            raise ValueError("depth is at least 1, children at least 2, and 1 <= event_size <= dimensions")
        if self.cardinality < 1 or self.total < 1 or self.skew < 0:
            raise ValueError("cardinality and total are at least 1, and skew is not negative")

    @property
    def fan(self) -> float:
        """The average number of children of a node."""
        both, negated, exclusive = sum(self.operators[:2]), self.operators[2], sum(self.operators[3:])
        return both * self.children + negated + exclusive * 2

    @cached_property
    def pool_sizes(self) -> list[float]:
        sizes = [0.0] * (self.depth + 1)
        sizes[self.depth] = float(UNSHARED)  # all expressions are different
        draws = float(self.total)
        for level in range(self.depth - 1, 0, -1):
            draws *= self.fan
            distinct = draws / OCCURRENCES
            if level == 1:
                distinct = _count_entries(distinct, draws)
            sizes[level] = choose_pool_size(distinct, draws, DEFAULT_SKEW) if self.skew else float(UNSHARED)
            draws = expect_distinct(sizes[level], draws, self.skew) if self.skew else draws
        return sizes

    def draw_root_entries(self, numbers: I64) -> tuple[I64, I64]:
        return np.full(len(numbers), self.depth), numbers

    def format_predicates(self, entries: I64) -> list[str]:
        draw = self._hashed
        attribute = compute_zipf_ranks(draw.uniform(entries, 1), self.dimensions, self.dimension_skew)
        value = draw.integers(0, self.cardinality, entries, 2)
        wide = np.minimum(value + max(1, round(0.12 * self.cardinality)) - 1, self.cardinality - 1)
        more = [draw.integers(0, self.cardinality, entries, column) for column in (3, 4)]
        kind = np.searchsorted(np.cumsum(KIND_SHARES)[:-1], draw.uniform(entries, 5), side="right")
        forms = ("= {1}", "<= {1}", ">= {1}", "BETWEEN {1} AND {2}", "IN ({1}, {3}, {4})")
        rows = zip(kind.tolist(), *(column.tolist() for column in (attribute, value, wide, *more)), strict=True)
        return [f"a{a} " + forms[form].format(None, *rest) for form, a, *rest in rows]

    def expand_nodes(self, level: int, entries: I64) -> tuple[list[str], I64, I64, I64]:
        draw, salt = self._hashed, 100 * level
        bounds = np.cumsum(self.operators)[:-1]
        operator = np.searchsorted(bounds, draw.uniform(entries, salt), side="right")
        count = np.choose(operator, [self.children, self.children, 1, 2, 2])
        owner = np.repeat(np.arange(len(entries)), count)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        child = np.zeros(len(owner), dtype=np.int64)
        for k in range(int(count.max(initial=0))):
            mine = position == k
            child[mine] = self.draw_from_pool(level - 1, draw.uniform(entries[owner[mine]], salt + 1 + k))
        return [OPERATORS[o] for o in operator.tolist()], owner, np.full(len(owner), level - 1), child

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        # Uniform: the skew is that of the predicates' attributes.
        attributes = draws.draw_subsets(np.ones(self.dimensions), self.event_size, BLOCK)
        values = draws.integers(0, self.cardinality, BLOCK, self.event_size)
        return [
            {f"a{a}": v for a, v in zip(names, found, strict=True)}
            for names, found in zip(attributes.tolist(), values.tolist(), strict=True)
        ]


def _count_entries(predicates: float, draws: float) -> float:
    """Return the number of entries of a pool that has `predicates` distinct ones; some entries are equal predicates."""
    low, high = predicates, max(predicates, draws)
    for _ in range(40):
        middle = (low + high) / 2
        texts = sum(TEXTS * -np.expm1(-share * middle / TEXTS) for share in KIND_SHARES[:-1])
        low, high = (middle, high) if texts + KIND_SHARES[-1] * middle < predicates else (low, middle)
    return high
