"""Is an IR-tree as it should be? Every block, node and weight is looked at. Slow: for tests."""

from __future__ import annotations

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.papers.ranked.ir_tree import IRTree
from tellwhen.papers.ranked.kernels.ir_change import HEIGHT_MAX, is_unbalanced
from tellwhen.papers.ranked.kernels.ir_pool import (
    BLOCKS,
    ENTRIES,
    FREE_BLOCK,
    FREE_NODE,
    FREE_RUN,
    NODES,
    ROOT,
    RUN_LENGTHS,
)

Found = list[tuple[int, int, int, int]]
"""(key, number, low, high)"""


def verify_ir_tree(tree: IRTree) -> None:
    """Raises an AssertionError that says what is wrong."""
    arrays = tree.arrays
    counts, used = arrays.counts, {"nodes": 0, "blocks": 0, "entries": 0}

    def block(t: int, level: int) -> Found:
        used["blocks"] += 1
        used["entries"] += int(arrays.room[t])
        assert arrays.level[t] == level, "all leaves are at one level"
        assert 0 < arrays.size[t] <= arrays.room[t] <= tree.fan_out, "a block has entries, and room for them"
        found: Found = []
        first = int(arrays.first[t])
        for at in range(first, first + int(arrays.size[t])):
            low, high, key, item = (int(field[at]) for field in (arrays.low, arrays.high, arrays.key, arrays.item))
            if level == 0:
                found.append((key, item, low, high))
            else:
                below = block(item, level - 1)
                assert key == below[0][0], "an entry has the key of its first interval"
                assert (low, high) == (min(one[2] for one in below), max(one[3] for one in below)), "extents are tight"
                found += below
        return found

    def node(v: int, above: int, below: int) -> tuple[int, int]:
        """The intervals and the weight of a subtree between two centres."""
        if v < 0:
            return 0, 0
        used["nodes"] += 1
        centre = int(arrays.centre[v])
        assert above <= centre <= below, "centres are in order"
        found: Found = []
        if arrays.root[v] >= 0:
            found = block(int(arrays.root[v]), int(arrays.level[arrays.root[v]]))
            assert arrays.level[arrays.root[v]] <= HEIGHT_MAX, "R-trees are not too high"
        assert found == sorted(found), "intervals are in score order"
        for _, _, low, high in found:
            assert above <= low <= centre <= high <= below, "all intervals of a node contain its centre"
        left, right = node(int(arrays.left[v]), above, centre - 1), node(int(arrays.right[v]), centre + 1, below)
        weight = 1 + len(found) + left[1] + right[1]
        assert arrays.weight[v] == weight, "weights count intervals and nodes"
        assert not is_unbalanced.py_func(arrays, v), "no child is too heavy"
        return len(found) + left[0] + right[0], weight

    intervals, _ = node(int(counts[ROOT]), LOWEST, HIGHEST)
    assert intervals == len(tree), "all intervals are there"
    assert used["nodes"] + _chain(arrays.left, counts[FREE_NODE]) == counts[NODES], "no node is lost"
    assert used["blocks"] + _chain(arrays.size, counts[FREE_BLOCK]) == counts[BLOCKS], "no block is lost"
    free = sum(min(1 << n, tree.fan_out) * _chain(arrays.key, counts[FREE_RUN + n]) for n in range(RUN_LENGTHS))
    assert used["entries"] + free == counts[ENTRIES], "no entry is lost"


def _chain(following: object, at: int) -> int:
    """The length of a list of free parts."""
    length = 0
    while at >= 0:
        length, at = length + 1, int(following[at])  # type: ignore[index]
    return length
