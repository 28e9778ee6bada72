"""BEGen: conjunctions with a chosen share of matches, in spaces of any dimension (BE-Tree, section 7.1).

Base expressions, of equality only, model events. A subscription is derived from one of them: it keeps some of its
predicates, and turns some of these into weaker ones, so that it matches its base. With 1/p bases an event matches a
share p of all subscriptions; those of other bases match by chance, which is rare in spaces of many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.conjunctions import BETWEEN, EQ, GE, GT, IN, LE, LT, NE, NOT_IN, Conjunctions
from tellwhen.workloads.draws import Draws, zipf

Operators = Literal["min", "low", "med", "high"]
CLASSES: dict[Operators, tuple[int, ...]] = {
    "min": (),
    "low": (IN,),
    "med": (LT, LE, GE, GT, IN, BETWEEN),
    "high": (LT, LE, NE, GE, GT, IN, NOT_IN, BETWEEN),
}
"""Table 2(a): what a predicate may be turned into, besides equality."""

MEMBERS = 6
"""Values of IN and NOT IN, at most."""


@dataclass(frozen=True)
class BEGen:
    """The parameters of Table 3, with the values of its first column."""

    dimensions: int = 400
    cardinality: int = 48
    size: float = 7
    event_size: int = 15
    range: float = 0.12
    equality: float = 0.3
    operators: Operators = "med"
    match: float = 0.01
    skew: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.event_size <= self.dimensions:
            raise ValueError("1 <= size <= event_size <= dimensions does not hold")
        if self.operators not in CLASSES:
            raise ValueError(f"there are no operators {self.operators!r}; there are {', '.join(CLASSES)}")
        if not 0 < self.match <= 1 or not 0 <= self.equality <= 1 or self.cardinality < 2:
            raise ValueError("match is in (0, 1], equality in [0, 1], and there are at least 2 values")

    @property
    def names(self) -> list[str]:
        """The attributes."""
        return [f"a{i}" for i in np.arange(self.dimensions)]

    @cached_property
    def bases(self) -> tuple[I64, I64]:
        """The attributes and the values of all base expressions, a row each."""
        draws = Draws(self.seed, "bases")
        count = max(1, round(1 / self.match))
        attributes = draws.subsets(zipf(self.dimensions, self.skew), self.event_size, count)
        return attributes, draws.integers(0, self.cardinality, count, self.event_size)

    def subscriptions(self, block: int, count: int) -> Conjunctions:
        """A block of subscriptions; every block has its own, whatever machine makes it."""
        draws = Draws(self.seed, "subscriptions", block)
        attributes, values = self.bases
        base = draws.integers(0, len(values), count)
        kept = draws.uniform(count, self.event_size) < self.size / self.event_size
        # None may be empty: such a subscription keeps one predicate of its base.
        empty = ~kept.any(axis=1)
        kept[empty, draws.integers(0, self.event_size, count)[empty]] = True
        owner, place = np.nonzero(kept)
        value = values[base[owner], place]
        operator = self._operators(draws, len(value))
        first, operand = self._operands(draws, operator, value)
        start = np.searchsorted(owner, np.arange(count + 1))
        return Conjunctions(
            start, attributes[base[owner], place].astype(np.int32), operator.astype(np.uint8), first, operand
        )

    def _operators(self, draws: Draws, count: int) -> I64:
        choices = np.array(CLASSES[self.operators] or (EQ,))
        turned = choices[draws.integers(0, len(choices), count)]
        return np.where(draws.uniform(count) < self.equality, EQ, turned)

    def _operands(self, draws: Draws, operator: I64, value: I64) -> tuple[I64, I64]:
        """Table 2(b): operands that the base's value satisfies. Ends of the domain leave no room for < and >: then the
        operand lies just outside."""
        n, top = len(value), self.cardinality
        single = value.copy()
        single = np.where(operator == NE, (value + draws.integers(1, top, n)) % top, single)
        single = np.where(operator == LT, draws.integers(value + 1, top + 1, n), single)
        single = np.where(operator == LE, draws.integers(value, top, n), single)
        single = np.where(operator == GT, draws.integers(-1, value, n), single)
        single = np.where(operator == GE, draws.integers(0, value + 1, n), single)
        wide = draws.integers(1, max(2, round(2 * self.range * top)) + 1, n)
        low = np.clip(value - np.floor(draws.uniform(n) * wide).astype(np.int64), 0, np.maximum(0, top - wide))
        several = draws.integers(0, top, n, MEMBERS)
        wanted = draws.integers(1, MEMBERS + 1, n)
        lists: list[list[int]] = []
        for i, (op, v, begin) in enumerate(zip(operator.tolist(), single.tolist(), low.tolist(), strict=True)):
            if op == BETWEEN:
                lists.append([begin, min(begin + int(wide[i]) - 1, top - 1)])
            elif op == IN:
                lists.append(sorted({*several[i, : wanted[i] - 1].tolist(), v}))
            elif op == NOT_IN:
                lists.append(sorted({*several[i, : wanted[i]].tolist()} - {v}) or [(v + 1) % top])
            else:
                lists.append([v])
        first = np.concatenate([[0], np.cumsum([len(found) for found in lists])]).astype(np.int64)
        return first, np.array([v for found in lists for v in found], dtype=np.int64)

    def events(self, block: int, count: int) -> tuple[I64, I64]:
        """A block of events: attributes and values, a row each."""
        attributes, values = self.bases
        chosen = Draws(self.seed, "events", block).integers(0, len(values), count)
        return attributes[chosen], values[chosen]
