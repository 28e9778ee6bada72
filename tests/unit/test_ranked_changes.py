"""Do the structures that change find what is there, whatever came and went?"""

import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tellwhen as tw
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ranked import IRTree, SOPTRTree
from tellwhen.papers.ranked.verify import verify_ir_tree

pytestmark = pytest.mark.slow  # it takes half a minute to compile all structures


def best(live, point):
    return [n for _, n in sorted((-s, n) for n, (a, b, s) in live.items() if a <= point <= b)]


def columns(live, numbers):
    low, high = (np.array([live[n][c] for n in numbers], dtype=np.int64) for c in range(2))
    return np.array(numbers, dtype=np.int32), low, high, np.array([live[n][2] for n in numbers], dtype=np.float64)


class Kept:
    """A structure, and what should be in it."""

    def __init__(self, kind, live, fan_out):
        self.live, self.next = dict(live), len(live)
        _, low, high, score = columns(live, list(live))
        self.tree = kind(low, high, score, fan_out=fan_out)

    def insert(self, intervals):
        new = dict(enumerate(intervals, self.next))
        self.next += len(new)
        self.live |= new
        self.tree.insert(*columns(new, list(new)))

    def delete(self, numbers):
        self.tree.delete(*columns(self.live, numbers))
        for number in numbers:
            del self.live[number]

    def check(self, points):
        assert len(self.tree) == len(self.live)
        for point in points:
            assert list(self.tree.cursor(point)) == best(self.live, point)
        if isinstance(self.tree, IRTree):
            verify_ir_tree(self.tree)


def drawn(rng, count, width, place):
    low = rng.integers(0, 300, count) if place is None else np.arange(place, place + count) * 3
    high = low + rng.integers(0, width, count)
    return list(zip(low.tolist(), high.tolist(), (rng.integers(-3, 40, count) / 4).tolist(), strict=True))


@pytest.mark.parametrize("fan_out", [2, 3, 4, 9, 50, 100])
@pytest.mark.parametrize("width", [1, 12, 300])
@pytest.mark.parametrize("kind", [IRTree, SOPTRTree])
def test_comings_and_goings(kind, width, fan_out):
    """First more come, then more go; in one of three, at ascending places, which unbalances trees."""
    rng = np.random.default_rng(fan_out * width)
    is_ascending = bool(rng.integers(3) == 0)
    kept = Kept(kind, dict(enumerate(drawn(rng, 40, width, None))), fan_out)
    for step in range(50):
        if rng.random() < (0.7 if step < 25 else 0.25) or not kept.live:
            kept.insert(drawn(rng, int(rng.integers(1, 30)), width, kept.next if is_ascending else None))
        else:
            kept.delete(rng.permutation(list(kept.live))[: int(rng.integers(1, 40))].tolist())
        kept.check(rng.integers(-2, 900 if is_ascending else 330, 3).tolist())
    kept.delete(list(kept.live))
    kept.check([0, 100])
    kept.insert(drawn(rng, 20, width, None))
    kept.check([0, 100, 200])


ENDS = st.integers(-9, 9) | st.sampled_from([LOWEST, HIGHEST])
INTERVAL = st.tuples(st.tuples(ENDS, ENDS).map(sorted), st.sampled_from([-1.0, 0.0, 0.5, 2.0])).map(
    lambda one: (*one[0], one[1])
)


class Changing(RuleBasedStateMachine):
    """Any sequence of changes, and of rebuilds that overlap with them."""

    kind = SOPTRTree

    def __init__(self):
        super().__init__()
        self.kept = Kept(self.kind, {}, 2)
        self.rebuild = None

    @rule(intervals=st.lists(INTERVAL, min_size=1, max_size=8))
    def insert(self, intervals):
        self.kept.insert(intervals)

    @precondition(lambda self: self.kept.live)
    @rule(data=st.data())
    def delete(self, data):
        self.kept.delete(data.draw(st.lists(st.sampled_from(sorted(self.kept.live)), min_size=1, unique=True)))

    @precondition(lambda self: self.kind is SOPTRTree)
    @rule()
    def begin(self):
        self.rebuild = self.kept.tree.rebuild()

    @precondition(lambda self: self.rebuild is not None)
    @rule()
    def finish(self):
        self.rebuild.run()
        assert self.rebuild.finish()
        self.rebuild = None

    @invariant()
    def holds(self):
        self.kept.check([LOWEST, -3, 0, 4, HIGHEST])


class ChangingIR(Changing):
    kind = IRTree


TestAnyChanges = Changing.TestCase
TestAnyChangesIR = ChangingIR.TestCase
TestAnyChanges.settings = TestAnyChangesIR.settings = settings(max_examples=25, stateful_step_count=20)


# IR-trees


def test_ascending_points_leave_a_shallow_tree(monkeypatch):
    """The worst case: each new interval is to the right of all others. Subtrees are built again, each a few times."""
    planted = []
    plant = IRTree._plant
    monkeypatch.setattr(
        IRTree,
        "_plant",
        lambda self, link, *rest, **how: (planted.append(len(rest[0])), plant(self, link, *rest, **how))[1],
    )
    none = np.zeros(0, dtype=np.int64)
    tree, count = IRTree(none, none, none.astype(np.float64)), 3000
    each = np.arange(count)
    tree.insert(each, 2 * each, 2 * each, np.zeros(count))
    verify_ir_tree(tree)
    assert depth(tree) < 3 * np.log2(count)
    assert 0 < sum(planted) < 40 * count
    assert list(tree.cursor(500)) == [250]
    tree.delete(each, 2 * each, 2 * each, np.zeros(count))
    verify_ir_tree(tree)
    assert len(tree) == 0


def depth(tree, node=None):
    node = int(tree.arrays.counts[0]) if node is None else node
    return (
        0 if node < 0 else 1 + max(depth(tree, int(tree.arrays.left[node])), depth(tree, int(tree.arrays.right[node])))
    )


def test_pools_are_used_again():
    rng = np.random.default_rng(7)
    kept = Kept(IRTree, dict(enumerate(drawn(rng, 500, 100, None))), 8)
    for _ in range(4):
        kept.insert(drawn(rng, 500, 100, None))
        kept.delete(rng.permutation(list(kept.live))[:500].tolist())
    before = kept.tree.nbytes
    for _ in range(12):
        kept.insert(drawn(rng, 500, 100, None))
        kept.delete(rng.permutation(list(kept.live))[:500].tolist())
    kept.check([100])
    assert kept.tree.nbytes <= 2 * before


def test_one_more_than_fits_and_few_left():
    """A block is split when it is full, and joined when it is nearly empty."""
    live = {n: (0, 9, float(n)) for n in range(8)}
    kept = Kept(IRTree, live, 8)
    assert kept.tree.arrays.level[kept.tree.arrays.root[0]] == 0
    kept.insert([(0, 9, 3.5)])
    kept.check([4])
    assert kept.tree.arrays.level[kept.tree.arrays.root[0]] == 1
    kept.delete([8, 7, 6, 5])
    kept.check([4])
    assert kept.tree.arrays.level[kept.tree.arrays.root[0]] == 0


@pytest.mark.parametrize("kind", [IRTree, SOPTRTree])
def test_what_is_not_there_cannot_be_deleted(kind):
    kept = Kept(kind, {0: (1, 5, 1.0), 1: (2, 3, 1.0)}, 50)
    one = np.array([7]), np.array([1]), np.array([5]), np.array([1.0])
    with pytest.raises(tw.ScoreError, match="there is no interval 7"):
        kept.tree.delete(*one)
    kept.delete([1])
    with pytest.raises(tw.ScoreError, match="there is no interval 1"):
        kept.tree.delete(np.array([1]), np.array([2]), np.array([3]), np.array([1.0]))
    with pytest.raises(tw.ScoreError, match="2 numbers for 1 intervals"):
        kept.tree.insert(np.array([5, 6]), np.array([2]), np.array([3]), np.array([1.0]))
    kept.check([2, 4])
    # The number is free again, for another interval.
    kept.tree.insert(np.array([1]), np.array([4]), np.array([8]), np.array([9.0]))
    assert list(kept.tree.cursor(4)) == [1, 0]
    assert list(kept.tree.cursor(2)) == [0]


# SOPT-R-trees


def test_a_rebuild_is_due_after_many_changes():
    rng = np.random.default_rng(8)
    kept = Kept(SOPTRTree, dict(enumerate(drawn(rng, 200, 30, None))), 5)
    assert not kept.tree.is_due
    kept.insert(drawn(rng, 65, 30, None))
    assert kept.tree.is_due
    rebuild = kept.tree.rebuild()
    rebuild.run()
    assert rebuild.finish()
    assert not kept.tree.is_due
    assert len(kept.tree.arrays.number) == 265
    kept.delete(list(range(70)))
    assert kept.tree.is_due
    kept.check([100])


def test_nobody_rebuilds_so_a_change_does():
    rng = np.random.default_rng(9)
    kept = Kept(SOPTRTree, {}, 5)
    for _ in range(30):
        kept.insert(drawn(rng, 20, 30, None))
        assert len(kept.tree.arrays.delta_number) <= 2 * 64
    assert len(kept.tree.arrays.number) > 250
    kept.check([50, 100])


def test_a_rebuild_in_a_thread_takes_up_what_came_later():
    rng = np.random.default_rng(10)
    kept = Kept(SOPTRTree, dict(enumerate(drawn(rng, 3000, 30, None))), 50)
    kept.insert(drawn(rng, 100, 30, None))
    rebuild = kept.tree.rebuild()
    thread = threading.Thread(target=rebuild.run)
    thread.start()
    kept.insert(drawn(rng, 30, 30, None))
    kept.delete([1, 2, 3, 3005, 3101, 3102])  # of the old tree, of its delta, and of those that came later
    kept.check([10, 150])
    thread.join()
    kept.check([10, 150])
    assert rebuild.finish()
    kept.check([10, 150])
    assert len(kept.tree.arrays.delta_number) == 28


def test_a_rebuild_that_was_given_up_changes_nothing():
    kept = Kept(SOPTRTree, {0: (1, 5, 1.0)}, 50)
    first, second = kept.tree.rebuild(), kept.tree.rebuild()
    with pytest.raises(tw.ScoreError, match="run"):
        second.finish()
    first.run()
    kept.insert([(2, 3, 2.0)])
    assert not first.finish()
    kept.check([2])
    second.run()
    assert second.finish()
    kept.check([2])


def test_a_cursor_keeps_what_it_has_begun_with():
    kept = Kept(SOPTRTree, {0: (1, 5, 1.0), 1: (1, 5, 2.0)}, 50)
    cursor = kept.tree.cursor(3)
    kept.delete([0, 1])
    assert list(cursor) == [1, 0]
