"""BEGen: conjunctions with a chosen match probability, in spaces of any dimension (BE-Tree, section 7.1).

Base expressions, with equality only, model events. A subscription is derived from a base: it keeps some of its
predicates and weakens some of those, so that it matches the base. With 1/p bases an event matches a share p of all
subscriptions. Subscriptions of other bases match by chance. That is rare in spaces of many dimensions; where it is not,
there are more bases to make up for it, so that the match probability is p, unless chance alone exceeds it.

Deviation: a subscription has at least half the average number of predicates. Smaller ones would match by chance more
often than all others together.
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
from tellwhen.workloads.draws import Draws, compute_zipf_weights

Operators = Literal["min", "low", "med", "high"]
CLASSES: dict[Operators, tuple[int, ...]] = {
    "min": (),
    "low": (IN,),
    "med": (LT, LE, GE, GT, IN, BETWEEN),
    "high": (LT, LE, NE, GE, GT, IN, NOT_IN, BETWEEN),
}
"""Table 2(a): the operators that a predicate may be weakened to, besides equality."""

MEMBERS_MAX = 6
"""Most values of IN and NOT IN."""

NO_OPERAND = np.iinfo(np.int64).max
CHANCE_EVENTS, CHANCE_SUBSCRIPTIONS = 200, 2_000
"""Sizes of the sample in which matches by chance are counted."""

BASES_FACTOR_MAX = 10
"""Upper limit on how far the number of bases is raised to make up for chance matches."""


@dataclass(frozen=True)
class BEGen(ArrayWorkload):
    """Generator with the parameters of Table 3 of BE-Tree. The defaults are the first column of the table.

    Table 1 of PS-Tree has other values.
    """

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
            raise ValueError("sizes must satisfy 1 <= size <= event_size <= dimensions")
        if self.operators not in CLASSES:
            raise ValueError(f"operators is one of {', '.join(CLASSES)}, not {self.operators!r}")
        if not 0 < self.match <= 1 or not 0 <= self.equality <= 1 or self.cardinality < 2:
            raise ValueError("match is in (0, 1], equality in [0, 1], and cardinality at least 2")
        if abs(1 / round(1 / self.match) / self.match - 1) > 0.1:
            raise ValueError("a match of more than 1/4 must be 1, 1/2 or 1/3, or close to one of them")

    @cached_property
    def names(self) -> list[str]:
        return [f"a{i}" for i in range(self.dimensions)]

    @cached_property
    def chance_match_share(self) -> float:
        """The share of subscriptions that match an event which is not their base, measured on a sample."""
        made, _ = self._derive_subscriptions(
            Draws(self.seed, "chance"), *self._draw_bases("strangers", CHANCE_EVENTS), CHANCE_SUBSCRIPTIONS
        )
        attributes, values = self._draw_bases("passers-by", CHANCE_EVENTS)
        start, domain, owner = (
            made.start,
            made.attribute,
            np.repeat(np.arange(CHANCE_SUBSCRIPTIONS), np.diff(made.start)),
        )
        _, _, interval, low, high = made.to_predicates()
        of = np.repeat(np.arange(len(domain)), np.diff(interval))
        found = 0
        for carried, value in zip(attributes, values, strict=True):
            point = np.full(self.dimensions, np.iinfo(np.int64).min)
            point[carried] = 2 * value
            here = point[domain]
            inside = (low <= here[of]) & (here[of] <= high)
            true = (np.bincount(of[inside], minlength=len(domain)) > 0) & (here > np.iinfo(np.int64).min)
            found += CHANCE_SUBSCRIPTIONS - len(np.unique(owner[~true]))
        return found / (CHANCE_EVENTS * CHANCE_SUBSCRIPTIONS * (start[-1] > 0))

    @cached_property
    def bases(self) -> tuple[I64, I64]:
        """Attributes and values of all base expressions, one row per base. Every event equals a base."""
        own = max((self.match - self.chance_match_share) / (1 - self.chance_match_share), self.match / BASES_FACTOR_MAX)
        return self._draw_bases("bases", max(1, round(1 / own)))

    def _draw_bases(self, purpose: str, count: int) -> tuple[I64, I64]:
        draws = Draws(self.seed, purpose)
        attributes = draws.draw_subsets(compute_zipf_weights(self.dimensions, self.skew), self.event_size, count)
        return attributes, draws.integers(0, self.cardinality, count, self.event_size)

    @cached_property
    def _kept_share_and_min(self) -> tuple[float, int]:
        """Probability of keeping a predicate of the base, and least number to keep, so that the average is `size`."""
        least = min(self.event_size, -(-round(self.size) // 2))
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if _compute_raised_mean(self.event_size, middle, least) < self.size else (low, middle)
            )
        return low, least

    def prepare(self) -> None:
        _ = self.bases

    def generate_conjunctions(self, block: int) -> Conjunctions:
        return self._derive_subscriptions(Draws(self.seed, "subscriptions", block), *self.bases, BLOCK)[0]

    def _derive_subscriptions(self, draws: Draws, attributes: I64, values: I64, count: int) -> tuple[Conjunctions, I64]:
        """Derive subscriptions from random bases; return them with the numbers of these bases."""
        share, least = self._kept_share_and_min
        base = draws.integers(0, len(values), count)
        order = draws.uniform(count, self.event_size)
        # Each predicate has a random number: those below the share are kept, or the smallest ones if these are too few.
        bound = np.maximum(share, np.partition(order, least - 1, axis=1)[:, least - 1 : least])
        owner, position = np.nonzero((order < share) | (order <= bound))
        value = values[base[owner], position]
        operator = self._draw_operators(draws, len(value))
        first, operand = self._draw_operands(draws, operator, value)
        start = np.searchsorted(owner, np.arange(count + 1))
        domain = attributes[base[owner], position].astype(np.int32)
        return Conjunctions(start, domain, operator.astype(np.uint8), first, operand), base

    def _draw_operators(self, draws: Draws, count: int) -> I64:
        choices = np.array(CLASSES[self.operators] or (EQ,))
        turned = choices[draws.integers(0, len(choices), count)]
        return np.where(draws.uniform(count) < self.equality, EQ, turned)

    def _draw_operands(self, draws: Draws, operator: I64, value: I64) -> tuple[I64, I64]:
        """Draw operands that the value of the base satisfies (Table 2(b)).

        At an end of the range of values, the operand of < or > lies just outside of the range.
        """
        n, top = len(value), self.cardinality
        single = value.copy()
        single = np.where(operator == NE, (value + draws.integers(1, top, n)) % top, single)
        single = np.where(operator == LT, draws.integers(value + 1, top + 1, n), single)
        single = np.where(operator == LE, draws.integers(value, top, n), single)
        single = np.where(operator == GT, draws.integers(-1, value, n), single)
        single = np.where(operator == GE, draws.integers(0, value + 1, n), single)
        wide = draws.integers(1, max(1, round(2 * self.range * top - 1)) + 1, n)  # on average the wanted share
        low = np.clip(value - np.floor(draws.uniform(n) * wide).astype(np.int64), 0, np.maximum(0, top - wide))
        operands = np.full((n, MEMBERS_MAX), NO_OPERAND)
        operands[:, 0] = single
        several = draws.integers(0, top, n, MEMBERS_MAX)
        wanted = draws.integers(1, MEMBERS_MAX + 1, n)
        member = np.arange(MEMBERS_MAX)
        inside = operator == IN
        operands[inside] = np.where(member < wanted[inside, None] - 1, several[inside], NO_OPERAND)
        operands[inside, -1] = value[inside]
        outside = operator == NOT_IN
        other = (member < wanted[outside, None]) & (several[outside] != value[outside, None])
        operands[outside] = np.where(other, several[outside], NO_OPERAND)
        operands[outside, 0] = np.where(other.any(axis=1), operands[outside, 0], (value[outside] + 1) % top)
        operands.sort(axis=1)
        operands[:, 1:][operands[:, 1:] == operands[:, :-1]] = NO_OPERAND
        operands.sort(axis=1)
        between = operator == BETWEEN
        operands[between, 0] = low[between]
        operands[between, 1] = np.minimum(low + wide - 1, top - 1)[between]
        given = operands != NO_OPERAND
        return np.concatenate([[0], np.cumsum(given.sum(axis=1))]), operands[given]

    def generate_pairs(self, block: int) -> Pairs:
        attributes, values = self.bases
        chosen = Draws(self.seed, "events", block).integers(0, len(values), BLOCK)
        start = np.arange(BLOCK + 1) * self.event_size
        return Pairs(start, attributes[chosen].ravel().astype(np.int32), values[chosen].ravel())


def _compute_raised_mean(trials: int, share: float, least: int) -> float:
    """Return the mean of a binomial distribution whose values below `least` are raised to `least`."""
    chances = [comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]
    return sum(max(k, least) * chance for k, chance in enumerate(chances))
