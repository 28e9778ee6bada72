"""Here is a string: what is its point? Its label, if it is a constant of some subscription; else between two labels.

    constants   'a'          'bob'      'c'        in the order of code points
    labels      1000         2000       3000       'azure' in an event is at 1001, between 'a' and 'bob'

A new constant takes the middle of a gap. When a gap is used up, all labels are spread again, which moves points: `add`
refuses, `relabelled` gives a new dictionary, and stored points are mapped by `Moved`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tellwhen.containers.texts import Texts
from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST, U8

STRIDE = 1 << 40
"""The distance of neighbouring labels, as long as there is room."""

EDGE = 1 << 61
"""Labels stay within ±EDGE at first, so that both ends can grow for long."""

MIN_GAP = 4
"""The least distance of neighbouring labels: one point must stay free on either side of each."""

MAX_CACHED_POINTS = 4_096
"""Points of strings that a dictionary in a file remembers."""


class Moved(NamedTuple):
    """A relabelling: constants that were at `old` are at `new`; both ascending."""

    old: I64
    new: I64

    def __call__(self, points: I64) -> I64:
        """The ends of stored intervals after relabelling: they are labels, or next to one."""
        at = np.clip(np.searchsorted(self.old, points), 0, len(self.old) - 1)
        # The nearest label: the one at or after the point, or its left neighbour.
        at = np.where((at > 0) & (points - self.old[at - 1] <= 1), at - 1, at)
        distance = points - self.old[at]
        inner = (distance >= -1) & (distance <= 1)  # not abs(): at the ends of the domain the difference wraps round
        return np.where(inner, self.new[at] + distance, points)

    def cuts(self, cuts: I64) -> I64:
        """The points at which intervals begin, or just behind which they end: labels, or right behind one."""
        at = np.searchsorted(self.old, cuts, side="right") - 1
        distance = cuts - self.old[at]
        assert not len(cuts) or (at[0] >= 0 and distance.max() <= 1), "a cut is not at a label"
        return self.new[at] + distance


class Saved(NamedTuple):
    """A dictionary in a file, mapped into memory: the sorted texts begin:end, and their labels."""

    texts: Texts
    labels: I64
    begin: int
    end: int

    def locate(self, texts: Sequence[str]) -> tuple[I64, U8]:
        """See `Texts.locate`."""
        return self.texts.locate(self.begin, self.end, Texts.from_strings(texts))


class Dictionary:
    """The constants of one string domain. Labels never move: relabelling makes a new dictionary, readers keep the old.

    A loaded dictionary stays in its file, which processes share, until a constant is added.
    """

    __slots__ = ("_cache", "_keys", "_labels", "_saved", "domain")

    def __init__(
        self, domain: int, keys: list[str] | None = None, labels: Iterable[int] = (), saved: Saved | None = None
    ) -> None:
        self.domain = domain
        self._keys: list[str] = keys or []
        self._labels: dict[str, int] = dict(zip(self._keys, labels, strict=True))
        self._saved = saved
        self._cache: dict[str, int] = {}  # points of strings, while it stays in its file

    @property
    def keys(self) -> list[str]:
        """The constants, sorted."""
        self._read()
        return self._keys

    @property
    def labels(self) -> dict[str, int]:
        """Labels by constant."""
        self._read()
        return self._labels

    def _read(self) -> None:
        """Read it from the file into memory, to be changed."""
        saved = self._saved
        if saved is not None:
            keys = [saved.texts[i] for i in range(saved.begin, saved.end)]
            self._labels = dict(zip(keys, saved.labels[saved.begin : saved.end].tolist(), strict=True))
            self._keys = keys
            self._saved = None  # last: other threads use either the file or what is complete

    def point(self, text: str) -> int:
        """The point of any string: its label, or the point after the label of its left neighbour."""
        saved = self._saved
        if saved is not None:
            return self._saved_point(saved, text)
        label = self._labels.get(text)
        if label is not None:
            return label
        while True:
            keys = self._keys
            length = len(keys)
            at = bisect_right(keys, text)
            left = keys[at - 1] if at else None
            if len(keys) == length:  # else another thread has inserted a key, and `at` may be wrong
                return LOWEST if left is None else self._labels[left] + 1

    def points(self, texts: Sequence[str]) -> list[int]:
        """The points of several strings."""
        if self._saved is None:
            labels = self._labels
            found = [labels.get(text) for text in texts]
            if None not in found:
                return found  # type: ignore[return-value]
        return [self.point(text) for text in texts]

    def _saved_point(self, saved: Saved, text: str) -> int:
        point = self._cache.get(text)
        if point is None:
            at, is_known = saved.texts.locate_one(saved.begin, saved.end, text)
            point = int(saved.labels[saved.begin + at - 1]) + (not is_known) if at else LOWEST
            if len(self._cache) >= MAX_CACHED_POINTS:
                self._cache = {}
            self._cache[text] = point
        return point

    def text_at(self, label: int) -> str | None:
        """The constant with this label; None if there is none."""
        saved = self._saved
        if saved is not None:
            at = saved.begin + int(np.searchsorted(saved.labels[saved.begin : saved.end], label))
            return saved.texts[at] if at < saved.end and saved.labels[at] == label else None
        keys = self._keys
        at = bisect_left(keys, label, key=self._labels.__getitem__)
        return keys[at] if at < len(keys) and self._labels[keys[at]] == label else None

    def labels_of(self, texts: Sequence[str]) -> I64:
        """The labels of some of its constants."""
        saved = self._saved
        if saved is None:
            return np.array([self._labels[text] for text in texts], dtype=np.int64)
        at, known = saved.locate(texts)
        assert known.all()
        return saved.labels[saved.begin + at - 1]

    def arrays(self) -> tuple[I64, U8, I64]:
        """The constants, sorted, as `Texts.arrays`; and their labels."""
        saved = self._saved
        if saved is None:
            keys = self._keys
            return *Texts.from_strings(keys).arrays(), self.labels_of(keys)
        start, data = saved.texts.arrays()
        start = start[saved.begin : saved.end + 1]
        return start - start[0], data[start[0] : start[-1]], saved.labels[saved.begin : saved.end]

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The distinct texts that have no label, sorted."""
        wanted = sorted(set(texts))
        saved = self._saved
        if saved is None:
            return [text for text in wanted if text not in self._labels]
        known = saved.locate(wanted)[1].tolist()
        return [text for text, there in zip(wanted, known, strict=True) if not there]

    def add(self, texts: list[str]) -> bool:
        """Label new constants (sorted, distinct). Changes nothing and returns False when a gap is too small."""
        runs: dict[int, list[str]] = {}
        for text in texts:
            runs.setdefault(bisect_left(self.keys, text), []).append(text)
        fresh: dict[str, int] = {}
        for at, run in runs.items():
            labels = self._labels_between(at, len(run))
            if labels is None:
                return False
            fresh.update(zip(run, labels, strict=True))
        # Labels before keys: a thread that finds a key must find its label.
        self.labels.update(fresh)
        if len(texts) > 8:
            self._keys = sorted(self.keys + texts)
        else:
            for at, run in sorted(runs.items(), reverse=True):
                self.keys[at:at] = run
        return True

    def _labels_between(self, at: int, count: int) -> list[int] | None:
        """Labels for `count` constants before the one at index `at`; None when the gap is too small."""
        if not self.keys:
            return spread(count).tolist()
        if at == len(self.keys):
            low, high = self.labels[self.keys[-1]], HIGHEST
        elif at == 0:
            low, high = LOWEST, self.labels[self.keys[0]]
        else:
            low, high = self.labels[self.keys[at - 1]], self.labels[self.keys[at]]
        step = min((high - low) // (count + 1), STRIDE)
        if step < MIN_GAP:
            return None
        if at == 0:
            return [high - (count - i) * step for i in range(count)]
        return [low + (i + 1) * step for i in range(count)]

    def relabelled(self, texts: list[str]) -> tuple[Dictionary, Moved]:
        """A new dictionary with the texts added and all labels spread evenly, and how the labels moved."""
        keys = sorted(self.keys + texts)
        after = Dictionary(self.domain, keys, spread(len(keys)).tolist())
        old = np.array([self.labels[key] for key in self.keys], dtype=np.int64)
        new = np.array([after.labels[key] for key in self.keys], dtype=np.int64)
        return after, Moved(old, new)

    def mend(self) -> None:
        """After an interrupt in `add`, which writes labels first: give every label its key."""
        if self._saved is None and len(self._keys) != len(self._labels):
            self._keys = sorted(self._labels)

    def trimmed(self, ends: I64, domain: int) -> Dictionary:
        """For a domain of this number: only the constants at these interval ends, or next to them. Labels stay.

        Another thread may add constants meanwhile.
        """
        wanted = set(np.concatenate([ends - 1, ends, ends + 1]).tolist())
        keys = [key for key in list(self.keys) if self.labels[key] in wanted]
        return Dictionary(domain, keys, [self.labels[key] for key in keys])


def spread(count: int) -> I64:
    """Labels for `count` constants, evenly apart."""
    step = min(STRIDE, 2 * EDGE // (count + 1))
    return (np.arange(count, dtype=np.int64) - count // 2) * step


def successor(prefix: str) -> str | None:
    """The least string that is greater than all with this prefix; None when there is none."""
    for i in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[i])
        if code < 0x10FFFF:
            return prefix[:i] + chr(0xE000 if code == 0xD7FF else code + 1)
    return None
