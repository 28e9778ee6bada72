"""Interval IDs of leaves."""

import pytest

import tellwhen as tw
from tellwhen.papers.a_tree.intervalid.annotation import annotate_trees
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK
from tree_support import EXAMPLE, expand, make_event

pytestmark = pytest.mark.late


def read_intervals(text):
    packed, end = annotate_trees(expand(text))
    return [(int(i) >> BEGIN_SHIFT, int(i) & END_MASK) for i in packed], int(end[0])


def test_figure_1():
    assert read_intervals(EXAMPLE) == ([(1, 4), (1, 4), (1, 4), (5, 5), (6, 10), (6, 10)], 10)


def test_a_single_leaf():
    assert read_intervals("p1 = 1") == ([(1, 2)], 2)


def test_ands_below_an_or_are_cut_at_different_points():
    text = "(p1 = 1 AND p2 = 1) OR (p3 = 1 AND p4 = 1)"
    assert read_intervals(text) == ([(1, 1), (2, 8), (1, 4), (5, 8)], 8)
    index = tw.Index("intervalid").add(1, text).rebuild()
    assert [index.match(make_event(*true)) for true in ((1, 4), (3, 2), (1, 2), (3, 4))] == [[], [], [1], [1]]
