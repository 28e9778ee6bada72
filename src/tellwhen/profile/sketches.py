"""Two mergeable sketches of bounded size: a sample of distinct strings, and the most frequent pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tellwhen.profile.values import hash_text

HEAVY_PAIRS_MAX = 32_768
"""Pairs of attribute and value that are counted on each side, at most."""


class DistinctSample:
    """A bottom-k (KMV) sample of distinct strings, with exact counts.

    The sample consists of the strings with the smallest hashes. Their counts are exact, because a string that is among
    the smallest in the end has been among the smallest since it first came. The number of distinct strings is estimated
    from the largest hash in the sample (Bar-Yossef et al. 2002). `hash_function` returns the hash of a string.
    """

    __slots__ = ("_hash", "_limit", "counts")

    def __init__(
        self, counts: Mapping[str, int] | None = None, hash_function: Callable[[str], bytes] = hash_text
    ) -> None:
        self.counts = dict(counts or {})
        self._hash = hash_function
        self._limit = b"\xff" * 8  # strings with a greater hash are dropped

    def add(self, counts: Mapping[str, int], room: int, hashes: Mapping[str, bytes] | None = None) -> None:
        """Add strings with their counts, and with their hashes if these are known.

        `room` is the size after `trim`; it may shrink from call to call, but never grow.
        """
        for text, count in counts.items():
            if (self._hash(text) if hashes is None else hashes[text]) <= self._limit:
                self.counts[text] = self.counts.get(text, 0) + count
                if len(self.counts) > 2 * room:
                    self.trim(room)

    def trim(self, room: int) -> None:
        """Reduce the sample to its final size, so that equal input gives equal samples."""
        if len(self.counts) > room:
            smallest = sorted(self.counts, key=self._hash)[:room]
            self.counts = {text: self.counts[text] for text in smallest}
            self._limit = self._hash(smallest[-1])

    def is_complete(self, room: int) -> bool:
        """Return whether the sample has every string that was added."""
        return len(self.counts) < room

    def estimate_distinct(self, room: int) -> int:
        """Return the number of distinct strings: exact if the sample is complete, else within about 1 / sqrt(room)."""
        if self.is_complete(room):
            return len(self.counts)
        last = int.from_bytes(max(map(self._hash, self.counts)), "big")
        return round((len(self.counts) - 1) * ((1 << 64) / max(1, last)))


class HeavyPairs:
    """A Misra-Gries sketch of the most frequent pairs of attribute and text; counts are too low by at most `error`."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]] | None = None, error: int = 0) -> None:
        self.counts = {attribute: dict(mine) for attribute, mine in (counts or {}).items()}
        self.error = error
        self._size = sum(map(len, self.counts.values()))

    def add(self, attribute: str, counts: Mapping[str, int]) -> None:
        known = self.counts.setdefault(attribute, {})
        self._size -= len(known)
        for text, count in counts.items():
            known[text] = known.get(text, 0) + count
        self._size += len(known)
        if self._size > 2 * HEAVY_PAIRS_MAX:
            self.trim()

    def trim(self) -> None:
        """Subtract the count of the first pair that does not fit from all pairs (Agarwal et al. 2012).

        Each call subtracts it from at least HEAVY_PAIRS_MAX + 1 pairs, which bounds the error even after merging.
        """
        if self._size <= HEAVY_PAIRS_MAX:
            return
        counts = np.fromiter((count for mine in self.counts.values() for count in mine.values()), np.int64, self._size)
        least = int(np.partition(counts, -HEAVY_PAIRS_MAX - 1)[-HEAVY_PAIRS_MAX - 1])
        for attribute, mine in self.counts.items():
            self.counts[attribute] = {text: count - least for text, count in mine.items() if count > least}
        self.error += least
        self._size = sum(map(len, self.counts.values()))
