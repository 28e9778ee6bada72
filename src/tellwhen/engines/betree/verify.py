"""Is a BE-Tree what the paper says it is? The five properties of Figure 1, the rules of 4.2 and 4.3, the INVARIANCE."""

from __future__ import annotations

from tellwhen.compile.store import Snapshot
from tellwhen.engines.betree import grow
from tellwhen.engines.betree.tree import Tree


def check_tree(tree: Tree, snapshot: Snapshot) -> None:
    """Raises AssertionError at the first thing that is wrong."""
    _Check(tree, snapshot).c_node(0, -1, -1, ())


class _Check:
    def __init__(self, tree: Tree, snapshot: Snapshot) -> None:
        self.tree, self.domain_of = tree, snapshot.predicates.domain
        self.cnodes, self.pnodes, self.table, _, state = tree.nodes
        self.seen: set[int] = set()
        used = self.cnodes[: state[grow.C_USED], grow.DOMAIN]
        self.live = {c for c, domain in enumerate(used.tolist()) if domain != -2}
        self.visited: set[int] = set()

    def c_node(self, c: int, up: int, owner: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """Look at a c-node and all below; returns how many conjunctions there are."""
        node = self.cnodes[c]
        assert c in self.live - self.visited, f"c-node {c} is freed, or has two parents"
        self.visited.add(c)
        assert (node[grow.UP], node[grow.OWNER]) == (up, owner), f"c-node {c} does not know its parent"
        bucket = (int(node[grow.DOMAIN]), int(node[grow.LOW]), int(node[grow.HIGH]))
        if owner >= 0:
            path = (*path, bucket)
        size = self.l_node(c, path) + self.halves(c, path[:-1]) + self.directory(c, path)
        assert size == node[grow.SIZE], f"c-node {c} has {size} conjunctions below, not {node[grow.SIZE]}"
        assert size > 0 or c == 0, f"c-node {c} is empty"
        if c == 0:
            assert self.visited == self.live, "some c-nodes hang in the air"
            conjunctions = {conjunction for conjunction, at in enumerate(self.tree.node.view.tolist()) if at >= 0}
            assert self.seen == conjunctions, "some conjunctions are in no l-node"
        return size

    def l_node(self, c: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """Its conjunctions have a predicate for every bucket of the path, inside it, and are in the smallest bucket."""
        node, tree = self.cnodes[c], self.tree
        count, conjunction = 0, int(node[grow.HEAD])
        while conjunction >= 0:
            assert conjunction not in self.seen, f"conjunction {conjunction} is in two l-nodes"
            self.seen.add(conjunction)
            assert tree.node.view[conjunction] == c, f"conjunction {conjunction} does not know its c-node {c}"
            for domain, low, high in path:
                begin, end = self.bounds(conjunction, domain)
                assert low <= begin <= end <= high, (
                    f"conjunction {conjunction} is not enclosed by a bucket on domain {domain}"
                )
            if path and node[grow.SPLIT]:
                begin, end = self.bounds(conjunction, path[-1][0])
                middle = (path[-1][1] + path[-1][2]) // 2
                assert begin <= middle < end, (
                    f"conjunction {conjunction} is not in the smallest bucket that encloses it"
                )
            count += 1
            conjunction = int(tree.next.view[conjunction])
        assert count == node[grow.COUNT] <= node[grow.CAPACITY], f"c-node {c} overflows, or has lost count"
        assert node[grow.CAPACITY] % tree.max_cap == 0 < node[grow.CAPACITY], f"c-node {c} has an odd capacity"
        return count

    def bounds(self, conjunction: int, domain: int) -> tuple[int, int]:
        tree = self.tree
        code = tree.code.view[tree.start.view[conjunction] : tree.start.view[conjunction + 1]]
        mine = code[self.domain_of[code] == domain]
        assert len(mine), f"conjunction {conjunction} has no predicate on domain {domain}"
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
                found = self.cnodes[child, [grow.DOMAIN, grow.LOW, grow.HIGH]].tolist()
                assert found == [node[grow.DOMAIN], begin, end], f"c-node {child} is not a half of {c}"
                size += self.c_node(child, c, int(node[grow.OWNER]), path)
        return size

    def directory(self, c: int, path: tuple[tuple[int, int, int], ...]) -> int:
        """p-nodes are of different attributes, none of them on the path, and have a top bucket of the whole domain."""
        node, cut_start = self.cnodes[c], self.tree.cut_start
        size, p = 0, int(node[grow.DIRECTORY])
        if p >= 0 and c != 0:
            atomic = node[grow.LOW] == node[grow.HIGH]
            assert node[grow.SPLIT] or atomic, f"leaf bucket {c} has several values and is partitioned"
        used = {domain for domain, _, _ in path}
        while p >= 0:
            domain, parent, top, following = self.pnodes[p, : grow.LOSS].tolist()
            assert parent == c, f"p-node {p} does not know its parent"
            assert domain not in used, f"attribute {domain} is used twice on a path, or twice at c-node {c}"
            used.add(domain)
            assert grow.find(self.table, self.pnodes, c, domain) == p, f"p-node {p} is not found"
            spans = [domain, cut_start[domain] + domain, cut_start[domain + 1] + domain]
            assert self.cnodes[top, [grow.DOMAIN, grow.LOW, grow.HIGH]].tolist() == spans, (
                f"p-node {p} spans too little"
            )
            below = self.c_node(top, -1, p, path)
            assert below >= self.tree.min_size, f"p-node {p} has too few conjunctions"
            size += below
            p = following
        return size
