"""`intervalid`: expressions that are true if the intervals of satisfied leaves join without a gap (A-Tree, section 2).

Introduced by Fontoura et al., Efficiently evaluating complex Boolean expressions (SIGMOD 2010).

Deviations: an expression with too many leaves is decided by its program. An interval is one 32-bit word, and one pass
over the posting lists chains the satisfied leaves of each expression.
"""

from __future__ import annotations

from tellwhen.engines.shared.calls import Call, make_sizes
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.a_tree.intervalid.annotation import annotate_trees
from tellwhen.papers.a_tree.intervalid.arrays import IntervalIndex, IntervalScratch
from tellwhen.papers.a_tree.intervalid.kernels.match import match_intervals
from tellwhen.papers.a_tree.intervalid.verify import check_intervals
from tellwhen.papers.a_tree.shared.postings import post_leaves, size_chain_scratch
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees


class IntervalID(TreeEngine):
    """Engine that gathers the intervals of satisfied leaves by expression, and joins the intervals."""

    name = "intervalid"
    summary = "gathers the intervals of satisfied leaves by expression, and joins them (Interval ID)"
    index_kind = IntervalIndex

    def _build_index(self, snapshot: Snapshot, trees: Trees) -> IntervalIndex:
        interval, end = annotate_trees(trees)
        return IntervalIndex(post_leaves(snapshot, trees, interval), end)

    def _make_call(self, snapshot: Snapshot) -> Call:
        index: IntervalIndex = self._index
        chains = size_chain_scratch(index.posted, snapshot)
        sizes = make_sizes(IntervalScratch, chains=chains, reached=2 * LEAVES_MAX + 2, effort=2)
        return Call(match_intervals, index, snapshot, sizes)

    def _verify_trees(self, trees: Trees) -> None:
        check_intervals(self._index, trees)
