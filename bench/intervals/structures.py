"""Five structures that find the intervals that contain a point (PS-Tree, section 7.5).

>>> import numpy as np
>>> tree = SegmentTree(np.array([1, 4, 4]), np.array([6, 4, 9]))
>>> found = tree.stab(np.array([4, 7, 11]))
>>> [sorted(found.number[a:b].tolist()) for a, b in zip(found.start[:-1], found.start[1:])]
[[0, 1, 2], [2], []]

All are static: new intervals need a new structure. `PSTree` itself changes in place; `SpaceLists` is built from it. The
element tree of `ElementLists` changes in place, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from bench.intervals import kernels
from bench.intervals.kernels import CentredArrays, Queries, ScanArrays, SegmentArrays, SpaceArrays
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.ps_tree.arrays import ListRanges
from tellwhen.papers.ps_tree.element_tree import ElementTree
from tellwhen.papers.ps_tree.element_tree.arrays import ElementTreeArrays
from tellwhen.papers.ps_tree.kernels.records import place_postings
from tellwhen.papers.ps_tree.tree import PSTree
from tellwhen.papers.ranked.kernels.segment_tree import build_segment_tree


class StabResult(NamedTuple):
    """The intervals that contain each point, in no particular order."""

    start: I64  # |0|3|4|4|     the intervals of point p are number[start[p]:start[p+1]]
    number: I32


class IntervalStructure(ABC):
    """Closed intervals low..high, numbered in the order of the input."""

    arrays: Any

    def __init__(self, low: I64, high: I64) -> None:
        self.arrays = self._build(low, high)

    @abstractmethod
    def _build(self, low: I64, high: I64) -> Any:
        """Return the arrays of the structure."""

    @abstractmethod
    def _stab(self, queries: Queries) -> None:
        """Count the intervals of each point, and write their numbers if `queries.number` is not empty."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def count(self, points: I64) -> I64:
        """Return the number of intervals that contain each point."""
        count = np.zeros(len(points), dtype=np.int64)
        self._stab(Queries(points, count, count, np.zeros(0, dtype=np.int32)))
        return count

    def stab(self, points: I64) -> StabResult:
        """Return the intervals that contain each point."""
        count = self.count(points)
        start = np.concatenate([[0], np.cumsum(count)])
        number = np.empty(int(start[-1]), dtype=np.int32)
        if len(number):
            self._stab(Queries(points, count, start, number))
        return StabResult(start, number)


class IntervalScan(IntervalStructure):
    """The baseline: a test of every interval."""

    def _build(self, low: I64, high: I64) -> ScanArrays:
        return ScanArrays(low, high)

    def _stab(self, queries: Queries) -> None:
        kernels.stab_scan(self.arrays, queries)


class IntervalTree(IntervalStructure):
    """A centred tree: the highest node whose centre is in an interval has it in two lists, sorted by either end."""

    def _build(self, low: I64, high: I64) -> CentredArrays:
        ends = _sort_distinct(np.concatenate([low, high]))
        node = np.empty(len(low), dtype=np.int64)
        kernels.place_intervals(np.searchsorted(ends, low), np.searchsorted(ends, high), node)
        by_low, by_high = np.lexsort((low, node)), np.lexsort((~high, node))
        return CentredArrays(
            ends=ends,
            node_start=np.searchsorted(node[by_low], np.arange(len(ends) + 1)),
            low=low[by_low],
            by_low=by_low.astype(np.int32),
            high=high[by_high],
            by_high=by_high.astype(np.int32),
        )

    def _stab(self, queries: Queries) -> None:
        kernels.stab_centred(self.arrays, queries)


class SegmentTree(IntervalStructure):
    """A tree over the segments between ends: the fewest nodes that cover an interval have it in their lists."""

    def _build(self, low: I64, high: I64) -> SegmentArrays:
        bounded = high != HIGHEST
        begins = _sort_distinct(np.concatenate([[LOWEST], low, high[bounded] + 1]))
        end = np.searchsorted(begins, high, side="right")
        return SegmentArrays(begins, *build_segment_tree(np.searchsorted(begins, low), end, len(begins)))

    def _stab(self, queries: Queries) -> None:
        kernels.stab_segments(self.arrays, queries)


class SpaceLists(IntervalStructure):
    """The spaces of a PS-Tree, each with a list of the intervals that cover it."""

    def _build(self, low: I64, high: I64) -> SpaceArrays:
        count = len(low)
        domain, tree = np.zeros(count, dtype=np.int32), PSTree()
        tree.ensure_domains(1)
        tree.insert(domain, low, high)
        offsets = np.arange(count + 1)
        spaces = tree.number_spaces(
            Predicates(domain, np.zeros(count, dtype=np.uint8), offsets, low, high), offsets[:-1]
        )
        ranges = ListRanges(offsets[:-1], offsets[1:], spaces.first, spaces.last)
        list_start, numbers = place_postings(offsets[:-1], offsets, ranges, spaces.total)
        return SpaceArrays(spaces.cuts, list_start, numbers.astype(np.int32))

    def _stab(self, queries: Queries) -> None:
        kernels.stab_spaces(self.arrays, queries)


class ElementLists(IntervalStructure):
    """The PS-Tree of the paper: a tree of elements, whose leaf nodes have lists of the intervals that cover them.

    Ends and points have at most `bits` bits.
    """

    def __init__(self, low: I64, high: I64, bits: int = 64) -> None:
        self._tree = ElementTree(bits)
        super().__init__(low, high)

    def _build(self, low: I64, high: I64) -> ElementTreeArrays:
        self._tree.insert(low, high, np.arange(len(low)))
        return self._tree.arrays

    def _stab(self, queries: Queries) -> None:
        kernels.stab_elements(self.arrays, queries)

    @property
    def nbytes(self) -> int:
        return self._tree.nbytes


def _sort_distinct(points: I64) -> I64:
    """Sort the points and drop duplicates, faster than np.unique, which hashes them."""
    points = np.sort(points)
    return points[np.append(True, points[1:] != points[:-1])[: len(points)]]
