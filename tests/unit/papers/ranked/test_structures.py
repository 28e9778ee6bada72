"""All scored structures find what testing each interval finds, in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ranked import STRUCTURES, ScoredRTree, SOPTRTree

pytestmark = pytest.mark.slow  # it takes half a minute to compile all structures

ENDS = st.integers(-12, 12) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST])
SCORES = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0]) | st.floats(allow_nan=False)
INTERVALS = st.tuples(st.tuples(ENDS, ENDS).map(sorted), SCORES).map(lambda one: (*one[0], one[1]))
FAN_OUTS = st.sampled_from([2, 3, 7, 50, 100])


@pytest.fixture(params=STRUCTURES.values(), ids=STRUCTURES, scope="module")
def structure(request):
    return request.param


def columns(intervals):
    low, high = (np.array([one[n] for one in intervals], dtype=np.int64) for n in range(2))
    return low, high, np.array([one[2] for one in intervals], dtype=np.float64)


def best(low, high, score, point, k=None):
    """The oracle: test all, sort by score, then by number."""
    found = [(-s, n) for n, (a, b, s) in enumerate(zip(low, high, score, strict=True)) if a <= point <= b]
    return [n for _, n in sorted(found)][:k]


def list_numbers(found):
    return [found.number[a:b].tolist() for a, b in zip(found.start[:-1], found.start[1:], strict=True)]


def check(made, intervals, points, k):
    found = made.top_k(np.array(points, dtype=np.int64), k)
    assert list_numbers(found) == [best(*intervals, point, k) for point in points]


@given(intervals=st.lists(INTERVALS, max_size=30), points=st.lists(ENDS, max_size=10), k=st.integers(0, 40), b=FAN_OUTS)
@settings(max_examples=60)
def test_any_intervals(structure, intervals, points, k, b):
    given = columns(intervals)
    made = structure(*given, fan_out=b)
    assert len(made) == len(intervals)
    check(made, given, points, k)
    for point in points[:2]:
        assert list(made.cursor(point)) == best(*given, point)


@pytest.mark.parametrize("width", [0, 3, 200, 4000])
@pytest.mark.parametrize("scores", ["equal", "few", "many"])
def test_many_intervals(structure, width, scores):
    """Points, short ones, and nested ones; all scores equal, many ties, and none."""
    rng = np.random.default_rng(2)
    low = rng.integers(0, 4000, 1500)
    high = low + rng.integers(0, width + 1, 1500)
    score = {"equal": np.zeros(1500), "few": rng.integers(-3, 3, 1500) / 2, "many": rng.normal(size=1500)}[scores]
    made = structure(low, high, score, fan_out=int(rng.choice([2, 5, 50, 130])))
    for k in (1, 20, 5000):
        check(made, (low, high, score), rng.integers(-10, 8100, 8).tolist(), k)


@pytest.mark.slow
def test_a_hundred_thousand(structure):
    rng = np.random.default_rng(3)
    low = rng.integers(0, 1 << 40, 100_000)
    high = low + (1 << rng.integers(0, 40, 100_000))
    score = np.round(rng.normal(size=100_000), 3)
    made = structure(low, high, score)
    points = rng.integers(0, 1 << 40, 40)
    wanted = []
    for point in points:
        inside = np.flatnonzero((low <= point) & (point <= high))
        wanted.append(inside[np.lexsort((inside, -score[inside]))].tolist())
    for k in (20, 100_000):
        assert list_numbers(made.top_k(points, k)) == [numbers[:k] for numbers in wanted]


def test_none(structure):
    none = np.zeros(0, dtype=np.int64)
    made = structure(none, none, none.astype(np.float64))
    assert len(made) == 0
    assert list_numbers(made.top_k(np.array([0, LOWEST, HIGHEST]), 5)) == [[], [], []]
    assert made.cursor(3).getnext() is None


def test_touching_and_infinite(structure):
    low, high = np.array([LOWEST, 5, 10, LOWEST, 5]), np.array([5, 10, HIGHEST, HIGHEST, 5])
    made = structure(low, high, np.array([1.0, 2, 3, 0, 2]))
    assert [list(made.cursor(point)) for point in (LOWEST, 5, 7, 10, HIGHEST)] == [
        [0, 3], [1, 4, 0, 3], [1, 3], [2, 1, 3], [2, 3],
    ]  # fmt: skip


def test_cursors_are_independent_and_end_once(structure):
    low, high, score = np.array([0, 0, 5]), np.array([9, 9, 9]), np.array([1.0, 2.0, 3.0])
    made = structure(low, high, score)
    one, other = made.cursor(6), made.cursor(1)
    assert [one.getnext(), other.getnext(), one.getnext(), other.getnext()] == [2, 1, 1, 0]
    assert [other.getnext(), one.getnext(), one.getnext(), one.getnext()] == [None, 0, None, None]


def test_output_grows_when_results_do_not_fit(structure):
    many = np.zeros(300, dtype=np.int64)
    made = structure(many, many, np.arange(300.0))
    assert list_numbers(made.top_k(np.zeros(50, dtype=np.int64), 300)) == [list(range(299, -1, -1))] * 50


def test_what_cannot_be_taken_is_refused_by_name(structure):
    zero = np.zeros(2, dtype=np.int64)
    with pytest.raises(tw.ScoreError, match="interval 1 has the score NaN"):
        structure(zero, zero, np.array([1.0, np.nan]))
    with pytest.raises(tw.ScoreError, match="interval 0 ends before it begins"):
        structure(zero + 1, zero, np.zeros(2))
    with pytest.raises(tw.ScoreError, match="must have one shape"):
        structure(zero, zero, np.zeros(3))
    with pytest.raises(tw.ScoreError, match="fan_out must be 2 to 65,536, found 1"):
        structure(zero, zero, np.zeros(2), fan_out=1)
    with pytest.raises(tw.ScoreError, match="k must not be negative, found -1"):
        structure(zero, zero, np.zeros(2)).top_k(zero, -1)


def test_an_arranged_tree_opens_fewer_leaves():
    """What section 3.2 is for: narrow intervals score high, and a point lies outside of most of them."""
    rng = np.random.default_rng(1)
    middle, half = rng.integers(0, 1 << 30, 20_000), rng.integers(1, 1 << 26, 20_000)
    given = middle - half, middle + half, -half.astype(np.float64)
    plain, arranged = (
        sum(count_visited_nodes(made(*given), point, 20)[1] for point in middle[:50])
        for made in (ScoredRTree, SOPTRTree)
    )
    assert arranged * 5 < plain


def count_visited_nodes(tree, point, k):
    """Nodes of each level that were visited for the best k."""
    from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX, VISITED

    cursor = tree.cursor(point)
    for _ in range(k):
        cursor.getnext()
    return cursor.words[VISITED : VISITED + LEVELS_MAX]
