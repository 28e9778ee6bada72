"""An IR-tree finds the intervals that it has after any insertions and deletions, and its structure is intact."""

import numpy as np
import pytest
from hypothesis import settings

from ranked_support import ChangeMachine, CheckedTree, check_missing_intervals, check_random_changes, draw_intervals
from tellwhen.papers.ranked import IRTree
from tellwhen.papers.ranked.verify import verify_ir_tree

pytestmark = pytest.mark.slow  # it takes half a minute to compile all structures


@pytest.mark.parametrize("fan_out", [2, 3, 4, 9, 50, 100])
@pytest.mark.parametrize("width", [1, 12, 300])
def test_random_insertions_and_deletions(width, fan_out):
    check_random_changes(IRTree, width, fan_out)


def test_what_is_not_there_cannot_be_deleted():
    check_missing_intervals(IRTree)


class IRTreeMachine(ChangeMachine):
    kind = IRTree


TestAnyChanges = IRTreeMachine.TestCase
TestAnyChanges.settings = settings(max_examples=25, stateful_step_count=20)


def test_ascending_points_leave_a_shallow_tree(monkeypatch):
    """The worst case: each new interval is to the right of all others. Subtrees are rebuilt, each a few times."""
    subtree_sizes = []
    build_subtree = IRTree._build_subtree

    def build_and_record(tree, link, low, *columns, **options):
        subtree_sizes.append(len(low))
        build_subtree(tree, link, low, *columns, **options)

    monkeypatch.setattr(IRTree, "_build_subtree", build_and_record)
    none = np.zeros(0, dtype=np.int64)
    tree, count = IRTree(none, none, none.astype(np.float64)), 3000
    each = np.arange(count)
    tree.insert(each, 2 * each, 2 * each, np.zeros(count))
    verify_ir_tree(tree)
    assert depth(tree) < 3 * np.log2(count)
    assert 0 < sum(subtree_sizes) < 40 * count
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
    checked = CheckedTree(IRTree, dict(enumerate(draw_intervals(rng, 500, 100, None))), 8)
    for _ in range(4):
        checked.insert(draw_intervals(rng, 500, 100, None))
        checked.delete(rng.permutation(list(checked.live))[:500].tolist())
    before = checked.tree.nbytes
    for _ in range(12):
        checked.insert(draw_intervals(rng, 500, 100, None))
        checked.delete(rng.permutation(list(checked.live))[:500].tolist())
    checked.check([100])
    assert checked.tree.nbytes <= 2 * before


def test_one_more_than_fits_and_few_left():
    """A block is split when it is full, and joined when it is nearly empty."""
    live = {n: (0, 9, float(n)) for n in range(8)}
    checked = CheckedTree(IRTree, live, 8)
    assert checked.tree.arrays.level[checked.tree.arrays.root[0]] == 0
    checked.insert([(0, 9, 3.5)])
    checked.check([4])
    assert checked.tree.arrays.level[checked.tree.arrays.root[0]] == 1
    checked.delete([8, 7, 6, 5])
    checked.check([4])
    assert checked.tree.arrays.level[checked.tree.arrays.root[0]] == 0
