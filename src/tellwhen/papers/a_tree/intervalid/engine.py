"""`intervalid`: leaves have intervals; an expression is true if satisfied ones join without a gap (A-Tree, section 2).

Introduced by Fontoura et al., Efficiently evaluating complex Boolean expressions (SIGMOD 2010).
"""

from __future__ import annotations

from tellwhen.engines.shared.calls import Call, sizes_of
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.a_tree.intervalid.annotated import annotated
from tellwhen.papers.a_tree.intervalid.arrays import IntervalIndex, IntervalScratch
from tellwhen.papers.a_tree.intervalid.kernels.match import match_intervals
from tellwhen.papers.a_tree.intervalid.verify import check_intervals
from tellwhen.papers.a_tree.shared.postings import post, scratch_sizes
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees


class IntervalID(TreeEngine):
    """Gathers the intervals of satisfied leaves by expression, and joins them."""

    name = "intervalid"
    summary = "gathers the intervals of satisfied leaves by expression, and joins them (Interval ID)"
    index_kind = IntervalIndex

    def _indexed(self, snapshot: Snapshot, trees: Trees) -> IntervalIndex:
        interval, end = annotated(trees)
        return IntervalIndex(post(snapshot, trees, interval), end)

    def _call(self, snapshot: Snapshot) -> Call:
        index: IntervalIndex = self._index
        sizes = sizes_of(
            IntervalScratch,
            posted=scratch_sizes(index.posted, snapshot),
            last=len(index.posted.slot),
            chain=2 * len(index.posted.expression) + 2,
            leaves=LEAVES_MAX,
            reached=2 * LEAVES_MAX + 2,
            effort=2,
        )
        return Call(match_intervals, index, snapshot, sizes)

    def _verify_trees(self, trees: Trees) -> None:
        check_intervals(self._index, trees)
