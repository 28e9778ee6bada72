"""A SOPT-R-tree finds the intervals that it has after any insertions, deletions and rebuilds."""

import threading

import numpy as np
import pytest
from hypothesis import settings

import tellwhen as tw
from ranked_support import ChangeMachine, CheckedTree, check_missing_intervals, check_random_changes, draw_intervals
from tellwhen.papers.ranked import SOPTRTree

pytestmark = pytest.mark.slow  # it takes half a minute to compile all structures


@pytest.mark.parametrize("fan_out", [2, 3, 4, 9, 50, 100])
@pytest.mark.parametrize("width", [1, 12, 300])
def test_random_insertions_and_deletions(width, fan_out):
    check_random_changes(SOPTRTree, width, fan_out)


def test_what_is_not_there_cannot_be_deleted():
    check_missing_intervals(SOPTRTree)


TestAnyChanges = ChangeMachine.TestCase
TestAnyChanges.settings = settings(max_examples=25, stateful_step_count=20)


def test_a_rebuild_is_due_after_many_changes():
    rng = np.random.default_rng(8)
    checked = CheckedTree(SOPTRTree, dict(enumerate(draw_intervals(rng, 200, 30, None))), 5)
    assert not checked.tree.is_due
    checked.insert(draw_intervals(rng, 65, 30, None))
    assert checked.tree.is_due
    rebuild = checked.tree.rebuild()
    rebuild.run()
    assert rebuild.finish()
    assert not checked.tree.is_due
    assert len(checked.tree.arrays.number) == 265
    checked.delete(list(range(70)))
    assert checked.tree.is_due
    checked.check([100])


def test_nobody_rebuilds_so_a_change_does():
    rng = np.random.default_rng(9)
    checked = CheckedTree(SOPTRTree, {}, 5)
    for _ in range(30):
        checked.insert(draw_intervals(rng, 20, 30, None))
        assert len(checked.tree.arrays.delta_number) <= 2 * 64
    assert len(checked.tree.arrays.number) > 250
    checked.check([50, 100])


def test_a_rebuild_in_a_thread_takes_up_what_came_later():
    rng = np.random.default_rng(10)
    checked = CheckedTree(SOPTRTree, dict(enumerate(draw_intervals(rng, 3000, 30, None))), 50)
    checked.insert(draw_intervals(rng, 100, 30, None))
    rebuild = checked.tree.rebuild()
    thread = threading.Thread(target=rebuild.run)
    thread.start()
    checked.insert(draw_intervals(rng, 30, 30, None))
    checked.delete([1, 2, 3, 3005, 3101, 3102])  # of the old tree, of its delta, and of those that came later
    checked.check([10, 150])
    thread.join()
    checked.check([10, 150])
    assert rebuild.finish()
    checked.check([10, 150])
    assert len(checked.tree.arrays.delta_number) == 28


def test_a_rebuild_that_was_given_up_changes_nothing():
    checked = CheckedTree(SOPTRTree, {0: (1, 5, 1.0)}, 50)
    first, second = checked.tree.rebuild(), checked.tree.rebuild()
    with pytest.raises(tw.ScoreError, match="run"):
        second.finish()
    first.run()
    checked.insert([(2, 3, 2.0)])
    assert not first.finish()
    checked.check([2])
    second.run()
    assert second.finish()
    checked.check([2])


def test_a_cursor_keeps_what_it_has_begun_with():
    checked = CheckedTree(SOPTRTree, {0: (1, 5, 1.0), 1: (1, 5, 2.0)}, 50)
    cursor = checked.tree.cursor(3)
    checked.delete([0, 1])
    assert list(cursor) == [1, 0]
