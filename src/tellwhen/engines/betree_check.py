"""Is a BE-Tree what the paper says it is? The five properties of Figure 1, the rules of 4.2 and 4.3, the INVARIANCE."""

from __future__ import annotations

from tellwhen.compile.subscriptions import View
from tellwhen.engines.betree_tree import Tree
from tellwhen.kernels import betree_grow as grow


def check_tree(tree: Tree, view: View) -> None:
    """Raises AssertionError at the first thing that is wrong."""
    _Check(tree, view).c_node(0, -1, -1, ())


class _Check:
    def __init__(self, tree: Tree, view: View) -> None:
        self.tree, self.line_of = tree, view.predicates.line
        self.cnodes, self.pnodes, self.table, _, state = tree.nodes
        self.seen: set[int] = set()
        used = self.cnodes[: state[grow.C_USED], grow.LINE]
        self.live = {c for c, line in enumerate(used.tolist()) if line != -2}
        self.visited: set[int] = set()

    def c_node(self, c: int, up: int, owner: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """Look at a c-node and all below; returns how many rows there are."""
        node = self.cnodes[c]
        assert c in self.live - self.visited, f"c-node {c} is freed, or has two parents"
        self.visited.add(c)
        assert (node[grow.UP], node[grow.OWNER]) == (up, owner), f"c-node {c} does not know its parent"
        bucket = (int(node[grow.LINE]), int(node[grow.LOW]), int(node[grow.HIGH]))
        if owner >= 0:
            path = (*path, bucket)
        size = self.l_node(c, path) + self.halves(c, path[:-1]) + self.directory(c, path)
        assert size == node[grow.SIZE], f"c-node {c} has {size} rows below, not {node[grow.SIZE]}"
        assert size > 0 or c == 0, f"c-node {c} is empty"
        if c == 0:
            assert self.visited == self.live, "some c-nodes hang in the air"
            rows = {row for row, at in enumerate(self.tree.node.view.tolist()) if at >= 0}
            assert self.seen == rows, "some rows are in no l-node"
        return size

    def l_node(self, c: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """Its rows have a predicate for every bucket of the path, inside it, and are in the smallest bucket."""
        node, tree = self.cnodes[c], self.tree
        count, row = 0, int(node[grow.HEAD])
        while row >= 0:
            assert row not in self.seen, f"row {row} is in two l-nodes"
            self.seen.add(row)
            assert tree.node.view[row] == c, f"row {row} does not know its c-node {c}"
            for line, low, high in path:
                begin, end = self.bounds(row, line)
                assert low <= begin <= end <= high, f"row {row} is not enclosed by a bucket on line {line}"
            if path and node[grow.SPLIT]:
                begin, end = self.bounds(row, path[-1][0])
                middle = (path[-1][1] + path[-1][2]) // 2
                assert begin <= middle < end, f"row {row} is not in the smallest bucket that encloses it"
            count += 1
            row = int(tree.next.view[row])
        assert count == node[grow.COUNT] <= node[grow.CAPACITY], f"c-node {c} overflows, or has lost count"
        assert node[grow.CAPACITY] % tree.max_cap == 0 < node[grow.CAPACITY], f"c-node {c} has an odd capacity"
        return count

    def bounds(self, row: int, line: int) -> tuple[int, int]:
        tree = self.tree
        code = tree.code.view[tree.start.view[row] : tree.start.view[row + 1]]
        mine = code[self.line_of[code] == line]
        assert len(mine), f"row {row} has no predicate on line {line}"
        return int(tree.low.view[mine[0]]), int(tree.high.view[mine[0]])

    def halves(self, c: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """A bucket's halves make it up."""
        node = self.cnodes[c]
        low, high = int(node[grow.LOW]), int(node[grow.HIGH])
        size = 0
        for side, begin, end in ((grow.LEFT, low, (low + high) // 2), (grow.RIGHT, (low + high) // 2 + 1, high)):
            child = int(node[side])
            if child >= 0:
                assert node[grow.SPLIT], f"c-node {c} has a half and was never split"
                found = self.cnodes[child, [grow.LINE, grow.LOW, grow.HIGH]].tolist()
                assert found == [node[grow.LINE], begin, end], f"c-node {child} is not a half of {c}"
                size += self.c_node(child, c, int(node[grow.OWNER]), path)
        return size

    def directory(self, c: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """p-nodes are of different attributes, none of them on the path, and have a top bucket of the whole line."""
        node, cut_start = self.cnodes[c], self.tree.cut_start
        size, p = 0, int(node[grow.DIRECTORY])
        if p >= 0 and c != 0:
            atomic = node[grow.LOW] == node[grow.HIGH]
            assert node[grow.SPLIT] or atomic, f"leaf bucket {c} has several values and is partitioned"
        used = {line for line, _, _ in path}
        while p >= 0:
            line, parent, top, following = self.pnodes[p, : grow.LOSS].tolist()
            assert parent == c, f"p-node {p} does not know its parent"
            assert line not in used, f"attribute {line} is used twice on a path, or twice at c-node {c}"
            used.add(line)
            assert grow.find(self.table, self.pnodes, c, line) == p, f"p-node {p} is not found"
            spans = [line, cut_start[line] + line, cut_start[line + 1] + line]
            assert self.cnodes[top, [grow.LINE, grow.LOW, grow.HIGH]].tolist() == spans, f"p-node {p} spans too little"
            below = self.c_node(top, -1, p, path)
            assert below >= self.tree.min_size, f"p-node {p} has too few rows"
            size += below
            p = following
        return size
