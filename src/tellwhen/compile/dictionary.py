"""Here is a string: what is its point? Labels of the constants that subscriptions use, in code point order.

    constants   'a'          'bob'      'c'
    labels      1000         2000       3000        gaps leave room; 'azure' in an event is at 1001, between

Labels grow apart: a new constant takes the middle of its gap. When a gap is used up the whole dictionary is
relabelled, which moves points: `add` then says so, and stored points are mapped by `moved`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST

STRIDE = 1 << 40
EDGE = 1 << 61
"""Labels stay within ±EDGE at first, so that both ends can be extended for long."""
ROOM = 4
"""The least gap to put a label in: one point must stay free on either side of every label."""


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
        inner = (distance >= -1) & (distance <= 1)  # not abs(): the ends of the line wrap round, and abs() with them
        return np.where(inner, self.new[at] + distance, points)


class Dictionary:
    """The constants of one string line. A copy is made before labels move, so readers are never surprised."""

    __slots__ = ("keys", "labels", "line")

    def __init__(self, line: int, keys: list[str] | None = None, labels: Iterable[int] = ()) -> None:
        self.line = line
        self.keys: list[str] = keys or []
        self.labels: dict[str, int] = dict(zip(self.keys, labels, strict=True))

    def point(self, text: str) -> int:
        """The point of any string: its label, or just above the label of its left neighbour."""
        label = self.labels.get(text)
        if label is not None:
            return label
        while True:
            keys = self.keys
            length = len(keys)
            at = bisect_right(keys, text)
            left = keys[at - 1] if at else None
            if len(keys) == length:  # else another thread has inserted a key meanwhile, and `at` may be off
                return LOWEST if left is None else self.labels[left] + 1

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Those without a label, sorted, once each."""
        return sorted({text for text in texts if text not in self.labels})

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
            self.keys = sorted(self.keys + texts)
        else:
            for at, run in sorted(runs.items(), reverse=True):
                self.keys[at:at] = run
        return True

    def _labels_between(self, at: int, count: int) -> list[int] | None:
        if not self.keys:
            step = min(STRIDE, 2 * EDGE // (count + 1))
            return [-(count // 2) * step + i * step for i in range(count)]
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
        step = min(STRIDE, 2 * EDGE // (len(keys) + 1))
        first = -(len(keys) // 2) * step
        after = Dictionary(self.line, keys, (first + i * step for i in range(len(keys))))
        old = np.array([self.labels[key] for key in self.keys], dtype=np.int64)
        new = np.array([after.labels[key] for key in self.keys], dtype=np.int64)
        return after, Moved(old, new)

    def mend(self) -> None:
        """After an interrupt in `add`: every label has its key."""
        if len(self.keys) != len(self.labels):
            self.keys = sorted(self.labels)

    def trimmed(self, ends: I64, line: int) -> Dictionary:
        """For a line of that number: only the constants at these interval ends, or one off; labels stay."""
        wanted = set(np.concatenate([ends - 1, ends, ends + 1]).tolist())
        keys = [key for key in self.keys if self.labels[key] in wanted]
        return Dictionary(line, keys, [self.labels[key] for key in keys])


def successor(prefix: str) -> str | None:
    """The first string after all that start with the prefix; None when there is none."""
    for i in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[i])
        if code < 0x10FFFF:
            return prefix[:i] + chr(0xE000 if code == 0xD7FF else code + 1)
    return None
