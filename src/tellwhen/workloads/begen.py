"""BEGen: conjunctions with a chosen share of matches, in spaces of any dimension (BE-Tree, section 7.1).

Base expressions, of equality only, model events. A subscription is derived from one of them: it keeps some of its
predicates, and turns some of these into weaker ones, so that it matches its base. With 1/p bases an event matches a
share p of all subscriptions. Those of other bases match by chance, which is rare in spaces of many dimensions; where it
is not, the number of bases makes up for it, so that p is what was asked for, unless chance alone is more.

Deviation: a subscription has at least half the average number of predicates. The smallest ones would match by chance
more often than all others together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Literal

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Pairs
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

NOTHING = np.iinfo(np.int64).max
SAMPLE, TRIES = 200, 2_000
"""Events and subscriptions that chance is found with."""

MOST = 10
"""So many times as many bases as without chance, at most."""


@dataclass(frozen=True)
class BEGen(ArrayWorkload):
    """The parameters of Table 3, with the values of its first column; those of PS-Tree's Table 1 are as good."""

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
        if abs(1 / round(1 / self.match) / self.match - 1) > 0.1:
            raise ValueError("a match of more than a quarter must be one of 1, 1/2 and 1/3, or near it")

    @cached_property
    def names(self) -> list[str]:
        return [f"a{i}" for i in range(self.dimensions)]

    @cached_property
    def chance(self) -> float:
        """The share of subscriptions that an event matches which is not their base, found by trying."""
        made, _ = self._derived(Draws(self.seed, "chance"), *self._based("strangers", SAMPLE), TRIES)
        attributes, values = self._based("passers-by", SAMPLE)
        start, domain, owner = made.start, made.attribute, np.repeat(np.arange(TRIES), np.diff(made.start))
        _, _, interval, low, high = made.literals()
        of = np.repeat(np.arange(len(domain)), np.diff(interval))
        found = 0
        for carried, value in zip(attributes, values, strict=True):
            point = np.full(self.dimensions, np.iinfo(np.int64).min)
            point[carried] = 2 * value
            here = point[domain]
            inside = (low <= here[of]) & (here[of] <= high)
            true = (np.bincount(of[inside], minlength=len(domain)) > 0) & (here > np.iinfo(np.int64).min)
            found += TRIES - len(np.unique(owner[~true]))
        return found / (SAMPLE * TRIES * (start[-1] > 0))

    @cached_property
    def bases(self) -> tuple[I64, I64]:
        """The attributes and the values of all base expressions, a row each."""
        own = max((self.match - self.chance) / (1 - self.chance), self.match / MOST)
        return self._based("bases", max(1, round(1 / own)))

    def _based(self, purpose: str, count: int) -> tuple[I64, I64]:
        draws = Draws(self.seed, purpose)
        attributes = draws.subsets(zipf(self.dimensions, self.skew), self.event_size, count)
        return attributes, draws.integers(0, self.cardinality, count, self.event_size)

    @cached_property
    def _kept(self) -> tuple[float, int]:
        """With which probability a predicate is kept, and how many are at least, so that the average is right."""
        least = min(self.event_size, -(-round(self.size) // 2))
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if _mean(self.event_size, middle, least) < self.size else (low, middle)
        return low, least

    def prepare(self) -> None:
        _ = self.bases

    def conjunctions(self, block: int) -> Conjunctions:
        return self._derived(Draws(self.seed, "subscriptions", block), *self.bases, BLOCK)[0]

    def _derived(self, draws: Draws, attributes: I64, values: I64, count: int) -> tuple[Conjunctions, I64]:
        """Subscriptions of random bases, and which bases these are."""
        share, least = self._kept
        base = draws.integers(0, len(values), count)
        order = draws.uniform(count, self.event_size)
        # The predicates with the smallest numbers: all below the share, or as many as there must be.
        bound = np.maximum(share, np.partition(order, least - 1, axis=1)[:, least - 1 : least])
        owner, place = np.nonzero((order < share) | (order <= bound))
        value = values[base[owner], place]
        operator = self._operators(draws, len(value))
        first, operand = self._operands(draws, operator, value)
        start = np.searchsorted(owner, np.arange(count + 1))
        domain = attributes[base[owner], place].astype(np.int32)
        return Conjunctions(start, domain, operator.astype(np.uint8), first, operand), base

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
        wide = draws.integers(1, max(1, round(2 * self.range * top - 1)) + 1, n)  # on average the share asked for
        low = np.clip(value - np.floor(draws.uniform(n) * wide).astype(np.int64), 0, np.maximum(0, top - wide))
        operands = np.full((n, MEMBERS), NOTHING)
        operands[:, 0] = single
        several = draws.integers(0, top, n, MEMBERS)
        wanted = draws.integers(1, MEMBERS + 1, n)
        place = np.arange(MEMBERS)
        inside = operator == IN
        operands[inside] = np.where(place < wanted[inside, None] - 1, several[inside], NOTHING)
        operands[inside, -1] = value[inside]
        outside = operator == NOT_IN
        other = (place < wanted[outside, None]) & (several[outside] != value[outside, None])
        operands[outside] = np.where(other, several[outside], NOTHING)
        operands[outside, 0] = np.where(other.any(axis=1), operands[outside, 0], (value[outside] + 1) % top)
        operands.sort(axis=1)
        operands[:, 1:][operands[:, 1:] == operands[:, :-1]] = NOTHING
        operands.sort(axis=1)
        between = operator == BETWEEN
        operands[between, 0] = low[between]
        operands[between, 1] = np.minimum(low + wide - 1, top - 1)[between]
        given = operands != NOTHING
        return np.concatenate([[0], np.cumsum(given.sum(axis=1))]), operands[given]

    def pairs(self, block: int) -> Pairs:
        attributes, values = self.bases
        chosen = Draws(self.seed, "events", block).integers(0, len(values), BLOCK)
        start = np.arange(BLOCK + 1) * self.event_size
        return Pairs(start, attributes[chosen].ravel().astype(np.int32), values[chosen].ravel())


def _mean(trials: int, share: float, least: int) -> float:
    """The average of a binomial distribution cut off below."""
    chances = [comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]
    return sum(max(k, least) * chance for k, chance in enumerate(chances))
