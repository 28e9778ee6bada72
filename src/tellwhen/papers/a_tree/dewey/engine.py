"""`dewey`: leaves have Dewey IDs; an expression is evaluated over those of satisfied leaves (A-Tree, section 2).

Introduced by Fontoura et al., Efficiently evaluating complex Boolean expressions (SIGMOD 2010).
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.calls import Call, sizes_of
from tellwhen.kernels.arrays import I32, U16, Snapshot
from tellwhen.papers.a_tree.dewey.arrays import DeweyIndex, DeweyScratch
from tellwhen.papers.a_tree.dewey.kernels.annotate import measure_ids, write_ids
from tellwhen.papers.a_tree.dewey.kernels.match import match_ids
from tellwhen.papers.a_tree.dewey.verify import check_ids
from tellwhen.papers.a_tree.shared.postings import post, scratch_sizes
from tellwhen.papers.a_tree.shared.tree_engine import TreeEngine
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees, without

ID_WORDS_MAX = 1 << 16
"""The most words of all IDs of one expression. They grow with leaves times depth: a tree of depth 1,000 has more."""

ALL_WORDS_MAX = (1 << 31) - 1
"""The most words of all IDs of an index: an annotation has 31 bits. Programs decide the expressions beyond."""


class Dewey(TreeEngine):
    """Gathers the IDs of satisfied leaves by expression, and evaluates them in their order."""

    name = "dewey"
    summary = "gathers the Dewey IDs of satisfied leaves by expression, and evaluates these in order (Dewey ID)"
    index_kind = DeweyIndex

    def _indexed(self, snapshot: Snapshot, trees: Trees) -> DeweyIndex:
        trees, annotation, ids = annotated(trees)
        return DeweyIndex(post(snapshot, trees, annotation), ids)

    def _call(self, snapshot: Snapshot) -> Call:
        index: DeweyIndex = self._index
        sizes = sizes_of(
            DeweyScratch,
            posted=scratch_sizes(index.posted, snapshot),
            last=len(index.posted.slot),
            chain=2 * len(index.posted.expression) + 2,
            leaves=LEAVES_MAX,
            done=LEAVES_MAX + 1,
            effort=2,
        )
        return Call(match_ids, index, snapshot, sizes)

    def _verify_trees(self, trees: Trees) -> None:
        check_ids(self._index, trees)


def annotated(trees: Trees) -> tuple[Trees, I32, U16]:
    """The trees whose IDs are not too long; by leaf where its ID is; and the IDs."""
    # A level more than groups, which have at least two children each.
    children, numbers = np.empty((2, LEAVES_MAX + 1), dtype=np.int64)
    words = np.empty(len(trees.slot), dtype=np.int64)
    measure_ids(trees.start, trees.node, children, numbers, words)
    is_long = words > ID_WORDS_MAX
    is_long |= np.cumsum(np.where(is_long, 0, words)) > ALL_WORDS_MAX
    trees = without(trees, is_long)
    annotation = np.empty(int((trees.node >= 0).sum()), dtype=np.int32)
    ids = np.empty(int(words[~is_long].sum()), dtype=np.uint16)
    write_ids(trees.start, trees.node, children, numbers, annotation, ids)
    return trees, annotation, ids
