"""Saved searches: subscriptions are queries for words, events are documents. Words and their frequencies are real.

The query logs and documents of the papers (OpIndex 7.1, PS-Tree 7.1, BE-Tree 7.1) are not public. Documents of real
words in their real proportions preserve what matters to an index: how common each attribute is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tellwhen.language.literals import format_name
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws
from tellwhen.workloads.words import list_common_words

VOCABULARY = 50_000
DRAWS_PER_WORD = 3
"""Words that are drawn for each distinct word of a document: common words are drawn repeatedly."""

STOP_WORDS = 100
"""The most common words, which nobody searches for."""


@dataclass(frozen=True)
class Keywords(Workload):
    """Queries for words in documents.

    A predicate is `word = 1` (`equal`), or a range for the number of occurrences (`between`), or, as in PS-Tree 7.1,
    has the head of the word as attribute and its tail as value (`split`). A document has `length` different words on
    average: 5.4 in a tweet, 123 in an article, 93 in the documents of PS-Tree. A query has 1 to `size` words;
    those of PS-Tree's log have 2.78 on average.
    """

    form: Literal["equal", "between", "split"] = "equal"
    length: float = 123
    size: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        if self.form not in ("equal", "between", "split"):
            raise ValueError(f"the form is equal, between or split, not {self.form!r}")
        if self.length < 1 or self.size < 1:
            raise ValueError("length and size are at least 1")

    @cached_property
    def _query_words(self) -> tuple[tuple[str, ...], np.ndarray]:
        return list_common_words(VOCABULARY, skip=STOP_WORDS)

    @cached_property
    def _document_words(self) -> tuple[tuple[str, ...], np.ndarray]:
        return list_common_words(VOCABULARY)

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "subscriptions", block)
        words, frequency = self._query_words
        size = draws.integers(1, self.size + 1, BLOCK)
        chosen = draws.draw_indices(frequency, BLOCK, self.size)
        low, wide = draws.integers(1, 4, BLOCK, self.size), draws.integers(0, 12, BLOCK, self.size)
        return [
            " AND ".join(
                dict.fromkeys(
                    self._format_predicate(words[chosen[row, k]], int(low[row, k]), int(wide[row, k]))
                    for k in range(int(size[row]))
                )
            )
            for row in range(BLOCK)
        ]

    def _format_predicate(self, word: str, low: int, width: int) -> str:
        if self.form == "equal":
            return f"{format_name(word)} = 1"
        if self.form == "between":
            return f"{format_name(word)} BETWEEN {low} AND {low + width}"
        head, tail = split_word(word)
        return f"{format_name(head)} = '{tail}'"

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        words, frequency = self._document_words
        # The lengths of texts are exponentially distributed, with at least one word.
        length = 1 + np.floor(-np.log1p(-draws.uniform(BLOCK)) * (self.length - 1) + 0.5).astype(np.int64)
        drawn = draws.draw_indices(frequency, int((DRAWS_PER_WORD * length).sum())).tolist()
        found, at = [], 0
        for count in length.tolist():
            found.append(self._build_document([words[word] for word in drawn[at : at + DRAWS_PER_WORD * count]], count))
            at += DRAWS_PER_WORD * count
        return found

    def _build_document(self, words: list[str], distinct_words: int) -> dict[str, Any]:
        """Build a document of the first `distinct_words` distinct words, with the number of their occurrences."""
        times: Counter[str] = Counter()
        for word in words:
            if len(times) == distinct_words:
                break
            times[word] += 1
        if self.form == "equal":
            return dict.fromkeys(times, 1)
        if self.form == "between":
            return dict(times)
        event: dict[str, Any] = {}
        for word in times:
            head, tail = split_word(word)
            event.setdefault(head, []).append(tail)
        return event


def split_word(word: str) -> tuple[str, str]:
    """Return the head and the tail of a word. The head is the first three letters, or half of a short word.

    >>> split_word("boolean"), split_word("vldb")
    (('boo', 'lean'), ('vl', 'db'))
    """
    at = 3 if len(word) > 6 else len(word) // 2
    return word[:at], word[at:]


@dataclass(frozen=True)
class QGrams(Workload):
    """Names and titles as sets of 3-grams: two letters are the attribute, the third the value (BE-Tree, 7.1)."""

    of: Literal["names", "titles"] = "names"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.of not in ("names", "titles"):
            raise ValueError(f"of is names or titles, not {self.of!r}")

    @cached_property
    def _words(self) -> tuple[tuple[str, ...], np.ndarray]:
        words, frequency = list_common_words(VOCABULARY, skip=STOP_WORDS)
        if self.of == "titles":
            return words, frequency
        # Names of about ten letters have about eight 3-grams, as the authors' names in the paper do.
        short = [i for i, word in enumerate(words) if 3 <= len(word) <= 6]
        return tuple(words[i] for i in short), frequency[short]

    def generate_subscriptions(self, block: int) -> list[str]:
        made = self._draw_strings("subscriptions", block)
        return [" AND ".join(f"{format_name(a)} = '{v}'" for a, v in list_grams(text).items()) for text in made]

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        return [dict(list_grams(text)) for text in self._draw_strings("events", block)]

    def _draw_strings(self, purpose: str, block: int) -> list[str]:
        """Draw the strings of a block. Events have the strings of subscriptions in another order."""
        draws = Draws(self.seed, "strings", block)
        words, frequency = self._words
        least, most = (2, 2) if self.of == "names" else (5, 7)
        count = draws.integers(least, most + 1, BLOCK)
        chosen = draws.draw_indices(np.sqrt(frequency), BLOCK, most)
        made = ["".join(words[i] for i in chosen[row, : count[row]].tolist()) for row in range(BLOCK)]
        if purpose == "subscriptions":
            return made
        order = np.argsort(Draws(self.seed, "order", block).uniform(BLOCK), kind="stable")
        return [made[i] for i in order.tolist()]


def list_grams(text: str) -> dict[str, str]:
    """Return for every two letters the letter after their first occurrence.

    >>> list_grams("string")
    {'st': 'r', 'tr': 'i', 'ri': 'n', 'in': 'g'}
    """
    found: dict[str, str] = {}
    for i in range(len(text) - 2):
        found.setdefault(text[i : i + 2], text[i + 2])
    return found
