"""Boxes finds the best of several dimensions, relaxed and exact, for every way to combine scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from tellwhen.papers.ranked import STRUCTURES, Boxes, IRTree, SOPTRTree

pytestmark = pytest.mark.slow  # it takes half a minute to compile all structures


def oracle(low, high, score, point, k, relaxed=True, combine="sum", weight=1.0):
    """Test all boxes; add up dimension by dimension, since the order of additions decides how they are rounded."""
    inside = (low <= point) & (point <= high)
    if relaxed or score.ndim == 2:
        value = np.where(inside, (score if score.ndim == 2 else score[:, None]) * weight, 0.0)
        if callable(combine):
            total = np.array([combine(row) for row in value])
        else:
            total = value[:, 0].copy()
            for column in value.T[1:]:
                total = {"sum": np.add, "min": np.minimum, "max": np.maximum}[combine](total, column)
        found = np.flatnonzero(inside.any(axis=1) if relaxed else inside.all(axis=1))
    else:
        total, found = score, np.flatnonzero(inside.all(axis=1))
    found = found[np.lexsort((found, -total[found]))][:k]
    return found.tolist(), total[found].tolist()


def check(boxes, given, points, k, weights=None, **how):
    found = boxes.top_k(points, k, weights=weights, **how)
    for q, point in enumerate(points):
        mine = slice(found.start[q], found.start[q + 1])
        weight = 1.0 if weights is None else weights[q]
        assert (found.number[mine].tolist(), found.score[mine].tolist()) == oracle(
            *given, point, k, weight=weight, **how
        )


def find_median(values):
    """Return the upper median, which is a monotone function and no sum."""
    return np.sort(values)[len(values) // 2]


def multiply_misses(values):
    """Return the probability that one of independent events happens, if all values are probabilities."""
    missed = 1.0
    for value in values:
        missed *= 1.0 - min(max(value, 0.0), 1.0)
    return 1.0 - missed


def count_whole_parts(values):
    """Return the whole part of the sum: many subscriptions have the same score."""
    return np.floor(values.sum())


def draw_boxes(rng, count, dimensions, width, scores):
    low = rng.integers(0, 40, (count, dimensions))
    high = low + rng.integers(0, width, (count, dimensions))
    score = {
        "ties": lambda shape: rng.integers(-2, 3, shape).astype(np.float64),
        "positive": lambda shape: rng.integers(0, 4, shape) / 4,
        "negative": lambda shape: -rng.random(shape),
        "any": lambda shape: rng.normal(size=shape),
    }[scores]
    return low, high, score


def test_an_example():
    low, high = np.array([[0, 0], [0, 5], [3, 0]]), np.array([[9, 9], [9, 9], [9, 4]])
    boxes = Boxes(low, high, np.array([[0.5, 0.1], [0.4, 0.9], [0.6, 0.6]]))
    found = boxes.top_k(np.array([[4, 4]]), 2)
    assert (found.number.tolist(), found.score.tolist()) == ([2, 0], [1.2, 0.6])


@pytest.mark.parametrize("scores", ["ties", "positive", "negative", "any"])
@pytest.mark.parametrize("dimensions", range(1, 9))
def test_every_combination(dimensions, scores):
    rng = np.random.default_rng(dimensions)
    for width in (2, 12, 60):
        low, high, score = draw_boxes(rng, 120, dimensions, width, scores)
        points = rng.integers(-2, 70, (8, dimensions))
        each, one = score((120, dimensions)), score(120)
        kind = list(STRUCTURES.values())[int(rng.integers(len(STRUCTURES)))]
        relaxed, exact = Boxes(low, high, each, kind, fan_out=4), Boxes(low, high, one, kind)
        for k in (0, 1, 7, 200):
            for combine in ("sum", "min", "max"):
                check(relaxed, (low, high, each), points, k, combine=combine)
                weights = rng.integers(0, 3, points.shape) * rng.random()
                check(relaxed, (low, high, each), points, k, weights, combine=combine)
                check(relaxed, (low, high, each), points, k, relaxed=False, combine=combine)
                check(relaxed, (low, high, each), points, k, weights, relaxed=False, combine=combine)
            check(exact, (low, high, one), points, k, relaxed=False)
            check(exact, (low, high, one), points, k)


@pytest.mark.parametrize("kind", STRUCTURES.values(), ids=STRUCTURES)
def test_every_structure(kind):
    rng = np.random.default_rng(5)
    low, high, score = draw_boxes(rng, 400, 3, 20, "ties")
    points = rng.integers(0, 60, (20, 3))
    each, one = score((400, 3)), score(400)
    check(Boxes(low, high, each, kind), (low, high, each), points, 10)
    check(Boxes(low, high, one, kind), (low, high, one), points, 10, relaxed=False)


@given(st.data())
@settings(max_examples=60)
def test_any_boxes(data):
    dimensions, count = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 14))
    small = st.integers(0, 6)
    ends = data.draw(st.lists(st.tuples(small, small), min_size=count * dimensions, max_size=count * dimensions))
    both = np.sort(np.array(ends, dtype=np.int64).reshape(count, dimensions, 2), axis=2)
    scores = st.sampled_from([-1.0, 0.0, 0.1, 0.2, 0.3, 1e16])
    each = np.array(data.draw(st.lists(scores, min_size=count * dimensions, max_size=count * dimensions)))
    given_ = both[:, :, 0], both[:, :, 1], each.reshape(count, dimensions)
    points = np.array([data.draw(st.lists(small, min_size=dimensions, max_size=dimensions))])
    boxes = Boxes(*given_, data.draw(st.sampled_from([SOPTRTree, IRTree])), fan_out=2)
    for combine in ("sum", "min", "max", find_median):
        for relaxed in (True, False):
            check(boxes, given_, points, data.draw(st.integers(0, 16)), relaxed=relaxed, combine=combine)


@pytest.mark.parametrize("function", [find_median, multiply_misses, count_whole_parts])
def test_any_monotone_function_combines_scores(function):
    """Note 2 of the paper."""
    rng = np.random.default_rng(11)
    for dimensions in (1, 2, 3, 5):
        for scores in ("ties", "positive", "any"):
            low, high, score = draw_boxes(rng, 150, dimensions, 30, scores)
            each = score((150, dimensions))
            points = rng.integers(0, 60, (10, dimensions))
            boxes = Boxes(low, high, each, fan_out=4)
            for k in (1, 6, 200):
                check(boxes, (low, high, each), points, k, combine=function)
                weights = rng.integers(0, 3, points.shape) / 2
                check(boxes, (low, high, each), points, k, weights, combine=function)


def test_the_threshold_of_a_function_stops_early():
    rng = np.random.default_rng(4)
    count = 20_000
    low, high = np.zeros((count, 2), dtype=np.int64), np.full((count, 2), 9, dtype=np.int64)
    each = np.column_stack([np.arange(count) + rng.random(count)] * 2) / count
    boxes = Boxes(low, high, each)
    check(boxes, (low, high, each), np.full((1, 2), 4), 10, combine=find_median)
    assert boxes.pulls < 100


def test_exact_matching_stops_early():
    rng = np.random.default_rng(4)
    count = 20_000
    low, high = np.zeros((count, 2), dtype=np.int64), np.full((count, 2), 9, dtype=np.int64)
    each = -np.column_stack([np.arange(count) + rng.random(count)] * 2)
    boxes = Boxes(low, high, each)
    check(boxes, (low, high, each), np.full((1, 2), 4), 10, relaxed=False)
    assert boxes.pulls < 100  # no unseen match has a better score than the negative ones of the heads
    low[5:, 1] = 8
    few = Boxes(low, high, each)
    check(few, (low, high, each), np.full((1, 2), 4), 10, relaxed=False)
    assert few.pulls <= 2 * 6  # the second cursor ends after 5 intervals


def test_an_unseen_one_of_equal_score_and_lower_number_wins():
    """Number 0 is behind number 1 in both lists, and has the same sum."""
    low, high = np.zeros((3, 2), dtype=np.int64), np.ones((3, 2), dtype=np.int64)
    each = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    for kind in STRUCTURES.values():
        found = Boxes(low, high, each, kind).top_k(np.zeros((1, 2), dtype=np.int64), 1)
        assert found.number.tolist() == [0]


def test_rounding_does_not_hide_an_equal_sum():
    """1e16 + 1 is 1e16: the sum of number 0 equals the bound, though one of its scores is lower than the head's."""
    low, high = np.zeros((3, 2), dtype=np.int64), np.ones((3, 2), dtype=np.int64)
    each = np.array([[1e16, 0.5], [1e16, 1.0], [0.0, 1.0]])
    check(Boxes(low, high, each), (low, high, each), np.zeros((1, 2), dtype=np.int64), 1)


def test_it_stops_early():
    """The best have high scores in all dimensions: few of the 20,000 lists' entries are read."""
    rng = np.random.default_rng(4)
    count = 20_000
    low, high = np.zeros((count, 2), dtype=np.int64), np.full((count, 2), 9, dtype=np.int64)
    each = np.column_stack([np.arange(count) + rng.random(count)] * 2)
    boxes = Boxes(low, high, each)
    check(boxes, (low, high, each), np.full((1, 2), 4), 10)
    assert boxes.pulls < 100
    # With one dimension, ties are cut too: the number tells who comes next.
    same = Boxes(low[:, :1], high[:, :1], np.ones((count, 1)))
    check(same, (low[:, :1], high[:, :1], np.ones((count, 1))), np.array([[4]]), 10)
    assert same.pulls <= 11
    for combine in ("min", "max"):
        equal = Boxes(low, high, np.ones((count, 2)))
        check(equal, (low, high, np.ones((count, 2))), np.full((1, 2), 4), 10, combine=combine)
        assert equal.pulls <= 22


def test_what_cannot_be_asked_is_refused():
    low = np.zeros((2, 2), dtype=np.int64)
    boxes = Boxes(low, low, np.ones((2, 2)))
    points = np.zeros((1, 2), dtype=np.int64)
    with pytest.raises(tw.ScoreError, match="not negative"):
        boxes.top_k(points, 1, weights=np.array([1.0, -1.0]))
    with pytest.raises(tw.ScoreError, match=r"shape \(events, 2\), found \(1, 3\)"):
        boxes.top_k(np.zeros((1, 3), dtype=np.int64), 1)
    with pytest.raises(tw.ScoreError, match="a function or one of sum, min, max, found mean"):
        boxes.top_k(points, 1, combine="mean")
    with pytest.raises(tw.ScoreError, match="a function that Numba can compile"):
        boxes.top_k(points, 1, combine=lambda values: open(str(values)))  # noqa: SIM115
    with pytest.raises(tw.ScoreError, match="require relaxed=True or a score for each dimension"):
        Boxes(low, low, np.ones(2)).top_k(points, 1, relaxed=False, combine="max")
    with pytest.raises(tw.ScoreError, match="a score of subscription 1"):
        Boxes(low, low, np.array([1.0, np.inf]))
    with pytest.raises(tw.ScoreError, match="must have the shape"):
        Boxes(low, low[:1], np.ones(2))
    with pytest.raises(tw.ScoreError, match=r"weights must have the shape of points, \(1, 2\), or of one row"):
        boxes.top_k(points, 1, weights=np.ones(3))
    for function in (sum, np.sum):
        with pytest.raises(tw.ScoreError, match="a function that Numba can compile"):
            boxes.top_k(points, 1, combine=function)
    with pytest.raises(tw.ScoreError, match="a function or one of sum"):
        boxes.top_k(points, 1, combine=["sum"])
    with pytest.raises(tw.ScoreError, match="returned NaN"):
        boxes.top_k(points, 1, combine=lambda values: np.nan * values[0])
    with pytest.raises(tw.ScoreError, match="points must be integers of 64 bits, found an array of float64"):
        boxes.top_k(points + 0.5, 1)
    with pytest.raises(tw.ScoreError, match="high must be integers"):
        Boxes(low, low + 0.5, np.ones(2))
