"""The static structures: interval trees, a segment tree and R-trees (section 2).

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
from tellwhen.papers.ranked.kernels.interval_tree import build_interval_tree
from tellwhen.papers.ranked.kernels.layout import FOUND, R_TREE_WORDS
from tellwhen.papers.ranked.kernels.r_tree import fill_extents
from tellwhen.papers.ranked.kernels.segment_tree import build_segment_tree
from tellwhen.papers.ranked.order import encode_scores, sort_by_rank


class _RankBasedStructure(ScoredIntervals):
    """Base of the structures whose kernels identify an interval by its rank."""

    def _count_intervals(self, arrays: Any) -> int:
        return len(arrays.number)

    @property
    def cursor_words(self) -> int:
        return FOUND


class EndpointIntervalTree(_RankBasedStructure):
    """A conventional interval tree (section 2.2.2).

    The intervals that a point stabs in a node go into a heap of that node.
    """

    name = "endpoint-interval-tree"
    summary = "an interval tree sorted by ends, with a heap for each node on the path"
    kind = ENDPOINT_TREE

    def _build(self, low: I64, high: I64, score: F64) -> EndpointTreeArrays:
        number = sort_by_rank(score)
        low, high = low[number], high[number]
        centre, left, right, start, node_ranks = build_interval_tree(low, high, sort_ends(low, high))
        node = np.repeat(np.arange(len(centre)), np.diff(start))
        by_low = node_ranks[np.lexsort((low[node_ranks], node))]
        by_high = node_ranks[np.lexsort((~high[node_ranks], node))]  # ~: descending
        return EndpointTreeArrays(
            self.kind, centre, left, right, start, low[by_low], by_low, high[by_high], by_high, number
        )

    @property
    def cursor_words(self) -> int:
        return FOUND + len(self)


class UnscoredIntervalTree(EndpointIntervalTree):
    """A conventional interval tree that finds all stabbed intervals, then sorts them by rank."""

    name = "interval-tree"
    summary = "an interval tree that finds all, then sorts"
    kind = UNSCORED_TREE


class ScoredIntervalTree(_RankBasedStructure):
    """A score-sorted interval tree (section 2.2.2).

    Each node has its intervals by score, and the extent of all of them.
    """

    name = "scored-interval-tree"
    summary = "an interval tree sorted by score in each node"

    def _build(self, low: I64, high: I64, score: F64) -> ScoredTreeArrays:
        number = sort_by_rank(score)
        low, high = low[number], high[number]
        centre, left, right, start, rank = build_interval_tree(low, high, sort_ends(low, high))
        low, high = low[rank], high[rank]
        min_low = np.minimum.reduceat(low, start[:-1]) if len(low) else low
        max_high = np.maximum.reduceat(high, start[:-1]) if len(high) else high
        return ScoredTreeArrays(SCORED_TREE, centre, left, right, start, min_low, max_high, low, high, rank, number)


class ScoredSegmentTree(_RankBasedStructure):
    """A score-sorted segment tree: each node has its intervals by score (section 2.2.1)."""

    name = "scored-segment-tree"
    summary = "a segment tree sorted by score in each node"

    def _build(self, low: I64, high: I64, score: F64) -> SegmentTreeArrays:
        number = sort_by_rank(score)
        low, high = low[number], high[number]
        is_bounded = high != HIGHEST
        begins = np.unique(np.concatenate([[LOWEST], low, high[is_bounded] + 1]))
        first, last = np.searchsorted(begins, low), np.full(len(high), len(begins))
        last[is_bounded] = np.searchsorted(begins, high[is_bounded] + 1)
        start, rank = build_segment_tree(first, last, len(begins))
        return SegmentTreeArrays(SEGMENT_TREE, begins, start, rank, number)


class ScoredRTree(ScoredIntervals):
    """A packed R-tree of the intervals in score order (section 2.2.3)."""

    name = "scored-r-tree"
    summary = "an R-tree of the intervals in score order"

    def _build(self, low: I64, high: I64, score: F64) -> RTreeArrays:
        number = sort_by_rank(score)
        return pack_r_tree(low[number], high[number], encode_scores(score[number]), number, self.fan_out)

    def _count_intervals(self, arrays: RTreeArrays) -> int:
        return len(arrays.number) - arrays.dead_count + len(arrays.delta_number)

    @property
    def cursor_words(self) -> int:
        return R_TREE_WORDS


class UnscoredRTree(_RankBasedStructure):
    """A conventional R-tree, packed by position, that finds all stabbed intervals, then sorts them by rank."""

    name = "r-tree"
    summary = "an R-tree packed by place that finds all, then sorts"

    def _build(self, low: I64, high: I64, score: F64) -> UnscoredRTreeArrays:
        number = sort_by_rank(score)
        low, high = low[number], high[number]
        rank = np.argsort(low // 2 + high // 2, kind="stable").astype(np.int32)
        packed = append_extents(low[rank], high[rank], self.fan_out)
        return UnscoredRTreeArrays(UNSCORED_R_TREE, self.fan_out, *packed, rank, number)

    @property
    def cursor_words(self) -> int:
        return FOUND + len(self)


def sort_ends(low: I64, high: I64) -> I32:
    """Return the ends of all intervals, sorted by their points: 2i stands for low[i], 2i + 1 for high[i]."""
    return np.argsort(np.column_stack([low, high]).ravel(), kind="stable").astype(np.int32)


def append_extents(low: I64, high: I64, fan_out: int) -> tuple[I64, I64, I64]:
    """Append the extents of all levels of a packed R-tree to the intervals.

    Returns (level_start, low, high), as in `RTreeArrays`.
    """
    start, size = [0, len(low)], len(low)
    while size > 1 or len(start) == 2:
        size = -(-size // fan_out)
        start.append(start[-1] + size)
    level_start = np.array(start, dtype=np.int64)
    extents = np.zeros(level_start[-1] - len(low), dtype=np.int64)  # computed by fill_extents
    low, high = np.concatenate([low, extents]), np.concatenate([high, extents])
    fill_extents(low, high, level_start, fan_out)
    return level_start, low, high


def pack_r_tree(low: I64, high: I64, key: I64, number: I32, fan_out: int) -> RTreeArrays:
    """Pack intervals, in the given order, into an R-tree without dead intervals and without a delta."""
    no_words, no_numbers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    return RTreeArrays(
        R_TREE,
        fan_out,
        *append_extents(low, high, fan_out),
        key=key,
        number=number,
        dead_count=0,
        dead=np.zeros(0, dtype=np.uint8),
        delta_low=no_words,
        delta_high=no_words,
        delta_key=no_words,
        delta_number=no_numbers,
    )
