"""Encodings and minima of trees."""

import pytest

from tellwhen.papers.a_tree.bop.encoding import encode_trees
from tellwhen.papers.a_tree.bop.verify import read_numbers
from tree_support import EXAMPLE, expand

pytestmark = pytest.mark.late


def test_figure_2():
    minimum, start, encoding = encode_trees(expand(EXAMPLE))
    assert list(read_numbers(encoding)) == [1, 3, 2, 3, 4, 1, 4, 2, 4, 3, 4, 4, 2, 2, 4, 5, 4, 6]
    assert (len(encoding), minimum.tolist(), start.tolist()) == (18, [3], [0, 18])
