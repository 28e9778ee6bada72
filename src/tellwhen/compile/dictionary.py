"""Here is a string: what is its point? Labels of the constants that subscriptions use, in code point order.

    constants   'a'          'bob'      'c'
    labels      1000         2000       3000        gaps leave room; 'azure' in an event is at 1001, between

Labels grow apart: a new constant takes the middle of its gap. When a gap is used up the whole dictionary is
relabelled, which moves points: `add` then says so, and stored points are mapped by `moved`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tellwhen.containers.texts import Texts
from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST, U8

STRIDE = 1 << 40
EDGE = 1 << 61
"""Labels stay within ±EDGE at first, so that both ends can be extended for long."""
ROOM = 4
"""The least gap to put a label in: one point must stay free on either side of every label."""

SEEN = 4_096
"""Points kept at hand of a dictionary that lies in a file."""


class Moved(NamedTuple):
    """A relabelling: constants that were at `old` are at `new`; both ascending."""

    old: I64
    new: I64

    def __call__(self, points: I64) -> I64:
        """Where stored interval ends are now: they are labels, or one off."""
        at = np.clip(np.searchsorted(self.old, points), 0, len(self.old) - 1)
        # The nearest label: the one at or after the point, or its left neighbour.
        at = np.where((at > 0) & (points - self.old[at - 1] <= 1), at - 1, at)
        distance = points - self.old[at]
        inner = (distance >= -1) & (distance <= 1)  # not abs(): the ends of the domain wrap round, and abs() with them
        return np.where(inner, self.new[at] + distance, points)


class Saved(NamedTuple):
    """A dictionary as it lies in a file, mapped into memory: texts begin:end, sorted, and their labels."""

    texts: Texts
    labels: I64
    begin: int
    end: int

    def located(self, texts: Sequence[str]) -> tuple[I64, U8]:
        return self.texts.located(self.begin, self.end, Texts.of(texts))


class Dictionary:
    """The constants of one string domain. A copy is made before labels move, so readers are never surprised.

    One that was loaded stays in its file, shared with other processes, until a constant is added.
    """

    __slots__ = ("_keys", "_labels", "_saved", "_seen", "domain")

    def __init__(
        self, domain: int, keys: list[str] | None = None, labels: Iterable[int] = (), saved: Saved | None = None
    ) -> None:
        self.domain = domain
        self._keys: list[str] = keys or []
        self._labels: dict[str, int] = dict(zip(self._keys, labels, strict=True))
        self._saved = saved
        self._seen: dict[str, int] = {}  # points asked for before, as long as it stays in its file

    @property
    def keys(self) -> list[str]:
        """The constants in order."""
        self._read()
        return self._keys

    @property
    def labels(self) -> dict[str, int]:
        self._read()
        return self._labels

    def _read(self) -> None:
        """Out of the file, to be changed."""
        saved = self._saved
        if saved is not None:
            keys = [saved.texts[i] for i in range(saved.begin, saved.end)]
            self._labels = dict(zip(keys, saved.labels[saved.begin : saved.end].tolist(), strict=True))
            self._keys = keys
            self._saved = None  # last: a reader takes either the file or what is complete

    def point(self, text: str) -> int:
        """The point of any string: its label, or just above the label of its left neighbour."""
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
            if len(keys) == length:  # else another thread has inserted a key meanwhile, and `at` may be off
                return LOWEST if left is None else self._labels[left] + 1

    def _saved_point(self, saved: Saved, text: str) -> int:
        point = self._seen.get(text)
        if point is None:
            (at,), (known,) = saved.located([text])
            point = int(saved.labels[saved.begin + at - 1]) + (not known) if at else LOWEST
            if len(self._seen) >= SEEN:
                self._seen = {}
            self._seen[text] = point
        return point

    def labels_of(self, texts: Sequence[str]) -> I64:
        """The labels of constants it has."""
        saved = self._saved
        if saved is None:
            return np.array([self._labels[text] for text in texts], dtype=np.int64)
        at, known = saved.located(texts)
        assert known.all()
        return saved.labels[saved.begin + at - 1]

    def arrays(self) -> tuple[I64, U8, I64]:
        """The constants in order, as starts and bytes, and their labels."""
        saved = self._saved
        if saved is None:
            keys = self._keys
            return *Texts.of(keys).arrays(), self.labels_of(keys)
        start, data = saved.texts.arrays()
        start = start[saved.begin : saved.end + 1]
        return start - start[0], data[start[0] : start[-1]], saved.labels[saved.begin : saved.end]

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Those without a label, sorted, once each."""
        wanted = sorted(set(texts))
        saved = self._saved
        if saved is None:
            return [text for text in wanted if text not in self._labels]
        known = saved.located(wanted)[1].tolist()
        return [text for text, there in zip(wanted, known, strict=True) if not there]

    def add(self, texts: list[str]) -> bool:
        """Label new constants (sorted, distinct). False, and nothing changed, when a gap is too small."""
        runs: dict[int, list[str]] = {}
        for text in texts:
            runs.setdefault(bisect_left(self.keys, text), []).append(text)
        fresh: dict[str, int] = {}
        for at, run in runs.items():
            labels = self._labels_between(at, len(run))
            if labels is None:
                return False
            fresh.update(zip(run, labels, strict=True))
        # The labels first: a reader that finds a key finds its label.
        self.labels.update(fresh)
        if len(texts) > 8:
            self._keys = sorted(self.keys + texts)
        else:
            for at, run in sorted(runs.items(), reverse=True):
                self.keys[at:at] = run
        return True

    def _labels_between(self, at: int, count: int) -> list[int] | None:
        if not self.keys:
            return spread(count).tolist()
        if at == len(self.keys):
            low, high = self.labels[self.keys[-1]], HIGHEST
        elif at == 0:
            low, high = LOWEST, self.labels[self.keys[0]]
        else:
            low, high = self.labels[self.keys[at - 1]], self.labels[self.keys[at]]
        step = min((high - low) // (count + 1), STRIDE)
        if step < ROOM:
            return None
        if at == 0:
            return [high - (count - i) * step for i in range(count)]
        return [low + (i + 1) * step for i in range(count)]

    def relabelled(self, texts: list[str]) -> tuple[Dictionary, Moved]:
        """A new dictionary with the texts added and all labels spread evenly, and where the old labels went."""
        keys = sorted(self.keys + texts)
        after = Dictionary(self.domain, keys, spread(len(keys)).tolist())
        old = np.array([self.labels[key] for key in self.keys], dtype=np.int64)
        new = np.array([after.labels[key] for key in self.keys], dtype=np.int64)
        return after, Moved(old, new)

    def mend(self) -> None:
        """After an interrupt in `add`: every label has its key."""
        if self._saved is None and len(self._keys) != len(self._labels):
            self._keys = sorted(self._labels)

    def trimmed(self, ends: I64, domain: int) -> Dictionary:
        """For a domain of that number: only the constants at these interval ends, or one off; labels stay."""
        wanted = set(np.concatenate([ends - 1, ends, ends + 1]).tolist())
        keys = [key for key in self.keys if self.labels[key] in wanted]
        return Dictionary(domain, keys, [self.labels[key] for key in keys])


def spread(count: int) -> I64:
    """Labels for so many constants, evenly apart."""
    step = min(STRIDE, 2 * EDGE // (count + 1))
    return (np.arange(count, dtype=np.int64) - count // 2) * step


def successor(prefix: str) -> str | None:
    """The first string after all that start with the prefix; None when there is none."""
    for i in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[i])
        if code < 0x10FFFF:
            return prefix[:i] + chr(0xE000 if code == 0xD7FF else code + 1)
    return None
