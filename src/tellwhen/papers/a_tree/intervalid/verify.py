"""Checks of the intervals of an index, for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, I64
from tellwhen.papers.a_tree.intervalid.annotation import annotate_trees
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex
from tellwhen.papers.a_tree.shared.trees import Trees
from tellwhen.papers.a_tree.shared.verify import list_postings


def check_intervals(index: IntervalIndex, trees: Trees) -> None:
    """Check that leaves have the intervals of the trees, each on a path from the first point to the last."""
    expression, interval, predicate = list_postings(index.posted)
    wanted, end = annotate_trees(trees)
    owner, named = trees.list_leaves()
    order = np.lexsort((named, wanted, owner))
    assert np.array_equal(end, index.end), "the last point of a tree is wrong"
    assert np.array_equal(wanted[order], interval), "an interval is wrong"
    assert np.array_equal(named[order], predicate), "an interval is on another leaf"
    check_paths(expression, interval, end[expression].astype(np.int64))


def check_paths(expression: I32, interval: I32, last: I64) -> None:
    """Check that intervals stay in their tree, and that each connects to an interval before it and one after it."""
    begin, end = interval >> BEGIN_SHIFT, interval & END_MASK
    assert (begin >= 1).all(), "an interval begins before its tree"
    assert (begin <= end).all(), "an interval ends before it begins"
    assert (end <= last).all(), "an interval ends after its tree"
    from_point, to_point = (expression.astype(np.int64) << 32 | point for point in (begin - 1, end))
    assert (np.isin(from_point, to_point) | (begin == 1)).all(), "no interval leads to where an interval begins"
    assert (np.isin(to_point, from_point) | (end == last)).all(), "no interval leads on from where an interval ends"
