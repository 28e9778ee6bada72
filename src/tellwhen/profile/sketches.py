"""What stays of more items than can be kept? Two summaries of bounded size that merge."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.profile.values import hash_of

COUNTERS = 32_768
"""Heavy pairs of attribute and value kept for each side."""


class Sample:
    """Of the distinct texts that came by those with the smallest hashes, each with its exact count.

    Exact, because a text among the smallest in the end was among the smallest ever since it first came. And the
    largest hash kept tells how many there were (KMV; Bar-Yossef et al. 2002).
    """

    __slots__ = ("_limit", "counts")

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts = dict(counts or {})
        self._limit = b"\xff" * 8

    def add(self, counts: Mapping[str, int], room: int) -> None:
        """Room is what `cut` will leave; it may shrink from call to call, never grow."""
        for text, count in counts.items():
            if hash_of(text) <= self._limit:
                self.counts[text] = self.counts.get(text, 0) + count
                if len(self.counts) > 2 * room:
                    self.cut(room)

    def cut(self, room: int) -> None:
        """To size, so that equal input gives equal samples."""
        if len(self.counts) > room:
            smallest = sorted(self.counts, key=hash_of)[:room]
            self.counts = {text: self.counts[text] for text in smallest}
            self._limit = hash_of(smallest[-1])

    def is_complete(self, room: int) -> bool:
        """Were there no others?"""
        return len(self.counts) < room

    def distinct(self, room: int) -> int:
        """How many different texts there were: exact if complete, else within about 1 / sqrt(room)."""
        if self.is_complete(room):
            return len(self.counts)
        last = int.from_bytes(max(map(hash_of, self.counts)), "big")
        return round((len(self.counts) - 1) * ((1 << 64) / max(1, last)))


class Heavy:
    """Misra-Gries: the most frequent pairs of attribute and text, counted too low by at most `error`."""

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
        """What the first pair that does not fit counts is taken from all (Agarwal et al. 2012).

        This takes it from at least COUNTERS + 1 pairs, hence the bound of the error, merged or not.
        """
        if self._size <= COUNTERS:
            return
        counts = np.fromiter((count for mine in self.counts.values() for count in mine.values()), np.int64, self._size)
        least = int(np.partition(counts, -COUNTERS - 1)[-COUNTERS - 1])
        for attribute, mine in self.counts.items():
            self.counts[attribute] = {text: count - least for text, count in mine.items() if count > least}
        self.error += least
        self._size = sum(map(len, self.counts.values()))
