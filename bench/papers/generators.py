"""Generators of data for single papers or experiments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.language.literals import format_name
from tellwhen.workloads import BEGen, Keywords
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Pairs
from tellwhen.workloads.conjunctions import BETWEEN, EQ, GE, IN, LE, NOT_IN, Conjunctions
from tellwhen.workloads.draws import Draws, compute_zipf_ranks, compute_zipf_weights
from tellwhen.workloads.keywords import STOP_WORDS, VOCABULARY, list_grams, split_word
from tellwhen.workloads.words import list_common_words

# The defaults of PS-Tree, Table 1. The table does not show the match probability; 1 % is our choice.
DefaultBEGen = partial(BEGen, cardinality=100, size=5, event_size=30, equality=0.2, match=0.01)

WORDS_PER_STRING = 24
"""Words of a string from which grams are taken: enough for 43 different ones."""


@dataclass(frozen=True)
class GramBases(BEGen):
    """BEGen whose base expressions are 3-grams of names or titles (BE-Tree, Table 3, the last two columns).

    The attributes are the 676 pairs of letters; the paper counts 677.
    """

    dimensions: int = 677
    cardinality: int = 26
    size: float = 8
    event_size: int = 16
    of: Literal["names", "titles"] = "names"

    def _draw_bases(self, purpose: str, count: int) -> tuple[I64, I64]:
        words, frequency = list_common_words(VOCABULARY, skip=STOP_WORDS)
        chosen = Draws(self.seed, f"{purpose} {self.of}").draw_indices(np.sqrt(frequency), count, WORDS_PER_STRING)
        attributes = np.empty((count, self.event_size), dtype=np.int64)
        values = np.empty_like(attributes)
        for row, word_numbers in enumerate(chosen.tolist()):
            grams = list(list_grams("".join(words[w] for w in word_numbers)).items())[: self.event_size]
            attributes[row] = [26 * (ord(pair[0]) - ord("a")) + ord(pair[1]) - ord("a") for pair, _ in grams]
            values[row] = [ord(letter) - ord("a") for _, letter in grams]
        return attributes, values


QUERY_SIZES = (0.18, 0.27, 0.26, 0.17, 0.12)
"""Shares of the queries with 1 to 5 words. The average is 2.78, as in PS-Tree 7.3."""


@dataclass(frozen=True)
class QueryLog(Keywords):
    """Queries and documents of PS-Tree 7.3: the head of a word is the attribute, its tail the value.

    Subscriptions and events have every attribute at most once (PS-Tree, section 3.1). Of several words with the same
    head, the first is used. A document has `length` different heads on average.
    """

    form: Literal["equal", "between", "split"] = "split"
    length: float = 94.9  # documents without enough words have fewer: 93.07 on average

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "subscriptions", block)
        words, frequency = self._query_words
        sizes = 1 + draws.draw_indices(np.array(QUERY_SIZES), BLOCK)
        # Twice as many words as needed, because some have the same head.
        chosen = draws.draw_indices(frequency, BLOCK, 2 * len(QUERY_SIZES))
        texts = []
        for size, word_numbers in zip(sizes.tolist(), chosen.tolist(), strict=True):
            tails = _map_heads_to_tails((words[word] for word in word_numbers), size)
            texts.append(" AND ".join(f"{format_name(head)} = '{tail}'" for head, tail in tails.items()))
        return texts

    def _build_document(self, words: list[str], distinct_words: int) -> dict[str, Any]:
        return _map_heads_to_tails(words, distinct_words)


def _map_heads_to_tails(words: Any, count: int) -> dict[str, str]:
    """Return the first `count` different heads of the words, each with the tail of its first word."""
    tails: dict[str, str] = {}
    for word in words:
        head, tail = split_word(word)
        tails.setdefault(head, tail)
        if len(tails) == count:
            break
    return tails


AD_DIMENSIONS, AD_EVENT_SIZE, AD_SIZE, AD_SIZE_MAX = 122, 20, 8, 56
AD_CARDINALITIES = (3, 1_000)
AD_MEMBERS_MAX = 6
AD_OPERATORS = {EQ: 0.4, IN: 0.35, BETWEEN: 0.1, NOT_IN: 0.05, LE: 0.05, GE: 0.05}
NO_OPERAND = np.iinfo(np.int64).max


@dataclass(frozen=True)
class AdConjunctions(ArrayWorkload):
    """Advertisements as conjunctions (PS-Tree, section 7.4).

    The paper gives 122 attributes, 1 to 56 predicates in a subscription, 8 on average, and 20 attributes in an event.
    The rest is our choice: attributes and values are distributed by Zipf, an attribute has 3 to 1,000 values, and the
    operators have the shares of `AD_OPERATORS`.
    """

    attribute_skew: float = 0.6
    value_skew: float = 0.8
    seed: int = 1

    @cached_property
    def names(self) -> list[str]:
        return [f"ad{i}" for i in range(AD_DIMENSIONS)]

    @cached_property
    def _cardinalities(self) -> I64:
        least, most = AD_CARDINALITIES
        share = Draws(self.seed, "cardinalities").uniform(AD_DIMENSIONS)
        return np.floor(least * (most / least) ** share).astype(np.int64)

    def _draw_attributes(self, draws: Draws, size: int) -> I64:
        return draws.draw_subsets(compute_zipf_weights(AD_DIMENSIONS, self.attribute_skew), size, BLOCK)

    def _draw_values(self, draws: Draws, attribute: I64) -> I64:
        return compute_zipf_ranks(draws.uniform(*attribute.shape), self._cardinalities[attribute], self.value_skew)

    def generate_conjunctions(self, block: int) -> Conjunctions:
        draws = Draws(self.seed, "subscriptions", block)
        # The sum of two exponential numbers, rounded down: few subscriptions have a single predicate.
        exponential = -np.log1p(-draws.uniform(BLOCK, 2)).sum(axis=1)
        sizes = np.minimum(1 + np.floor(exponential * (AD_SIZE - 0.5) / 2).astype(np.int64), AD_SIZE_MAX)
        owner, position = np.nonzero(np.arange(AD_SIZE_MAX) < sizes[:, None])
        attribute = self._draw_attributes(draws, AD_SIZE_MAX)[owner, position]
        operator = np.array(list(AD_OPERATORS))[draws.draw_indices(np.array([*AD_OPERATORS.values()]), len(owner))]
        first, operand = self._draw_operands(draws, operator, attribute)
        return Conjunctions(
            np.searchsorted(owner, np.arange(BLOCK + 1)),
            attribute.astype(np.int32),
            operator.astype(np.uint8),
            first,
            operand,
        )

    def _draw_operands(self, draws: Draws, operator: I64, attribute: I64) -> tuple[I64, I64]:
        """Draw one operand, two ordered ones for BETWEEN, or up to 6 different ones for IN and NOT IN."""
        operands = self._draw_values(draws, np.repeat(attribute[:, None], AD_MEMBERS_MAX, axis=1))
        members = draws.integers(2, AD_MEMBERS_MAX + 1, len(operator))
        wanted = np.select([operator == BETWEEN, np.isin(operator, (IN, NOT_IN))], [2, members], 1)
        operands[np.arange(AD_MEMBERS_MAX) >= wanted[:, None]] = NO_OPERAND
        operands.sort(axis=1)
        # BETWEEN keeps two equal operands; lists drop the repeated ones.
        is_repeated = operands[:, 1:] == operands[:, :-1]
        is_repeated[operator == BETWEEN] = False
        operands[:, 1:][is_repeated] = NO_OPERAND
        operands.sort(axis=1)
        is_given = operands != NO_OPERAND
        return np.concatenate([[0], np.cumsum(is_given.sum(axis=1))]), operands[is_given]

    def generate_pairs(self, block: int) -> Pairs:
        draws = Draws(self.seed, "events", block)
        attribute = self._draw_attributes(draws, AD_EVENT_SIZE)
        values = self._draw_values(draws, attribute)
        return Pairs(np.arange(BLOCK + 1) * AD_EVENT_SIZE, attribute.ravel().astype(np.int32), values.ravel())
