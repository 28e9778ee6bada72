"""Dictionaries of string constants, which map strings to points in the order of code points.

A constant of some subscription has a *label*. The point of any other string lies between two labels.

    constants   'a'          'bob'      'c'        in the order of code points
    labels      1000         2000       3000       'azure' in an event is at 1001, between 'a' and 'bob'

A new constant takes the middle of a gap between labels. If a gap is too small, `add` refuses. Then `relabel`
makes a new dictionary with evenly spaced labels, and `LabelMoves`
maps stored points to them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tellwhen.containers.texts import Texts
from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST, U8

STRIDE = 1 << 40
"""Distance of neighbouring labels in points, as long as there is room."""

EDGE = 1 << 61
"""Greatest magnitude of the first labels, in points, which leaves room for constants at both ends."""

MIN_GAP = 4
"""Least distance of neighbouring labels in points: the point on either side of a label must stay free."""

MAX_CACHED_POINTS = 4_096
"""Most strings whose points a dictionary in a file caches."""


class LabelMoves(NamedTuple):
    """Old and new labels of a dictionary that was relabelled.

    The constant with the label old[i] has the label new[i] now; both arrays ascend.
    """

    old: I64
    new: I64

    def map_points(self, points: I64) -> I64:
        """Map the ends of stored intervals. Each is a label or next to a label; other points stay."""
        nearest = np.clip(np.searchsorted(self.old, points), 0, len(self.old) - 1)
        # The nearest label is the one at or after the point, or its left neighbour.
        nearest = np.where((nearest > 0) & (points - self.old[nearest - 1] <= 1), nearest - 1, nearest)
        distance = points - self.old[nearest]
        inner = (distance >= -1) & (distance <= 1)  # not abs(): at the ends of the domain the difference wraps round
        return np.where(inner, self.new[nearest] + distance, points)

    def map_cuts(self, cuts: I64) -> I64:
        """Return the new points of cuts: points at which an interval begins, or right behind which it ends.

        Each cut is a label or the point right behind a label.
        """
        at = np.searchsorted(self.old, cuts, side="right") - 1
        distance = cuts - self.old[at]
        assert not len(cuts) or (at[0] >= 0 and distance.max() <= 1), (
            "a cut is neither a label nor the point behind a label"
        )
        return self.new[at] + distance


class SavedDictionary(NamedTuple):
    """A dictionary in a memory-mapped file: the sorted constants texts[begin:end] and their labels."""

    texts: Texts
    labels: I64
    begin: int
    end: int

    def locate(self, texts: Sequence[str]) -> tuple[I64, U8]:
        """Locate texts among the sorted constants: return how many are not greater, and 1 where one is equal."""
        return self.texts.locate(self.begin, self.end, Texts.from_strings(texts))


class Dictionary:
    """The constants of one string domain and their labels.

    Labels never move: relabelling makes a new dictionary, and readers keep the old one. A loaded dictionary stays in
    its file, which processes share, until a constant is added.
    """

    __slots__ = ("_cache", "_keys", "_labels", "_saved", "domain")

    def __init__(
        self,
        domain: int,
        keys: list[str] | None = None,
        labels: Iterable[int] = (),
        saved: SavedDictionary | None = None,
    ) -> None:
        self.domain = domain
        self._keys: list[str] = keys or []
        self._labels: dict[str, int] = dict(zip(self._keys, labels, strict=True))
        self._saved = saved
        self._cache: dict[str, int] = {}  # points by string, used while the dictionary stays in its file

    @property
    def keys(self) -> list[str]:
        """Constants, sorted."""
        self._load_from_file()
        return self._keys

    @property
    def labels(self) -> dict[str, int]:
        """Labels by constant."""
        self._load_from_file()
        return self._labels

    def _load_from_file(self) -> None:
        """Copy a dictionary that is still in its file into memory, where it can change."""
        saved = self._saved
        if saved is not None:
            keys = [saved.texts[i] for i in range(saved.begin, saved.end)]
            self._labels = dict(zip(keys, saved.labels[saved.begin : saved.end].tolist(), strict=True))
            self._keys = keys
            self._saved = None  # last, so that other threads use either the file or the complete copy

    def get_point(self, text: str) -> int:
        """Return the point of any string: its label, or the point after the label of the next smaller constant."""
        saved = self._saved
        if saved is not None:
            return self._get_saved_point(saved, text)
        label = self._labels.get(text)
        if label is not None:
            return label
        while True:
            keys = self._keys
            length = len(keys)
            position = bisect_right(keys, text)
            left = keys[position - 1] if position else None
            if len(keys) == length:  # else another thread has inserted a key, and `position` may be wrong
                return LOWEST if left is None else self._labels[left] + 1

    def get_points(self, texts: Sequence[str]) -> list[int]:
        """Return the points of several strings."""
        if self._saved is None:
            labels = self._labels
            found = [labels.get(text) for text in texts]
            if None not in found:
                return found  # type: ignore[return-value]
        return [self.get_point(text) for text in texts]

    def _get_saved_point(self, saved: SavedDictionary, text: str) -> int:
        point = self._cache.get(text)
        if point is None:
            upto, is_known = saved.texts.locate_one(saved.begin, saved.end, text)
            point = int(saved.labels[saved.begin + upto - 1]) + (not is_known) if upto else LOWEST
            if len(self._cache) >= MAX_CACHED_POINTS:
                self._cache = {}
            self._cache[text] = point
        return point

    def find_text(self, label: int) -> str | None:
        """Return the constant with this label, or None."""
        saved = self._saved
        if saved is not None:
            at = saved.begin + int(np.searchsorted(saved.labels[saved.begin : saved.end], label))
            return saved.texts[at] if at < saved.end and saved.labels[at] == label else None
        keys = self._keys
        at = bisect_left(keys, label, key=self._labels.__getitem__)
        return keys[at] if at < len(keys) and self._labels[keys[at]] == label else None

    def get_labels(self, texts: Sequence[str]) -> I64:
        """Return the labels of constants of the dictionary."""
        saved = self._saved
        if saved is None:
            return np.array([self._labels[text] for text in texts], dtype=np.int64)
        at, known = saved.locate(texts)
        assert known.all()
        return saved.labels[saved.begin + at - 1]

    def arrays(self) -> tuple[I64, U8, I64]:
        """Return the sorted constants as two arrays, like `Texts.arrays`, and their labels."""
        saved = self._saved
        if saved is None:
            keys = self._keys
            return *Texts.from_strings(keys).arrays(), self.get_labels(keys)
        start, data = saved.texts.arrays()
        start = start[saved.begin : saved.end + 1]
        return start - start[0], data[start[0] : start[-1]], saved.labels[saved.begin : saved.end]

    def find_missing(self, texts: Iterable[str]) -> list[str]:
        """Return the distinct texts that have no label, sorted."""
        distinct = sorted(set(texts))
        saved = self._saved
        if saved is None:
            return [text for text in distinct if text not in self._labels]
        known = saved.locate(distinct)[1].tolist()
        return [text for text, is_known in zip(distinct, known, strict=True) if not is_known]

    def add(self, texts: list[str]) -> bool:
        """Add new constants, sorted and distinct. Change nothing and return False if a gap is too small."""
        runs: dict[int, list[str]] = {}
        for text in texts:
            runs.setdefault(bisect_left(self.keys, text), []).append(text)
        fresh: dict[str, int] = {}
        for at, run in runs.items():
            labels = self._choose_labels(at, len(run))
            if labels is None:
                return False
            fresh.update(zip(run, labels, strict=True))
        # Labels before keys, since a thread that finds a key must also find its label.
        self.labels.update(fresh)
        if len(texts) > 8:
            self._keys = sorted(self.keys + texts)
        else:
            for at, run in sorted(runs.items(), reverse=True):
                self.keys[at:at] = run
        return True

    def _choose_labels(self, at: int, count: int) -> list[int] | None:
        """Choose labels for `count` new constants before keys[at]; return None if the gap is too small."""
        if not self.keys:
            return spread_labels(count).tolist()
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

    def relabel(self, texts: list[str]) -> tuple[Dictionary, LabelMoves]:
        """Return a new dictionary that has the texts too, with evenly spaced labels, and how the labels moved."""
        keys = sorted(self.keys + texts)
        after = Dictionary(self.domain, keys, spread_labels(len(keys)).tolist())
        old = np.array([self.labels[key] for key in self.keys], dtype=np.int64)
        new = np.array([after.labels[key] for key in self.keys], dtype=np.int64)
        return after, LabelMoves(old, new)

    def repair(self) -> None:
        """Restore a key for every label after an interrupt in `add`, which writes labels before keys."""
        if self._saved is None and len(self._keys) != len(self._labels):
            self._keys = sorted(self._labels)

    def copy_trimmed(self, ends: I64, domain: int) -> Dictionary:
        """Copy the constants whose labels are at interval ends, or next to one. Their labels stay.

        Another thread may add constants meanwhile.

        Parameters
        ----------
        ends
            Lows and highs of the intervals.
        domain
            The number of the copy's domain.
        """
        used_labels = set(np.concatenate([ends - 1, ends, ends + 1]).tolist())
        keys = [key for key in list(self.keys) if self.labels[key] in used_labels]
        return Dictionary(domain, keys, [self.labels[key] for key in keys])


def spread_labels(count: int) -> I64:
    """Return evenly spaced labels for `count` constants."""
    step = min(STRIDE, 2 * EDGE // (count + 1))
    return (np.arange(count, dtype=np.int64) - count // 2) * step
