"""Complete check of the structure of an IR-tree: blocks, nodes, weights and pools. Slow: for tests."""

from __future__ import annotations

from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST
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

Entry = tuple[int, int, int, int]
"""(key, number, low, high) of an interval"""


def verify_ir_tree(tree: IRTree) -> None:
    """Raise AssertionError with the violated invariant if the IR-tree is not intact."""
    arrays = tree.arrays
    counts, used = arrays.counts, {"nodes": 0, "blocks": 0, "entries": 0}

    def verify_block(t: int, level: int) -> list[Entry]:
        """Verify a block of this level and all blocks below it; return their intervals in score order."""
        used["blocks"] += 1
        used["entries"] += int(arrays.capacity[t])
        assert arrays.level[t] == level, "all leaves are at one level"
        assert 0 < arrays.size[t] <= arrays.capacity[t] <= tree.fan_out, "a block has entries, and room for them"
        found: list[Entry] = []
        first = int(arrays.first[t])
        for at in range(first, first + int(arrays.size[t])):
            low, high, key, item = (int(field[at]) for field in (arrays.low, arrays.high, arrays.key, arrays.item))
            if level == 0:
                found.append((key, item, low, high))
            else:
                below = verify_block(item, level - 1)
                assert key == below[0][0], "an entry has the key of its first interval"
                assert (low, high) == (min(entry[2] for entry in below), max(entry[3] for entry in below)), (
                    "extents are tight"
                )
                found += below
        return found

    def verify_node(v: int, least: int, greatest: int) -> tuple[int, int]:
        """Verify a subtree between two centres; return the number of its intervals, and its weight."""
        if v < 0:
            return 0, 0
        used["nodes"] += 1
        centre = int(arrays.centre[v])
        assert least <= centre <= greatest, "centres are in order"
        found: list[Entry] = []
        if arrays.root[v] >= 0:
            found = verify_block(int(arrays.root[v]), int(arrays.level[arrays.root[v]]))
            assert arrays.level[arrays.root[v]] <= HEIGHT_MAX, "R-trees are not too high"
        assert found == sorted(found), "intervals are in score order"
        for _, _, low, high in found:
            assert least <= low <= centre <= high <= greatest, "all intervals of a node contain its centre"
        left = verify_node(int(arrays.left[v]), least, centre - 1)
        right = verify_node(int(arrays.right[v]), centre + 1, greatest)
        weight = 1 + len(found) + left[1] + right[1]
        assert arrays.weight[v] == weight, "weights count intervals and nodes"
        assert not is_unbalanced.py_func(arrays, v), "no child is too heavy"
        return len(found) + left[0] + right[0], weight

    intervals, _ = verify_node(int(counts[ROOT]), LOWEST, HIGHEST)
    assert intervals == len(tree), "the tree has as many intervals as it counts"
    assert used["nodes"] + _count_free(arrays.left, counts[FREE_NODE]) == counts[NODES], "no node is lost"
    assert used["blocks"] + _count_free(arrays.size, counts[FREE_BLOCK]) == counts[BLOCKS], "no block is lost"
    free = sum(min(1 << n, tree.fan_out) * _count_free(arrays.key, counts[FREE_RUN + n]) for n in range(RUN_LENGTHS))
    assert used["entries"] + free == counts[ENTRIES], "no entry is lost"


def _count_free(next_free: I32 | I64, first: int) -> int:
    """Return the length of a list of free parts that begins at `first`."""
    count, at = 0, int(first)
    while at >= 0:
        count, at = count + 1, int(next_free[at])
    return count
