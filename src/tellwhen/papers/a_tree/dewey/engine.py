"""`dewey`: expressions evaluated over the Dewey IDs of their satisfied leaves (A-Tree, section 2).

Introduced by Fontoura et al., Efficiently evaluating complex Boolean expressions (SIGMOD 2010).

Deviations: an expression with too many leaves, or with IDs that are too long, is decided by its program. IDs are packed
in 16-bit words, and one pass over the posting lists chains the satisfied leaves of each expression.
"""

from __future__ import annotations

from tellwhen.engines.shared.calls import Call, make_sizes
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.a_tree.dewey.annotation import annotate_trees
from tellwhen.papers.a_tree.dewey.arrays import DeweyIndex, DeweyScratch
from tellwhen.papers.a_tree.dewey.kernels.match import match_ids
from tellwhen.papers.a_tree.dewey.verify import check_ids
from tellwhen.papers.a_tree.shared.postings import post_leaves, size_chain_scratch
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees


class Dewey(TreeEngine):
    """Engine that gathers the Dewey IDs of satisfied leaves by expression, and evaluates the IDs in their order."""

    name = "dewey"
    summary = "gathers the Dewey IDs of satisfied leaves by expression, and evaluates these in order (Dewey ID)"
    index_kind = DeweyIndex

    def _build_index(self, snapshot: Snapshot, trees: Trees) -> DeweyIndex:
        trees, annotation, ids = annotate_trees(trees)
        return DeweyIndex(post_leaves(snapshot, trees, annotation), ids)

    def _make_call(self, snapshot: Snapshot) -> Call:
        index: DeweyIndex = self._index
        chains = size_chain_scratch(index.posted, snapshot)
        return Call(match_ids, index, snapshot, make_sizes(DeweyScratch, chains=chains, done=LEAVES_MAX + 1, effort=2))

    def _verify_trees(self, trees: Trees) -> None:
        check_ids(self._index, trees)
