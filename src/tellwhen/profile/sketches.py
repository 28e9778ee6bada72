"""What is kept of more items than fit? Two summaries of bounded size that can be merged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tellwhen.profile.values import hash_of

COUNTERS = 32_768
"""Heavy pairs of attribute and value kept for each side."""


class Sample:
    """A bottom-k (KMV) sample of distinct strings, with exact counts.

    It keeps the strings with the smallest hashes. Their counts are exact, because a string that is among the smallest
    in the end has been among the smallest since it first came. The largest hash kept tells how many distinct strings
    there were (Bar-Yossef et al. 2002). `hashed` gives the hash of a string.
    """

    __slots__ = ("_hashed", "_limit", "counts")

    def __init__(self, counts: Mapping[str, int] | None = None, hashed: Callable[[str], bytes] = hash_of) -> None:
        self.counts = dict(counts or {})
        self._hashed = hashed
        self._limit = b"\xff" * 8  # strings with a greater hash are not kept

    def add(self, counts: Mapping[str, int], room: int, hashes: Mapping[str, bytes] | None = None) -> None:
        """Add strings with their counts, and with their hashes where these are known already.

        `room` is the size that `cut` will leave; it may shrink from call to call, but never grow.
        """
        for text, count in counts.items():
            if (self._hashed(text) if hashes is None else hashes[text]) <= self._limit:
                self.counts[text] = self.counts.get(text, 0) + count
                if len(self.counts) > 2 * room:
                    self.cut(room)

    def cut(self, room: int) -> None:
        """Reduce to the final size, so that equal input gives equal samples."""
        if len(self.counts) > room:
            smallest = sorted(self.counts, key=self._hashed)[:room]
            self.counts = {text: self.counts[text] for text in smallest}
            self._limit = self._hashed(smallest[-1])

    def is_complete(self, room: int) -> bool:
        """Does it hold every string that came?"""
        return len(self.counts) < room

    def distinct(self, room: int) -> int:
        """The number of distinct strings: exact if the sample is complete, else within about 1 / sqrt(room)."""
        if self.is_complete(room):
            return len(self.counts)
        last = int.from_bytes(max(map(self._hashed, self.counts)), "big")
        return round((len(self.counts) - 1) * ((1 << 64) / max(1, last)))


class Heavy:
    """Misra-Gries: the most frequent pairs of attribute and text, each count too low by at most `error`."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]] | None = None, error: int = 0) -> None:
        self.counts = {attribute: dict(mine) for attribute, mine in (counts or {}).items()}
        self.error = error
        self._size = sum(map(len, self.counts.values()))

    def add(self, attribute: str, counts: Mapping[str, int]) -> None:
        mine = self.counts.setdefault(attribute, {})
        self._size -= len(mine)
        for text, count in counts.items():
            mine[text] = mine.get(text, 0) + count
        self._size += len(mine)
        if self._size > 2 * COUNTERS:
            self.cut()

    def cut(self) -> None:
        """Subtract the count of the first pair that does not fit from all pairs (Agarwal et al. 2012).

        Each cut subtracts it from at least COUNTERS + 1 pairs, which bounds the error, merged or not.
        """
        if self._size <= COUNTERS:
            return
        counts = np.fromiter((count for mine in self.counts.values() for count in mine.values()), np.int64, self._size)
        least = int(np.partition(counts, -COUNTERS - 1)[-COUNTERS - 1])
        for attribute, mine in self.counts.items():
            self.counts[attribute] = {text: count - least for text, count in mine.items() if count > least}
        self.error += least
        self._size = sum(map(len, self.counts.values()))
