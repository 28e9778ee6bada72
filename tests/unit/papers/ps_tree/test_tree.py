"""PS-Trees have the spaces that their intervals make, while intervals are inserted and deleted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ps_tree.tree import PSTree
from tellwhen.papers.ps_tree.verify import check_trees


def make_arrays(intervals):
    domain, low, high = zip(*intervals, strict=True) if intervals else ((), (), ())
    return np.array(domain, np.int32), np.array(low, np.int64), np.array(high, np.int64)


def insert(tree, *intervals):
    tree.insert(*make_arrays(intervals))


def delete(tree, *intervals):
    tree.delete(*make_arrays(intervals))


def check(tree, *intervals):
    domain, low, high = make_arrays(intervals)
    check_trees(tree.arrays, domain, low, high, np.ones(len(domain), np.int64))


def test_the_ages_of_section_4_4():
    tree = PSTree()
    insert(tree, (0, 20, 60), (0, 30, 80))
    assert tree.list_interval_counts(0) == [(LOWEST, 0), (20, 1), (30, 2), (61, 1), (81, 0)]
    delete(tree, (0, 30, 80))
    assert tree.list_interval_counts(0) == [(LOWEST, 0), (20, 1), (61, 0)]
    check(tree, (0, 20, 60))


def test_the_bytes_of_figure_2():
    tree = PSTree()
    insert(tree, (0, -5, -1), (0, 1, 5))
    assert [begin for begin, _ in tree.list_interval_counts(0)] == [LOWEST, -5, 0, 1, 6]
    assert [covered for _, covered in tree.list_interval_counts(0)] == [0, 1, 0, 1, 0]
    ids = tree.locate(np.zeros(5, np.int32), np.array([-128, -5, 0, 1, 127]))
    assert len(set(ids.tolist())) == 5
    at_two = tree.locate(np.zeros(3, np.int32), np.array([2, 5, 6]))
    assert at_two.tolist() == [ids[3], ids[3], ids[4]]


def test_a_split_copies_the_counter():
    tree = PSTree()
    insert(tree, (0, 0, 9))
    insert(tree, (0, 5, 6))
    assert tree.list_interval_counts(0) == [(LOWEST, 0), (0, 1), (5, 2), (7, 1), (10, 0)]
    delete(tree, (0, 5, 6))
    assert tree.list_interval_counts(0) == [(LOWEST, 0), (0, 1), (10, 0)]


def test_ids_stay_while_others_come_and_go():
    tree = PSTree()
    insert(tree, *((0, 10 * k, 10 * k + 4) for k in range(20)))
    points = np.arange(0, 200, 10)
    before = tree.locate(np.zeros(20, np.int32), points)
    insert(tree, *((0, 10 * k + 6, 10 * k + 7) for k in range(20)), (3, 1, 1))
    assert tree.locate(np.zeros(20, np.int32), points).tolist() == before.tolist()
    delete(tree, *((0, 10 * k + 6, 10 * k + 7) for k in range(20)))
    assert tree.locate(np.zeros(20, np.int32), points).tolist() == before.tolist()
    assert tree.domains == 4


def test_an_id_used_again_has_forgotten_its_counters():
    tree = PSTree()
    insert(tree, (0, 3, 5), (0, 3, HIGHEST))
    delete(tree, (0, 3, 5), (0, 3, HIGHEST))
    insert(tree, (1, 7, 7))
    assert tree.list_interval_counts(1) == [(LOWEST, 0), (7, 1), (8, 0)]
    check(tree, (1, 7, 7))


def test_an_empty_tree():
    tree = PSTree()
    insert(tree)
    tree.ensure_domains(2)
    assert tree.list_interval_counts(1) == [(LOWEST, 0)]
    check(tree)


ENDS = st.sampled_from([LOWEST, LOWEST + 1, -3, -2, 0, 1, 2, 3, 4, 8, 9, HIGHEST - 1, HIGHEST])
INTERVALS = st.tuples(st.integers(0, 2), ENDS, ENDS).map(lambda i: (i[0], min(i[1:]), max(i[1:])))


@given(st.lists(st.tuples(st.lists(INTERVALS, max_size=6), st.lists(st.integers(0, 50), max_size=6)), max_size=8))
def test_any_sequence(steps):
    """Each step inserts some intervals and deletes some of those there are, in one batch."""
    tree, known = PSTree(), []
    for added, chosen in steps:
        gone = sorted({n % len(known) for n in chosen}, reverse=True) if known else []
        domain, low, high = make_arrays([*added, *(known.pop(n) for n in gone)])
        known += added
        tree.insert(domain, low, high, np.array([1] * len(added) + [-1] * len(gone)))
        check(tree, *known)
        for k in range(tree.domains):
            begins = sorted({LOWEST} | {b for n, a, z in known if n == k for b in (a, z + 1) if b <= HIGHEST})
            covers = [sum(n == k and a <= b <= z for n, a, z in known) for b in begins]
            assert tree.list_interval_counts(k) == list(zip(begins, covers, strict=True))
            nearby = np.clip(np.array([b + d for b in begins for d in (-1, 0, 1)], dtype=object), LOWEST, HIGHEST)
            points = np.array(nearby, dtype=np.int64)
            numbers = np.searchsorted(begins, points, side="right") - 1
            ids = tree.locate(np.full(len(points), k, np.int32), points)
            assert len(set(zip(numbers.tolist(), ids.tolist(), strict=True))) == len(begins)


def test_many_at_once_and_one_by_one_are_the_same():
    rng = np.random.default_rng(3)
    domain = rng.integers(0, 4, 2000).astype(np.int32)
    low = rng.integers(-300, 300, 2000)
    high = low + rng.integers(0, 50, 2000)
    whole, parts = PSTree(), PSTree()
    whole.insert(domain, low, high)
    for k in range(0, 2000, 7):
        parts.insert(domain[k : k + 7], low[k : k + 7], high[k : k + 7])
    for tree in (whole, parts):
        check_trees(tree.arrays, domain, low, high, np.ones(2000, np.int64))
    assert all(whole.list_interval_counts(k) == parts.list_interval_counts(k) for k in range(4))
    parts.delete(domain[500:], low[500:], high[500:])
    check_trees(parts.arrays, domain[:500], low[:500], high[:500], np.ones(500, np.int64))


@pytest.mark.parametrize("broken", ["keys", "ids", "ends", "covers", "used"])
def test_verify_notices(broken):
    tree = PSTree()
    insert(tree, (0, 3, 5), (0, 4, 9), (1, 2, 2))
    check(tree, (0, 3, 5), (0, 4, 9), (1, 2, 2))
    array = getattr(tree.arrays, broken)
    at = {"keys": 2, "ids": 2, "ends": tree.arrays.ids[3], "covers": tree.arrays.ids[3], "used": 0}[broken]
    array[at] += {"used": -1}.get(broken, 1)
    with pytest.raises(AssertionError):
        check(tree, (0, 3, 5), (0, 4, 9), (1, 2, 2))
