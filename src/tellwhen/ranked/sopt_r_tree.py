"""The SOPT-R-tree: an R-tree of the intervals in an order that is as good for their places as their scores allow."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64
from tellwhen.ranked.arrays import Graph, RTreeArrays
from tellwhen.ranked.kernels.arrange import arrange, constraint_graph, cut
from tellwhen.ranked.order import by_rank, keys_of
from tellwhen.ranked.structures import ScoredRTree, packed_r_tree


def segments_of(low: I64, high: I64) -> tuple[I64, I64, int]:
    """(first, last, segments): where each interval begins and ends on the line cut at all ends."""
    cuts = np.column_stack([low, np.where(high == HIGHEST, HIGHEST, high + (high != HIGHEST))]).ravel()
    return cut(low, high, np.argsort(cuts, kind="stable").astype(np.int32), HIGHEST)


def graph_of(low: I64, high: I64) -> Graph:
    """The constraint graph of intervals in the order of their ranks (Algorithm 2)."""
    return constraint_graph(*segments_of(low, high))


def arranged(low: I64, high: I64) -> I32:
    """The arrangement of intervals in the order of their ranks (Algorithm 1)."""
    first, last, segments = segments_of(low, high)
    return arrange(constraint_graph(first, last, segments), first)


class SOPTRTree(ScoredRTree):
    """A packed R-tree of arranged intervals (section 3.2)."""

    name = "sopt-r-tree"
    summary = "an R-tree of the intervals in the best order that scores allow"

    def _build(self, low: I64, high: I64, score: F64) -> RTreeArrays:
        number = by_rank(score)
        number = number[arranged(low[number], high[number])]
        return packed_r_tree(low[number], high[number], keys_of(score[number]), number, self.fan_out)
