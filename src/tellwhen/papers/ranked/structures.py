"""The structures that never change: interval trees, a segment tree, R-trees (section 2).

>>> import numpy as np
>>> tree = ScoredSegmentTree(np.array([1, 4, 4]), np.array([6, 4, 9]), np.array([0.5, 0.7, 0.9]))
>>> tree.top_k(np.array([4]), 2).number.tolist()
[2, 1]
>>> list(tree.cursor(6))
[2, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST
from tellwhen.papers.ranked.arrays import (
    ENDPOINT_TREE,
    R_TREE,
    SCORED_TREE,
    SEGMENT_TREE,
    UNSCORED_R_TREE,
    UNSCORED_TREE,
    EndpointTreeArrays,
    RTreeArrays,
    ScoredTreeArrays,
    SegmentTreeArrays,
    UnscoredRTreeArrays,
)
from tellwhen.papers.ranked.intervals import ScoredIntervals
from tellwhen.papers.ranked.kernels.interval_tree import hang
from tellwhen.papers.ranked.kernels.layout import FOUND, R_TREE_WORDS
from tellwhen.papers.ranked.kernels.r_tree import fill_extents
from tellwhen.papers.ranked.kernels.segment_tree import hang_segments
from tellwhen.papers.ranked.order import by_rank, keys_of


class _Ranked(ScoredIntervals):
    """A structure whose kernels know intervals by their ranks."""

    def _count(self, arrays: Any) -> int:
        return len(arrays.number)

    @property
    def cursor_words(self) -> int:
        return FOUND


class EndpointIntervalTree(_Ranked):
    """A conventional interval tree; what a point stabs in a node goes into a heap of that node (section 2.2.2)."""

    name = "endpoint-interval-tree"
    summary = "an interval tree sorted by ends, with a heap for each node on the path"
    kind = ENDPOINT_TREE

    def _build(self, low: I64, high: I64, score: F64) -> EndpointTreeArrays:
        number = by_rank(score)
        low, high = low[number], high[number]
        centre, left, right, start, hung = hang(low, high, ends_of(low, high))
        node = np.repeat(np.arange(len(centre)), np.diff(start))
        by_low = hung[np.lexsort((low[hung], node))]
        by_high = hung[np.lexsort((~high[hung], node))]  # ~: descending
        return EndpointTreeArrays(
            self.kind, centre, left, right, start, low[by_low], by_low, high[by_high], by_high, number
        )

    @property
    def cursor_words(self) -> int:
        return FOUND + len(self)


class UnscoredIntervalTree(EndpointIntervalTree):
    """A conventional interval tree: find all, then sort."""

    name = "interval-tree"
    summary = "an interval tree that finds all, then sorts"
    kind = UNSCORED_TREE


class ScoredIntervalTree(_Ranked):
    """An interval tree whose nodes are sorted by score, and know how far their intervals reach (section 2.2.2)."""

    name = "scored-interval-tree"
    summary = "an interval tree sorted by score in each node"

    def _build(self, low: I64, high: I64, score: F64) -> ScoredTreeArrays:
        number = by_rank(score)
        low, high = low[number], high[number]
        centre, left, right, start, rank = hang(low, high, ends_of(low, high))
        low, high = low[rank], high[rank]
        least = np.minimum.reduceat(low, start[:-1]) if len(low) else low
        greatest = np.maximum.reduceat(high, start[:-1]) if len(high) else high
        return ScoredTreeArrays(SCORED_TREE, centre, left, right, start, least, greatest, low, high, rank, number)


class ScoredSegmentTree(_Ranked):
    """A segment tree whose nodes are sorted by score (section 2.2.1)."""

    name = "scored-segment-tree"
    summary = "a segment tree sorted by score in each node"

    def _build(self, low: I64, high: I64, score: F64) -> SegmentTreeArrays:
        number = by_rank(score)
        low, high = low[number], high[number]
        is_bounded = high != HIGHEST
        begins = np.unique(np.concatenate([[LOWEST], low, high[is_bounded] + 1]))
        first, last = np.searchsorted(begins, low), np.full(len(high), len(begins))
        last[is_bounded] = np.searchsorted(begins, high[is_bounded] + 1)
        start, rank = hang_segments(first, last, len(begins))
        return SegmentTreeArrays(SEGMENT_TREE, begins, start, rank, number)


class ScoredRTree(ScoredIntervals):
    """A packed R-tree of the intervals in score order (section 2.2.3)."""

    name = "scored-r-tree"
    summary = "an R-tree of the intervals in score order"

    def _build(self, low: I64, high: I64, score: F64) -> RTreeArrays:
        number = by_rank(score)
        return packed_r_tree(low[number], high[number], keys_of(score[number]), number, self.fan_out)

    def _count(self, arrays: RTreeArrays) -> int:
        return len(arrays.number) - arrays.dead_count + len(arrays.delta_number)

    @property
    def cursor_words(self) -> int:
        return R_TREE_WORDS


class UnscoredRTree(_Ranked):
    """A conventional R-tree, packed by place: find all, then sort."""

    name = "r-tree"
    summary = "an R-tree packed by place that finds all, then sorts"

    def _build(self, low: I64, high: I64, score: F64) -> UnscoredRTreeArrays:
        number = by_rank(score)
        low, high = low[number], high[number]
        rank = np.argsort(low // 2 + high // 2, kind="stable").astype(np.int32)
        packed = with_extents(low[rank], high[rank], self.fan_out)
        return UnscoredRTreeArrays(UNSCORED_R_TREE, self.fan_out, *packed, rank, number)

    @property
    def cursor_words(self) -> int:
        return FOUND + len(self)


def ends_of(low: I64, high: I64) -> I32:
    """The ends in the order of their points: 2i is low[i], 2i + 1 is high[i]."""
    return np.argsort(np.column_stack([low, high]).ravel(), kind="stable").astype(np.int32)


def with_extents(low: I64, high: I64, fan_out: int) -> tuple[I64, I64, I64]:
    """(level_start, low, high) with the extents of all levels behind the intervals."""
    start, size = [0, len(low)], len(low)
    while size > 1 or len(start) == 2:
        size = -(-size // fan_out)
        start.append(start[-1] + size)
    level_start = np.array(start, dtype=np.int64)
    room = np.zeros(level_start[-1] - len(low), dtype=np.int64)
    low, high = np.concatenate([low, room]), np.concatenate([high, room])
    fill_extents(low, high, level_start, fan_out)
    return level_start, low, high


def packed_r_tree(low: I64, high: I64, key: I64, number: I32, fan_out: int) -> RTreeArrays:
    """A packed R-tree of intervals in this order, without changes."""
    none, no_numbers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    return RTreeArrays(
        R_TREE,
        fan_out,
        *with_extents(low, high, fan_out),
        key=key,
        number=number,
        dead_count=0,
        dead=np.zeros(0, dtype=np.uint8),
        delta_low=none,
        delta_high=none,
        delta_key=none,
        delta_number=no_numbers,
    )
