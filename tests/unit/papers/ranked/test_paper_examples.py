"""Scalable Ranked Publish/Subscribe: its examples, lemmas and theorems.

The figures are images. These ten intervals are reconstructed from the text: what Examples 1, 2, 4 and 5 say fixes 1, 3,
6, 7 and 9, and the inner ends of 4 and 10; the rest is chosen among what they leave open. Interval 1 scores highest.
The figure's intervals meet in their ends without touching (1 begins where 6 ends, but "intersects 3 and 9", and 10), so
an interval from a to b is a*10 .. b*10 - 1 here. Figure 3's grouping cannot be told from the text, and is left out.
"""

import random

import numpy as np
import pytest

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ranked import (
    EndpointIntervalTree,
    IRTree,
    ScoredIntervalTree,
    ScoredRTree,
    ScoredSegmentTree,
    SOPTRTree,
)
from tellwhen.papers.ranked.kernels.ir_pool import BLOCKS, NODES
from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX, VISITED
from tellwhen.papers.ranked.sopt_r_tree import arrange_intervals, build_constraint_graph

FIGURE = [(30, 55), (65, 100), (45, 55), (65, 90), (10, 30), (0, 30), (75, 100), (55, 90), (10, 45), (0, 100)]
LOW = np.array([10 * a for a, _ in FIGURE])
HIGH = np.array([10 * b - 1 for _, b in FIGURE])
SCORE = np.arange(10, 0, -1.0)


def number_from_one(ranks):
    """The paper numbers intervals from 1, by score."""
    return {int(rank) + 1 for rank in ranks}


def edges(graph):
    sources = np.repeat(np.arange(len(graph.start) - 1), np.diff(graph.start))
    return list(zip(sources.tolist(), graph.target.tolist(), strict=True))


def count_visited_nodes(tree, point, k):
    cursor = tree.cursor(point)
    for _ in range(k):
        cursor.getnext()
    return cursor.words[VISITED : VISITED + LEVELS_MAX]


# section 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", [EndpointIntervalTree, ScoredIntervalTree])
def test_example_1_the_interval_tree(kind):
    """The centres 50, 20 and 80 lie between two ends; here a centre is an end, with the same intervals at it."""
    tree = kind(LOW, HIGH, SCORE).arrays
    ranks = tree.rank_by_low if kind is EndpointIntervalTree else tree.rank
    nodes = [number_from_one(ranks[a:b]) for a, b in zip(tree.start[:-1], tree.start[1:], strict=True)]
    assert nodes[0] == {1, 3, 10}
    assert nodes[tree.left[0]] == {5, 6, 9}
    assert nodes[tree.right[0]] == {2, 4, 7, 8}
    assert len(nodes) == 3
    if kind is EndpointIntervalTree:
        assert [int(rank) + 1 for rank in tree.rank_by_low[:3]] == [10, 1, 3]
        # The text lists them by ascending right ends, {1, 3, 10}; here they descend. 1 and 3 end together.
        assert int(tree.rank_by_high[0]) + 1 == 10


@pytest.mark.slow
def test_example_2_the_segment_tree():
    tree = ScoredSegmentTree(LOW, HIGH, SCORE)
    arrays = tree.arrays
    assert arrays.begins.tolist() == [
        LOWEST,
        *(10 * x for x in (0, 10, 30, 45, 55, 65, 75, 90, 100)),
    ]  # 9 distinct ends
    of_9 = [v for v in range(len(arrays.start) - 1) if 8 in arrays.rank[arrays.start[v] : arrays.start[v + 1]]]
    leaves = len(arrays.begins)
    covered = [k for k in range(leaves) if any((k + leaves) >> up in of_9 for up in range(5))]
    assert arrays.begins[covered].tolist() == [100, 300]  # 10..30 and 30..45
    assert number_from_one(tree.cursor(800)) == {10, 2, 7, 4, 8}


@pytest.mark.slow
def test_figure_4_holes_in_a_scored_r_tree():
    """With fan-out 4, the point 90 lies in the extents of all leaves: to find all, every node is visited."""
    tree = ScoredRTree(LOW, HIGH, SCORE, fan_out=4)
    assert count_visited_nodes(tree, 900, 10)[1:4].tolist() == [3, 1, 0]
    assert [int(n) + 1 for n in tree.cursor(900)] == [2, 7, 10]


def random_intervals(seed, count=None):
    """Points, touching, nested, with ties and infinite ends."""
    rng = random.Random(seed)
    count = rng.randrange(1, 40) if count is None else count
    ends = [sorted((rng.randrange(40), rng.randrange(40))) for _ in range(count)]
    ends = [(a, min(b, a + rng.choice([0, 2, 40]))) for a, b in ends]
    ends = [(LOWEST if rng.random() < 0.04 else a, HIGHEST if rng.random() < 0.04 else b) for a, b in ends]
    low, high = (np.array([end[n] for end in ends], dtype=np.int64) for n in range(2))
    return low, high


@pytest.mark.slow
def test_lemma_2_1_left_first_search_is_in_score_order():
    for seed in range(30):
        low, high = random_intervals(seed)
        score = np.random.default_rng(seed).permutation(len(low)).astype(np.float64)
        for point in range(-1, 41, 3):
            found = list(ScoredRTree(low, high, score, fan_out=3).cursor(point))
            assert sorted(found, key=lambda n: -score[n]) == found


# section 3.1


@pytest.mark.slow
def test_lemma_3_1_no_holes():
    """If a point lies in the extent of a block, an interval below contains it."""
    for seed in range(12):
        low, high = random_intervals(seed, 60)
        tree = IRTree(low, high, np.random.default_rng(seed).normal(size=60), fan_out=3)
        arrays = tree.arrays

        def list_intervals(block, arrays=arrays):
            entries = range(arrays.first[block], arrays.first[block] + arrays.size[block])
            if arrays.level[block] == 0:
                return [(int(arrays.low[at]), int(arrays.high[at])) for at in entries]
            return [one for at in entries for one in list_intervals(int(arrays.item[at]))]

        for block in range(arrays.counts[BLOCKS]):
            found = list_intervals(block)
            first, last = max(min(a for a, _ in found), -1), min(max(b for _, b in found), 41)
            for point in range(first, last + 1):
                assert any(a <= point <= b for a, b in found)


@pytest.mark.slow
def test_theorem_3_1_space_of_an_ir_tree():
    """At most 1.5 times a conventional interval tree at fan-out 2, counted as the paper does, in entries: an interval
    in a list, or the extent of a block. And at most 1 + 1/(b-1) of a score-sorted one, up to a rounding per block."""
    rng = np.random.default_rng(0)
    middle, half = rng.integers(0, 1 << 40, 20_000), rng.integers(0, 1 << 38, 20_000)
    given = middle - half, middle + half, rng.normal(size=20_000)
    conventional = EndpointIntervalTree(*given).arrays
    for fan_out in (2, 8, 50):
        arrays = IRTree(*given, fan_out=fan_out).arrays
        entries = int(arrays.size[: arrays.counts[BLOCKS]].sum())
        nodes = int(arrays.counts[NODES])
        assert entries <= 1.5 * (len(conventional.rank_by_low) + len(conventional.rank_by_high))
        assert entries <= 20_000 * (1 + 1 / (fan_out - 1)) + 16 * nodes
    assert IRTree(*given).nbytes <= 2 * ScoredIntervalTree(*given).nbytes


# section 3.2


def naive_edges(low, high):
    """The definition: some point of both is in no interval of a rank between."""
    points = sorted({LOWEST, *low.tolist(), *(b + 1 for b in high.tolist() if b != HIGHEST)})
    found = set()
    for j in range(len(low)):
        for i in range(j):
            for x in points:
                if all(low[n] <= x <= high[n] for n in (i, j)) and not any(
                    low[n] <= x <= high[n] for n in range(i + 1, j)
                ):
                    found.add((i, j))
                    break
    return found


def naive_arrangement(low, edges):
    left, order = set(range(len(low))), []
    while left:
        blocked = {j for i, j in edges if i in left}
        order.append(min(left - blocked, key=lambda n: (low[n], n)))
        left.remove(order[-1])
    return order


@pytest.mark.slow
def test_example_4_the_constraint_graph():
    found = {(a + 1, b + 1) for a, b in edges(build_constraint_graph(LOW, HIGH))}
    assert {(1, 3), (1, 9), (3, 10)} <= found
    assert (1, 10) not in found  # covered by the path 1, 3, 10
    assert {b for a, b in found if a == 1} == {3, 9}


def test_example_5_visible_blocks():
    """A line across everything touches all visible blocks of 1 to 7, so it has edges from the intervals that they are
    associated with. "(-inf, 30]" in the list of blocks without one is a misprint of (-inf, 0]."""
    low, high = np.append(LOW[:7], LOWEST), np.append(HIGH[:7], HIGHEST)
    assert {a + 1 for a, b in edges(build_constraint_graph(low, high)) if b == 7} == {6, 1, 3, 4, 7}
    # Block by block.
    for begin, end, owner in [(0, 30, 6), (30, 45, 1), (45, 55, 3), (65, 75, 4), (75, 100, 7)]:
        graph = build_constraint_graph(np.append(LOW[:7], 10 * begin), np.append(HIGH[:7], 10 * end - 1))
        assert [a + 1 for a, b in edges(graph) if b == 7] == [owner]
    for begin, end in [(-20, -1), (550, 649), (1000, 1020)]:
        graph = build_constraint_graph(np.append(LOW[:7], begin), np.append(HIGH[:7], end))
        assert [a for a, b in edges(graph) if b == 7] == []


def test_figure_5_the_arrangement():
    order = arrange_intervals(LOW, HIGH)
    assert order.tolist() == naive_arrangement(LOW, naive_edges(LOW, HIGH))
    tree = SOPTRTree(LOW, HIGH, SCORE, fan_out=4)
    assert tree.arrays.number.tolist() == order.tolist()
    # By place now: all that lies left of the middle comes before all that lies right of it, and 10, over all, last.
    assert [int(n) + 1 for n in order] == [5, 6, 1, 9, 3, 2, 4, 7, 8, 10]


@pytest.mark.parametrize("seed", range(60))
def test_lemma_3_3_edges_are_those_of_the_definition(seed):
    low, high = random_intervals(seed)
    graph = build_constraint_graph(low, high)
    found = edges(graph)
    assert len(found) == len(set(found)) <= 3 * len(low)
    assert set(found) == naive_edges(low, high)
    assert np.bincount(graph.target, minlength=len(low)).tolist() == graph.in_degree.tolist()
    assert arrange_intervals(low, high).tolist() == naive_arrangement(low, set(found))


def test_intervals_that_touch_in_one_point_have_an_edge():
    assert edges(build_constraint_graph(np.array([0, 5]), np.array([5, 9]))) == [(0, 1)]
    assert edges(build_constraint_graph(np.array([5, 0]), np.array([9, 5]))) == [(0, 1)]
    assert edges(build_constraint_graph(np.array([0, 6]), np.array([5, 9]))) == []


def test_two_visible_blocks_of_one_interval_are_one_edge():
    """1 is seen on both sides of 2; 3 touches both sides."""
    assert edges(build_constraint_graph(np.array([0, 4, 0]), np.array([9, 5, 9]))) == [(0, 1), (0, 2), (1, 2)]


def test_lemma_3_4_at_most_3n_edges_of_many():
    rng = np.random.default_rng(1)
    for width in (1, 1000, 1 << 20, 1 << 40):
        low = rng.integers(0, 1 << 40, 30_000)
        graph = build_constraint_graph(low, low + rng.integers(0, width, 30_000))
        assert len(graph.target) <= 3 * 30_000


@pytest.mark.slow
def test_lemma_3_2_any_arrangement_that_respects_the_graph_is_right():
    """Not only Algorithm 1's: a random topological order too."""
    from tellwhen.papers.ranked.order import encode_scores
    from tellwhen.papers.ranked.structures import pack_r_tree

    for seed in range(10):
        low, high = random_intervals(seed, 30)
        rng, wanted, left, order = random.Random(seed), naive_edges(low, high), set(range(30)), []
        while left:
            blocked = {j for i, j in wanted if i in left}
            order.append(rng.choice(sorted(left - blocked)))
            left.remove(order[-1])
        order = np.array(order, dtype=np.int32)
        tree = ScoredRTree(low, high, -np.arange(30.0), fan_out=3)
        tree._publish(pack_r_tree(low[order], high[order], encode_scores(-order.astype(float)), order, 3))
        for point in range(-1, 42):
            assert list(tree.cursor(point)) == [n for n in range(30) if low[n] <= point <= high[n]]


@pytest.mark.slow
@pytest.mark.parametrize("fan_out", [2, 3, 8, 50])
def test_theorem_3_2_at_most_2k_nodes_of_a_level(fan_out):
    rng = np.random.default_rng(fan_out)
    for width in (10, 1000, 100_000):
        low = rng.integers(0, 100_000, 4000)
        high = low + rng.integers(0, width, 4000)
        tree = SOPTRTree(low, high, rng.integers(0, 50, 4000) / 7, fan_out=fan_out)
        for point in rng.integers(0, 110_000, 25).tolist():
            matches = len(list(tree.cursor(point)))
            for k in (1, 3, 20):
                if k <= matches:
                    assert count_visited_nodes(tree, point, k).max() <= 2 * k
        assert tree.arrays.level_start[-1] <= 4000 * (1 + 1 / (fan_out - 1)) + len(tree.arrays.level_start)


@pytest.mark.slow
def test_the_edges_of_touching_intervals_matter():
    """Without the edge, the lower score would come first: it begins further left."""
    tree = SOPTRTree(np.array([5, 0]), np.array([9, 5]), np.array([2.0, 1.0]), fan_out=2)
    assert list(tree.cursor(5)) == [0, 1]
