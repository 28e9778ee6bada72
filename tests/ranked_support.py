"""Helpers of the tests of `IRTree` and `SOPTRTree`: random changes, checked against a dict of intervals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tellwhen as tw
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ranked import IRTree, SOPTRTree
from tellwhen.papers.ranked.verify import verify_ir_tree


def list_best(live, point):
    """Return the numbers of the intervals that contain a point, best first."""
    return [n for _, n in sorted((-s, n) for n, (a, b, s) in live.items() if a <= point <= b)]


def make_columns(live, numbers):
    """Return the arrays (number, low, high, score) of some intervals."""
    low, high = (np.array([live[n][c] for n in numbers], dtype=np.int64) for c in range(2))
    return np.array(numbers, dtype=np.int32), low, high, np.array([live[n][2] for n in numbers], dtype=np.float64)


class CheckedTree:
    """A structure that is checked against a dict of its intervals, by number."""

    def __init__(self, kind, live, fan_out):
        self.live, self.next_number = dict(live), len(live)
        _, low, high, score = make_columns(live, list(live))
        self.tree = kind(low, high, score, fan_out=fan_out)

    def insert(self, intervals):
        new = dict(enumerate(intervals, self.next_number))
        self.next_number += len(new)
        self.live |= new
        self.tree.insert(*make_columns(new, list(new)))

    def delete(self, numbers):
        self.tree.delete(*make_columns(self.live, numbers))
        for number in numbers:
            del self.live[number]

    def check(self, points):
        assert len(self.tree) == len(self.live)
        for point in points:
            assert list(self.tree.cursor(point)) == list_best(self.live, point)
        if isinstance(self.tree, IRTree):
            verify_ir_tree(self.tree)


def draw_intervals(rng, count, width, first):
    """Draw (low, high, score) at random places, or at ascending places from `first` on."""
    low = rng.integers(0, 300, count) if first is None else np.arange(first, first + count) * 3
    high = low + rng.integers(0, width, count)
    return list(zip(low.tolist(), high.tolist(), (rng.integers(-3, 40, count) / 4).tolist(), strict=True))


def check_random_changes(kind, width, fan_out):
    """Check a tree after many insertions, then many deletions; in a third of the cases at ascending places.

    Ascending places unbalance a tree.
    """
    rng = np.random.default_rng(fan_out * width)
    is_ascending = bool(rng.integers(3) == 0)
    checked = CheckedTree(kind, dict(enumerate(draw_intervals(rng, 40, width, None))), fan_out)
    for step in range(50):
        if rng.random() < (0.7 if step < 25 else 0.25) or not checked.live:
            checked.insert(
                draw_intervals(rng, int(rng.integers(1, 30)), width, checked.next_number if is_ascending else None)
            )
        else:
            checked.delete(rng.permutation(list(checked.live))[: int(rng.integers(1, 40))].tolist())
        checked.check(rng.integers(-2, 900 if is_ascending else 330, 3).tolist())
    checked.delete(list(checked.live))
    checked.check([0, 100])
    checked.insert(draw_intervals(rng, 20, width, None))
    checked.check([0, 100, 200])


def check_missing_intervals(kind):
    """Check that a deletion of an interval that the tree does not have is refused."""
    checked = CheckedTree(kind, {0: (1, 5, 1.0), 1: (2, 3, 1.0)}, 50)
    one = np.array([7]), np.array([1]), np.array([5]), np.array([1.0])
    with pytest.raises(tw.ScoreError, match="cannot delete interval 7"):
        checked.tree.delete(*one)
    checked.delete([1])
    with pytest.raises(tw.ScoreError, match="cannot delete interval 1"):
        checked.tree.delete(np.array([1]), np.array([2]), np.array([3]), np.array([1.0]))
    with pytest.raises(tw.ScoreError, match="2 numbers for 1 intervals"):
        checked.tree.insert(np.array([5, 6]), np.array([2]), np.array([3]), np.array([1.0]))
    checked.check([2, 4])
    # The number is free again, for another interval.
    checked.tree.insert(np.array([1]), np.array([4]), np.array([8]), np.array([9.0]))
    assert list(checked.tree.cursor(4)) == [1, 0]
    assert list(checked.tree.cursor(2)) == [0]


ENDS = st.integers(-9, 9) | st.sampled_from([LOWEST, HIGHEST])
INTERVAL = st.tuples(st.tuples(ENDS, ENDS).map(sorted), st.sampled_from([-1.0, 0.0, 0.5, 2.0])).map(
    lambda one: (*one[0], one[1])
)


class ChangeMachine(RuleBasedStateMachine):
    """Any sequence of changes, and of rebuilds that overlap with them."""

    kind = SOPTRTree

    def __init__(self):
        super().__init__()
        self.checked = CheckedTree(self.kind, {}, 2)
        self.rebuild = None

    @rule(intervals=st.lists(INTERVAL, min_size=1, max_size=8))
    def insert(self, intervals):
        self.checked.insert(intervals)

    @precondition(lambda self: self.checked.live)
    @rule(data=st.data())
    def delete(self, data):
        self.checked.delete(data.draw(st.lists(st.sampled_from(sorted(self.checked.live)), min_size=1, unique=True)))

    @precondition(lambda self: self.kind is SOPTRTree)
    @rule()
    def begin(self):
        self.rebuild = self.checked.tree.rebuild()

    @precondition(lambda self: self.rebuild is not None)
    @rule()
    def finish(self):
        self.rebuild.run()
        assert self.rebuild.finish()
        self.rebuild = None

    @invariant()
    def holds(self):
        self.checked.check([LOWEST, -3, 0, 4, HIGHEST])
