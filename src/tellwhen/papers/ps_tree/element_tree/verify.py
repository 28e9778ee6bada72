"""Check of an element tree: it has the values, leaf nodes and lists that its intervals make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tellwhen.papers.ps_tree.element_tree.arrays import COUNT, COVERS, HEAD, L
from tellwhen.papers.ps_tree.element_tree.tree import COLUMNS, ElementTree


def check_element_tree(tree: ElementTree, intervals: Sequence[tuple[int, int, int]]) -> None:
    """Raise AssertionError unless the tree is what the intervals (low, high, number) make."""
    arrays, half = tree.arrays, 1 << int(tree.arrays.shift[0])
    begins = Counter(low for low, _, _ in intervals if low > -half)
    ends = Counter(high for _, high, _ in intervals if high < half - 1)
    nodes = [0]
    rows = dict(_iterate_values(tree, nodes, 0, 0, -half))
    assert sorted(rows) == sorted({*begins, *ends}), "the tree has other values than the ends of its intervals"
    assert len(set(rows.values())) == len(rows), "a row of `values` is used twice"

    leaves = tree.list_leaves()
    # By leaf node, a place in its space: 2v for value v, and 2v + 1 between v and v + 1.
    before, visited, places = leaves[0], 1, [-2 * half]
    for value in sorted(rows):
        below, leaf, above, begin_count, end_count = arrays.values[rows[value]].tolist()
        assert (begin_count, end_count) == (begins[value], ends[value]), f"{value} has wrong counts of begins and ends"
        assert below == before, f"link l of {value} is not the leaf node before it"
        for is_border, other, place in ((begin_count > 0, leaf, 2 * value), (end_count > 0, above, 2 * value + 1)):
            assert (other != before) == is_border, f"a border at {value} is missing, or there is none"
            if is_border:
                assert leaves[visited : visited + 1] == [other], f"a leaf node at {value} is not the next one"
                before, visited = other, visited + 1
                places.append(place)
    assert visited == len(leaves), "there are leaf nodes between which no interval begins or ends"
    assert arrays.values[0, L] == before, "link l of the root is not the last leaf node"
    for leaf, place in zip(leaves, places, strict=True):
        expected = sorted(number for low, high, number in intervals if 2 * low <= place <= 2 * high)
        assert tree.list_intervals_of_leaf(leaf) == expected, f"leaf node {leaf} has a wrong list"
        assert arrays.leaves[leaf, COVERS] == len(expected), f"the counter of leaf node {leaf} is wrong"
    cells = [cell for leaf in leaves for cell in tree.list_cells(leaf)]
    assert len(set(cells)) == len(cells), "a cell is in two lists"
    _check_spare(tree, [len(nodes), len(rows) + 1, len(leaves), len(cells) + 1])


def _iterate_values(tree: ElementTree, nodes: list[int], node: int, k: int, prefix: int) -> Iterator[tuple[int, int]]:
    """Yield (value, row) of all values below an inner node; append all inner nodes to `nodes`."""
    shift = tree.arrays.shift
    children = [(element, child) for element, child in enumerate(tree.arrays.children[node].tolist()) if child]
    assert children or k == 0, f"inner node {node} has no child"
    for element, child in children:
        assert element <= tree.arrays.mask[k], f"inner node {node} has a child for element {element}"
        value = prefix + (element << int(shift[k]))
        if k == len(shift) - 1:
            yield value, child
        else:
            nodes.append(child)
            yield from _iterate_values(tree, nodes, child, k + 1, value)


def _check_spare(tree: ElementTree, used: list[int]) -> None:
    """Check that every row is in use or spare."""
    for pool, (name, count) in enumerate(zip(COLUMNS, used, strict=True)):
        rows, spare = getattr(tree.arrays, name), int(tree.arrays.spare[pool, COUNT])
        assert count + spare == len(rows), f"{len(rows)} rows of {name}, but {count} in use and {spare} spare"
        row, chain = int(tree.arrays.spare[pool, HEAD]), set[int]()
        for _ in range(spare):
            assert row not in chain | {0}, f"the spare rows of {name} are not a chain"
            chain.add(row)
            row = int(rows[row, 0])
