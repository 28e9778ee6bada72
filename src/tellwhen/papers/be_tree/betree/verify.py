"""Checks of a BE-Tree: the properties of Figure 1, the rules of sections 4.2 and 4.3, and the INVARIANCE."""

from __future__ import annotations

from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.be_tree.betree.arrays import FREED, HIGH, LOW, WORDS, BETreeIndex
from tellwhen.papers.be_tree.betree.kernels.nodes import find_first_missing
from tellwhen.papers.be_tree.betree.tree import Tree

Bucket = tuple[int, int, int]
"""Domain, first space, last space."""


def check_tree(tree: Tree, snapshot: Snapshot) -> None:
    """Raise AssertionError at the first violation in a growing tree."""
    checker = _TreeChecker(tree, snapshot)
    checker.check_cnode(0, -1, -1, ())
    assert checker.visited_cnodes == checker.live, "some c-nodes are not reached from the root"
    assert checker.visited_conjunctions == set(tree.list_numbers().tolist()), "some conjunctions are in no l-node"
    assert find_first_missing(tree.nodes) == -1, f"p-node {find_first_missing(tree.nodes)} is not found"
    assert tree.nodes.state["waiting"][0] == 0, "some c-nodes are still on the stack"


def check_index(index: BETreeIndex, tree: Tree, snapshot: Snapshot) -> None:
    """Check that each node has the conjunctions of its c-node, with no other predicates than theirs."""
    conjunctions = tree.conjunctions
    check_minimal_intervals(index, tree, snapshot)
    for n, c in enumerate(index.cnode.tolist()):
        at, end = index.nodes[n : n + 2, WORDS].tolist()
        number = int(tree.nodes.cnodes["first"][c])
        while at < end and number >= 0:
            count, slot = index.words[at : at + 2].tolist()
            assert slot == conjunctions.slot[number], f"node {n} has another slot than c-node {c}"
            members = conjunctions.predicate[conjunctions.start[number] : conjunctions.start[number + 1]]
            assert set(index.words[at + 2 : at + 2 + count]) <= set(members), f"node {n} has another predicate than {c}"
            at, number = at + 2 + count, int(conjunctions.next[number])
        assert at == end, f"node {n} has more conjunctions than c-node {c}"
        assert number < 0, f"node {n} lacks conjunctions of c-node {c}"
    assert sorted(index.cnode.tolist()) == sorted(_find_live_cnodes(tree)), "not every c-node was laid out once"


def check_minimal_intervals(index: BETreeIndex, tree: Tree, snapshot: Snapshot) -> None:
    """Check that buckets have the smallest intervals that enclose their conjunctions, and that `above` is right."""
    checker, cnodes, pnodes = _TreeChecker(tree, snapshot), tree.nodes.cnodes, tree.nodes.pnodes
    node_by_cnode = {c: n for n, c in enumerate(index.cnode.tolist())}
    smallest: dict[int, tuple[int, int]] = {}
    for number in tree.list_numbers().tolist():
        c = int(tree.conjunctions.node[number])
        while c != 0:
            begin, end = checker.get_bounds(number, int(cnodes["domain"][c]))
            low, high = smallest.get(c, (begin, end))
            smallest[c] = min(low, begin), max(high, end)
            whole = int(cnodes["whole"][c])
            above = whole if whole >= 0 else int(pnodes["parent"][cnodes["pnode"][c]])
            assert index.above[node_by_cnode[c]] == node_by_cnode[above], f"c-node {c} was laid out below another"
            c = above
    for c, interval in smallest.items():
        found = tuple(index.nodes[node_by_cnode[c], LOW : HIGH + 1].tolist())
        assert found == interval, f"the minimal interval of c-node {c} is {interval}, not {found}"


class _TreeChecker:
    def __init__(self, tree: Tree, snapshot: Snapshot) -> None:
        self.tree, self.predicate_domain = tree, snapshot.predicates.domain
        self.cnodes, self.pnodes = tree.nodes.cnodes, tree.nodes.pnodes
        self.conjunctions, self.bounds = tree.conjunctions, tree.bounds
        self.live = _find_live_cnodes(tree)
        self.visited_cnodes: set[int] = set()
        self.visited_conjunctions: set[int] = set()

    def check_cnode(self, c: int, whole: int, pnode: int, path: tuple[Bucket, ...]) -> int:
        """Check a c-node and all nodes below; return the number of conjunctions."""
        node = self.cnodes[c]
        assert c in self.live - self.visited_cnodes, f"c-node {c} is freed, or has two parents"
        self.visited_cnodes.add(c)
        assert (node["whole"], node["pnode"]) == (whole, pnode), f"c-node {c} has another parent"
        if pnode >= 0:
            path = (*path, self.get_bucket(c))
        size = self.check_lnode(c, path) + self.check_halves(c, path[:-1]) + self.check_directory(c, path)
        assert size == node["size"], f"c-node {c} has {size} conjunctions below, not {node['size']}"
        assert size > 0 or c == 0, f"c-node {c} is empty"
        self.check_window(c)
        return size

    def check_window(self, c: int) -> None:
        """Check that the counts of a window are possible."""
        window, node = self.tree.nodes.windows[c], self.cnodes[c]
        assert 0 <= window["missed"] <= window["visits"], f"c-node {c} has more missed visits than visits"
        counts = window["failed"], window["leaf_failed"], window["leaf_visits"], node["changes"], node["leaf_changes"]
        assert min(counts) >= 0, f"c-node {c} has counts below 0"
        assert window["loss"] == -1 or 0 <= window["loss"] <= 1, f"c-node {c} has an impossible loss"

    def get_bucket(self, c: int) -> Bucket:
        node = self.cnodes[c]
        return int(node["domain"]), int(node["low"]), int(node["high"])

    def check_lnode(self, c: int, path: tuple[Bucket, ...]) -> int:
        """Check that conjunctions have a predicate inside every bucket of the path, and are in the smallest bucket."""
        node, max_cap = self.cnodes[c], self.tree.max_cap
        count, number = 0, int(node["first"])
        while number >= 0:
            assert number not in self.visited_conjunctions, f"conjunction {number} is in two l-nodes"
            self.visited_conjunctions.add(number)
            assert self.conjunctions.node[number] == c, (
                f"conjunction {number} is in the l-node of c-node {c}, but its `node` is another"
            )
            for domain, low, high in path:
                begin, end = self.get_bounds(number, domain)
                assert low <= begin <= end <= high, f"conjunction {number} is not enclosed by a bucket on {domain}"
            if path and node["is_split"]:
                begin, end = self.get_bounds(number, path[-1][0])
                middle = (path[-1][1] + path[-1][2]) // 2
                assert begin <= middle < end, f"conjunction {number} is not in the smallest bucket that encloses it"
            count += 1
            number = int(self.conjunctions.next[number])
        assert count == node["count"] <= node["capacity"], f"c-node {c} overflows, or `count` is wrong"
        assert node["capacity"] % max_cap == 0 < node["capacity"], (
            f"c-node {c} has a capacity that is not a positive multiple of max_cap"
        )
        return count

    def get_bounds(self, number: int, domain: int) -> tuple[int, int]:
        """Return the bounds of the first predicate of a conjunction on a domain."""
        start = self.conjunctions.start
        predicates = self.conjunctions.predicate[start[number] : start[number + 1]]
        on_domain = predicates[self.predicate_domain[predicates] == domain]
        assert len(on_domain), f"conjunction {number} has no predicate on domain {domain}"
        return int(self.bounds.low[on_domain[0]]), int(self.bounds.high[on_domain[0]])

    def check_halves(self, c: int, path: tuple[Bucket, ...]) -> int:
        """Check that the halves of a bucket divide it in the middle; return the number of their conjunctions."""
        node = self.cnodes[c]
        domain, low, high = self.get_bucket(c)
        middle, size = (low + high) // 2, 0
        for name, begin, end in (("left", low, middle), ("right", middle + 1, high)):
            half = int(node[name])
            if half >= 0:
                assert node["is_split"], f"c-node {c} has a half and was never split"
                assert self.get_bucket(half) == (domain, begin, end), f"c-node {half} is not a half of {c}"
                size += self.check_cnode(half, c, int(node["pnode"]), path)
        return size

    def check_directory(self, c: int, path: tuple[Bucket, ...]) -> int:
        """Check that p-nodes have different attributes, none of the path, and top buckets of whole domains."""
        node, cut_start = self.cnodes[c], self.tree.cut_start
        size, p = 0, int(node["directory"])
        if p >= 0 and c != 0:
            is_atomic = node["low"] == node["high"]
            assert node["is_split"] or is_atomic, f"leaf bucket {c} has several values and is partitioned"
        used = {domain for domain, _, _ in path}
        while p >= 0:
            domain, parent, top, following, _ = self.pnodes[p].tolist()
            assert parent == c, f"p-node {p} has another parent"
            assert domain not in used, f"attribute {domain} is used twice on a path, or twice at c-node {c}"
            used.add(domain)
            whole = domain, cut_start[domain] + domain, cut_start[domain + 1] + domain
            assert self.get_bucket(top) == whole, f"the top bucket of p-node {p} is not the whole domain"
            below = self.check_cnode(top, -1, p, path)
            assert below >= self.tree.min_size, f"p-node {p} has too few conjunctions"
            size += below
            p = following
        return size


def _find_live_cnodes(tree: Tree) -> set[int]:
    domains = tree.nodes.cnodes["domain"][: tree.nodes.state["cnodes"][0]]
    return {c for c, domain in enumerate(domains.tolist()) if domain != FREED}
