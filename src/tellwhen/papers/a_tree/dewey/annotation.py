"""The Dewey IDs of the leaves of trees."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, U16
from tellwhen.papers.a_tree.dewey.kernels.annotate import measure_ids, write_ids
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees, drop_trees

ID_WORDS_MAX = 1 << 16
"""Words of all IDs of one expression, at most. They grow with leaves times depth: a tree of depth 1,000 has more."""

ALL_WORDS_MAX = (1 << 31) - 1
"""Words of all IDs of an index, at most: an annotation has 31 bits. Programs decide the expressions beyond."""


def annotate_trees(trees: Trees) -> tuple[Trees, I32, U16]:
    """Return the trees whose IDs are short enough, the offset of the ID of every leaf, and the IDs."""
    # A level more than groups, which have at least two children each.
    children, numbers = np.empty((2, LEAVES_MAX + 1), dtype=np.int64)
    words = np.empty(len(trees.slot), dtype=np.int64)
    measure_ids(trees.start, trees.node, children, numbers, words)
    is_long = words > ID_WORDS_MAX
    is_long |= np.cumsum(np.where(is_long, 0, words)) > ALL_WORDS_MAX
    trees = drop_trees(trees, is_long)
    annotation = np.empty(int((trees.node >= 0).sum()), dtype=np.int32)
    ids = np.empty(int(words[~is_long].sum()), dtype=np.uint16)
    write_ids(trees.start, trees.node, children, numbers, annotation, ids)
    return trees, annotation, ids
