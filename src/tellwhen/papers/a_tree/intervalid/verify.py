"""Is an index of `intervalid` whole? Its invariants, checked; for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, I64
from tellwhen.papers.a_tree.intervalid.annotated import annotated
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK, IntervalIndex
from tellwhen.papers.a_tree.shared.tree_engine import leaves_of
from tellwhen.papers.a_tree.shared.trees import Trees


def check_intervals(index: IntervalIndex, trees: Trees) -> None:
    """Leaves have the intervals of the trees, and each is part of a way from the first point to the last."""
    expression, interval, predicate = leaves_of(index.posted)
    wanted, end = annotated(trees)
    owner, asked = trees.leaves()
    order = np.lexsort((asked, wanted, owner))
    assert np.array_equal(end, index.end), "the last point of a tree is wrong"
    assert np.array_equal(wanted[order], interval), "an interval is wrong"
    assert np.array_equal(asked[order], predicate), "an interval is on another leaf"
    check_ways(expression, interval, end[expression].astype(np.int64))


def check_ways(expression: I32, interval: I32, last: I64) -> None:
    """No interval leads out of its tree, begins where nothing leads to, or ends where nothing leads on from."""
    begin, end = interval >> BEGIN_SHIFT, interval & END_MASK
    assert (begin >= 1).all(), "an interval begins before its tree"
    assert (begin <= end).all(), "an interval ends before it begins"
    assert (end <= last).all(), "an interval ends behind its tree"
    from_point, to_point = (expression.astype(np.int64) << 32 | point for point in (begin - 1, end))
    assert (np.isin(from_point, to_point) | (begin == 1)).all(), "nothing leads to where an interval begins"
    assert (np.isin(to_point, from_point) | (end == last)).all(), "nothing leads on from where an interval ends"
