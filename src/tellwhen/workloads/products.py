"""Product alerts: conjunctions over tens of thousands of attributes (OpIndex, section 7.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Pairs, Workload
from tellwhen.workloads.conjunctions import EQ, GE, IN, LE, Conjunctions
from tellwhen.workloads.draws import Draws, compute_zipf_ranks, compute_zipf_weights
from tellwhen.workloads.words import list_common_words


def _draw_attribute_lists(draws: Draws, largest: int, weights: np.ndarray) -> tuple[I64, I64]:
    """Draw 1 to `largest` distinct indices for each member of a block; return the starts and the indices."""
    size = draws.integers(1, largest + 1, BLOCK)
    indices = draws.draw_subsets(weights, largest, BLOCK)
    return np.concatenate([[0], np.cumsum(size)]), indices[np.arange(largest) < size[:, None]]


@dataclass(frozen=True)
class Products(ArrayWorkload):
    """Generator with the parameters of Table 3 of OpIndex.

    The available copy of the table does not show which values are the defaults. Here they are the middle values.

    Sizes are uniform, from 1 to `size`. Predicates other than = are half <= and half >=. With a skew, attributes and
    operands are Zipf. Subscriptions match by chance only, so few do.
    """

    dimensions: int = 20_000
    size: int = 12
    event_size: int = 60
    equality: float = 0.6
    cardinality: int = 800
    skew: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.dimensions or not 1 <= self.event_size <= self.dimensions:
            raise ValueError("size and event_size are between 1 and dimensions")
        if not 0 <= self.equality <= 1 or self.cardinality < 1:
            raise ValueError("equality is in [0, 1], and cardinality at least 1")

    @cached_property
    def names(self) -> list[str]:
        return [f"p{i}" for i in range(self.dimensions)]

    def generate_conjunctions(self, block: int) -> Conjunctions:
        draws = Draws(self.seed, "subscriptions", block)
        start, attribute = _draw_attribute_lists(draws, self.size, compute_zipf_weights(self.dimensions, self.skew))
        count = len(attribute)
        other = np.where(draws.uniform(count) < 0.5, LE, GE)
        operator = np.where(draws.uniform(count) < self.equality, EQ, other)
        operand = compute_zipf_ranks(draws.uniform(count), self.cardinality, self.skew)
        return Conjunctions(start, attribute.astype(np.int32), operator.astype(np.uint8), np.arange(count + 1), operand)

    def generate_pairs(self, block: int) -> Pairs:
        draws = Draws(self.seed, "events", block)
        start, attribute = _draw_attribute_lists(
            draws, self.event_size, compute_zipf_weights(self.dimensions, self.skew)
        )
        return Pairs(
            start,
            attribute.astype(np.int32),
            compute_zipf_ranks(draws.uniform(len(attribute)), self.cardinality, self.skew),
        )


CATALOGUE_ATTRIBUTES, CATALOGUE_PRODUCTS = 10_204, 296_846
"""Numbers of attributes and products that the paper crawled.

31 % of the products have the most common attribute, 17 % the second: Zipf with a skew of 0.87.
"""


@dataclass(frozen=True)
class Catalogue(ArrayWorkload):
    """Generator of alerts and products like the crawled product pages.

    Events have attributes with the frequencies of the products. Subscriptions choose attributes by the logarithm of
    these frequencies. A predicate is = with the probability `equality`, else IN with two to four values. Small values
    are more common, and common attributes have more values. With fewer `attributes` the rarest ones are left out.
    """

    size: int = 8
    event_size: int = 12
    equality: float = 0.5
    attributes: int = CATALOGUE_ATTRIBUTES
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.attributes or not 1 <= self.event_size <= self.attributes:
            raise ValueError("size and event_size are between 1 and attributes")
        if not 0 <= self.equality <= 1:
            raise ValueError("equality is in [0, 1]")

    @cached_property
    def names(self) -> list[str]:
        return [f"item{i}" for i in range(self.attributes)]

    @cached_property
    def _attribute_frequency(self) -> np.ndarray:
        return 0.31 * compute_zipf_weights(self.attributes, 0.87)

    def _values(self, uniform: np.ndarray, attribute: I64) -> I64:
        return np.floor(uniform**2 * (8 + 400 * self._attribute_frequency[attribute])).astype(np.int64)

    def generate_conjunctions(self, block: int) -> Conjunctions:
        draws = Draws(self.seed, "subscriptions", block)
        start, attribute = _draw_attribute_lists(
            draws, self.size, np.log1p(CATALOGUE_PRODUCTS * self._attribute_frequency)
        )
        count = len(attribute)
        operator = np.where(draws.uniform(count) < self.equality, EQ, IN)
        value = self._values(draws.uniform(count), attribute)
        width = np.where(operator == IN, draws.integers(2, 5, count), 1)
        first = np.concatenate([[0], np.cumsum(width)])
        operand = np.repeat(value - first[:-1], width) + np.arange(first[-1])
        return Conjunctions(start, attribute.astype(np.int32), operator.astype(np.uint8), first, operand)

    def generate_pairs(self, block: int) -> Pairs:
        draws = Draws(self.seed, "events", block)
        start, attribute = _draw_attribute_lists(draws, self.event_size, self._attribute_frequency)
        return Pairs(start, attribute.astype(np.int32), self._values(draws.uniform(len(attribute)), attribute))


@dataclass(frozen=True)
class Prefixes(Workload):
    """Generator of predicates on 10,000 attributes with numbers (=) and 100 with words (STARTS WITH; section 7.7)."""

    prefix: float = 0.5
    length: int = 3
    size: int = 8
    event_size: int = 60
    cardinality: int = 800
    numbers: int = 10_000
    strings: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.prefix <= 1 or self.length < 1:
            raise ValueError("prefix is in [0, 1], and length at least 1")

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return list_common_words(20_000, shortest=5)[0]

    def generate_subscriptions(self, block: int) -> list[str]:
        """Generate predicates: a share `prefix` is STARTS WITH on a word, the others are = on a number."""
        draws = Draws(self.seed, "subscriptions", block)
        size = draws.integers(1, self.size + 1, BLOCK)
        shape = BLOCK, self.size
        is_prefix = draws.uniform(*shape) < self.prefix
        number, string = draws.integers(0, self.numbers, *shape), draws.integers(0, self.strings, *shape)
        value, word = draws.integers(0, self.cardinality, *shape), draws.integers(0, len(self._words), *shape)
        found = []
        for row in range(BLOCK):
            parts = {}
            for k in range(int(size[row])):
                if is_prefix[row, k]:
                    begin = self._words[word[row, k]][: self.length]
                    parts[f"s{string[row, k]}"] = f"s{string[row, k]} STARTS WITH '{begin}'"
                else:
                    parts[f"n{number[row, k]}"] = f"n{number[row, k]} = {value[row, k]}"
            found.append(" AND ".join(parts.values()))
        return found

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        """Generate a block of events; half of the attributes of an event have words."""
        draws = Draws(self.seed, "events", block)
        half = min(self.event_size // 2, self.strings)
        strings = draws.draw_subsets(np.ones(self.strings), half, BLOCK)
        numbers = draws.integers(0, self.numbers, BLOCK, self.event_size - half)
        words = draws.integers(0, len(self._words), BLOCK, half)
        values = draws.integers(0, self.cardinality, BLOCK, self.event_size - half)
        return [
            {f"s{s}": self._words[w] for s, w in zip(strings[row].tolist(), words[row].tolist(), strict=True)}
            | {f"n{n}": v for n, v in zip(numbers[row].tolist(), values[row].tolist(), strict=True)}
            for row in range(BLOCK)
        ]
