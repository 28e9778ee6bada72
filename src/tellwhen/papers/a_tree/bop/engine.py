"""`bop`: expressions evaluated only if they have the minimum number of satisfied leaves (BoP; A-Tree, section 2).

Introduced by Bittner and Hinze.

Deviations: leaves are counted, not predicates. A predicate on two leaves of an expression counts twice, and the minimum
is a number of leaves, too. So (p OR q) AND (p OR r), which needs two leaves, is not lost where p alone is true. The
minimum itself is enough: the paper says "greater than", which its own example contradicts.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.calls import Call, make_sizes
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.a_tree.bop.arrays import BoPIndex, BoPScratch
from tellwhen.papers.a_tree.bop.encoding import encode_trees
from tellwhen.papers.a_tree.bop.kernels.match import match_encodings
from tellwhen.papers.a_tree.bop.verify import check_encodings
from tellwhen.papers.a_tree.shared.postings import post_leaves, size_leaf_scratch
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees


class BoP(TreeEngine):
    """Engine that counts satisfied leaves by expression, and evaluates the encodings of expressions with enough."""

    name = "bop"
    summary = "counts satisfied leaves by expression, and evaluates the encodings of those with enough (BoP)"
    index_kind = BoPIndex

    def _build_index(self, snapshot: Snapshot, trees: Trees) -> BoPIndex:
        minimum, start, encoding = encode_trees(trees)
        minimum = np.concatenate([minimum, np.ones(len(trees.by_code), dtype=np.uint16)])
        return BoPIndex(post_leaves(snapshot, trees), minimum, start, encoding)

    def _make_call(self, snapshot: Snapshot) -> Call:
        index: BoPIndex = self._index
        sizes = make_sizes(
            BoPScratch,
            leaf=size_leaf_scratch(index.posted, snapshot),
            counts=len(index.posted.slot),
            group=LEAVES_MAX,
            left=LEAVES_MAX,
            effort=2,
        )
        return Call(match_encodings, index, snapshot, sizes)

    def _verify_trees(self, trees: Trees) -> None:
        check_encodings(self._index, trees)
