"""`bop`: an expression with fewer satisfied leaves than it needs is not evaluated (BoP; A-Tree, section 2).

Introduced by Bittner and Hinze. Deviation: leaves are counted, not predicates. A predicate on two leaves of an
expression counts twice for it, and its minimum is one of leaves, too. So (p OR q) AND (p OR r), which needs two leaves,
is not lost where p alone is true.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.calls import Call, sizes_of
from tellwhen.kernels.arrays import I64, U8, U16, Snapshot
from tellwhen.papers.a_tree.bop.arrays import BoPIndex, BoPScratch
from tellwhen.papers.a_tree.bop.kernels.encode import encode, measure
from tellwhen.papers.a_tree.bop.kernels.match import match_counted
from tellwhen.papers.a_tree.bop.verify import check_encodings
from tellwhen.papers.a_tree.shared.postings import post, scratch_sizes
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees


class BoP(TreeEngine):
    """Counts satisfied leaves by expression, and evaluates the encodings of those that have enough."""

    name = "bop"
    summary = "counts satisfied leaves by expression, and evaluates the encodings of those with enough (BoP)"
    index_kind = BoPIndex

    def _indexed(self, snapshot: Snapshot, trees: Trees) -> BoPIndex:
        minimum, start, encoding = encoded(trees)
        minimum = np.concatenate([minimum, np.ones(len(trees.by_code), dtype=np.uint16)])
        return BoPIndex(post(snapshot, trees), minimum, start, encoding)

    def _call(self, snapshot: Snapshot) -> Call:
        index: BoPIndex = self._index
        sizes = sizes_of(
            BoPScratch,
            posted=scratch_sizes(index.posted, snapshot),
            counts=len(index.posted.slot),
            group=LEAVES_MAX,
            left=LEAVES_MAX,
            effort=2,
        )
        return Call(match_counted, index, snapshot, sizes)

    def _verify_trees(self, trees: Trees) -> None:
        check_encodings(self._index, trees)


def encoded(trees: Trees) -> tuple[U16, I64, U8]:
    """By tree the least of its leaves that must be true, and where its encoding begins; and all encodings."""
    minimum = np.empty(len(trees.slot), dtype=np.uint16)
    start = np.zeros(len(trees.slot) + 1, dtype=np.int64)
    pending = np.empty(int(np.diff(trees.start).max(initial=0)), dtype=np.int64)
    measure(trees.start, trees.node, pending, minimum, start)
    encoding = np.empty(start[-1], dtype=np.uint8)
    encode(trees.node, encoding)
    return minimum, start, encoding
