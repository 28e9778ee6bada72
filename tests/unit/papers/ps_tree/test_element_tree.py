"""Element trees have the leaf nodes and lists that their intervals make, while intervals come and go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellwhen.papers.ps_tree.element_tree import ElementTree
from tellwhen.papers.ps_tree.element_tree.arrays import BEGINS, CELL, COUNT, COVERS, LEAVES, NEXT, E, G, L
from tellwhen.papers.ps_tree.element_tree.kernels import get_element, make_key
from tellwhen.papers.ps_tree.element_tree.verify import check_element_tree


def change(step, *intervals):
    step(*(np.array(column, np.int64) for column in zip(*intervals, strict=True)))


def list_elements(tree, value):
    key = make_key(tree.arrays, value)
    return [int(get_element(tree.arrays, key, k)) for k in range(len(tree.arrays.shift))]


def test_the_bytes_of_figure_2():
    tree = ElementTree(bits=8)
    change(tree.insert, (-5, -1, 1), (1, 5, 2))
    assert list_elements(tree, -5) == [0, 7, 11]  # "-", 7, 11
    assert tree.list_spaces() == [[], [1], [], [2], []]
    leaves = tree.locate(np.array([-128, -6, -5, -1, 0, 1, 2, 5, 6, 127]))
    first, second, third, fourth, fifth = tree.list_leaves()
    assert leaves.tolist() == [first, first, second, second, third, fourth, fourth, fourth, fifth, fifth]
    # Inner nodes: the root, "-" and "+", and one each for "-7" and "+0"; values -5, -1, 1 and 5, and the root's links.
    assert [len(tree.arrays.children) - tree.arrays.spare[0, COUNT], tree.nbytes] == [5, 5 * 64 + 5 * 20 + 5 * 12 + 24]


def test_the_ages_of_section_4_4():
    tree = ElementTree(bits=8)
    change(tree.insert, (20, 60, 1), (30, 80, 2))
    assert tree.list_spaces() == [[], [1], [1, 2], [2], []]
    change(tree.delete, (30, 80, 2))
    assert tree.list_spaces() == [[], [1], []]
    check_element_tree(tree, [(20, 60, 1)])


def test_a_32_bit_integer_has_nine_elements():
    assert [len(ElementTree(bits).arrays.shift) for bits in (8, 16, 32, 64)] == [3, 5, 9, 17]


def test_the_operators_of_a_value():
    """`< 5` and `> 5` keep 5 in a space of its own; `= 5` has the same two borders; `<= 5` has one."""
    tree = ElementTree()
    change(tree.insert, (-(1 << 63), 4, 1), (6, (1 << 63) - 1, 2))
    assert tree.list_spaces() == [[1], [], [2]]
    assert [tree.list_intervals(value) for value in (-9, 4, 5, 6, 99)] == [[1], [1], [], [2], [2]]
    change(tree.insert, (5, 5, 3))
    # Between the end of one interval and the begin of the next lies a space that no integer is in.
    assert tree.list_spaces() == [[1], [], [3], [], [2]]
    change(tree.delete, (5, 5, 3), (6, (1 << 63) - 1, 2))
    assert tree.list_spaces() == [[1], []]
    change(tree.delete, (-(1 << 63), 4, 1))
    assert tree.list_spaces() == [[]]
    check_element_tree(tree, [])


VALUES = st.integers(-128, 127) | st.sampled_from([-128, -127, -1, 0, 1, 15, 16, 126, 127])
STEPS = st.lists(st.tuples(st.lists(st.tuples(VALUES, VALUES), max_size=6), st.lists(st.integers(0, 50), max_size=6)))


@pytest.mark.parametrize("bits", [8, 64])
@given(steps=STEPS)
def test_any_sequence(bits, steps):
    tree, known = ElementTree(bits), []
    for k, (added, chosen) in enumerate(steps):
        fresh = [(min(pair), max(pair), 100 * k + n) for n, pair in enumerate(added)]
        if fresh:
            change(tree.insert, *fresh)
        known += fresh
        for n in chosen if known else ():
            change(tree.delete, known.pop(n % len(known)))
            if not known:
                break
        check_element_tree(tree, known)
        for point in {-128, 0, 127, *(point for low, high, _ in known for point in (low, high, (low + high) // 2))}:
            assert tree.list_intervals(point) == sorted(n for low, high, n in known if low <= point <= high)


def test_many_intervals_that_come_and_go():
    rng = np.random.default_rng(4)
    low = rng.integers(-(1 << 40), 1 << 40, 1000)
    low[::3] >>= 33  # many that are near each other
    high = np.where(rng.random(1000) < 0.2, low, low + rng.integers(0, 1 << 35, 1000))
    intervals = list(zip(low.tolist(), high.tolist(), range(1000), strict=True))
    tree = ElementTree()
    change(tree.insert, *intervals)
    check_element_tree(tree, intervals)
    change(tree.delete, *intervals[:900])
    check_element_tree(tree, intervals[900:])
    rows = len(tree.arrays.cells)
    change(tree.insert, *intervals[:900])
    check_element_tree(tree, intervals)
    assert len(tree.arrays.cells) <= rows  # spare rows are used again
    change(tree.delete, *intervals)
    check_element_tree(tree, [])


def test_values_of_too_many_bits_are_refused():
    with pytest.raises(ValueError, match="more than 8 bits"):
        ElementTree(8).insert(np.array([0]), np.array([128]), np.array([1]))
    with pytest.raises(ValueError, match="more than 8 bits"):
        ElementTree(8).locate(np.array([-129]))


@pytest.mark.parametrize(
    ("field", "row", "column"),
    [("values", 1, L), ("values", 1, E), ("values", 1, G), ("values", 1, BEGINS), ("leaves", 1, NEXT),
     ("leaves", 1, COVERS), ("leaves", 1, CELL), ("cells", 1, 1), ("children", 0, 1), ("spare", LEAVES, COUNT)],
)  # fmt: skip
def test_verify_notices(field, row, column):
    intervals = [(1, 5, 1), (3, 9, 2), (20, 20, 3)]
    tree = ElementTree(8)
    change(tree.insert, *intervals)
    check_element_tree(tree, intervals)
    getattr(tree.arrays, field)[row, column] += 1  # row 1 is the first that is taken
    with pytest.raises((AssertionError, IndexError)):
        check_element_tree(tree, intervals)
