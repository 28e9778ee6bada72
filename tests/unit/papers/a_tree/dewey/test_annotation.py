"""Dewey IDs of leaves."""

import pytest

from tellwhen.papers.a_tree.dewey.annotation import annotate_trees
from tellwhen.papers.a_tree.dewey.arrays import STAR
from tree_support import EXAMPLE, expand

pytestmark = pytest.mark.late


def read_ids(text):
    _, annotation, ids = annotate_trees(expand(text))
    found = []
    for at in annotation.tolist():
        words = ids[at + 1 : at + 1 + int(ids[at])].tolist()
        found.append(".".join(f"{word // 2}{'*' if word & STAR else ''}" for word in words))
    return found


def test_figure_1():
    assert read_ids(EXAMPLE) == ["1.1", "1.2", "1.3", "2", "3*.1", "3*.2"]


def test_a_root_that_is_no_and_is_below_an_and_of_one_child():
    assert read_ids("p1 = 1") == ["1*"]
    assert read_ids("p1 = 1 OR p2 = 1") == ["1*.1", "1*.2"]
