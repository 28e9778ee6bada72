"""A BE-Tree that grows and shrinks: conjunctions in, conjunctions out. It is laid out to be matched (`layout.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.growing import growing, views
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.be_tree.betree.arrays import (
    CNODE,
    FAILED,
    NO_DOMAIN,
    PNODE,
    STATE,
    VISITS,
    BETreeIndex,
    Bounds,
    Nodes,
    TreeArrays,
    TreeConjunctions,
    TreePredicates,
)
from tellwhen.papers.be_tree.betree.kernels.adjust import judge
from tellwhen.papers.be_tree.betree.kernels.bounds import find_bounds
from tellwhen.papers.be_tree.betree.kernels.insert import fill_root, insert
from tellwhen.papers.be_tree.betree.kernels.nodes import fill_table
from tellwhen.papers.be_tree.betree.kernels.partition import DomainMarks
from tellwhen.papers.be_tree.betree.kernels.remove import conjunctions_below, mend, take_out
from tellwhen.papers.be_tree.betree.layout import lay_out

MAX_COUNT = (1 << 30) - 1
"""What a window counts up to."""

INITIAL_NODES = 16
"""Nodes that a new tree has room for: a power of two."""


class Tree:
    """A growing tree, and the conjunctions that it has had."""

    def __init__(self, arrays: TreeArrays, cut_start: I64, cuts: I64) -> None:
        self.nodes, conjunctions, bounds = arrays
        self.cut_start, self.cuts = cut_start, cuts
        self._conjunctions: Any = growing(conjunctions)
        self._bounds: Any = growing(bounds)

    @classmethod
    def empty(cls, snapshot: Snapshot, rank: I32, max_cap: int, min_size: int) -> Tree:
        """A tree without conjunctions. Its spaces are made of all predicates of the snapshot, whose rank is given."""
        known = len(snapshot.predicates.domain)
        cut_start, cuts, _, _ = cut_spaces(snapshot.predicates, np.arange(known, dtype=np.int32), snapshot.domains)
        none, offsets = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        conjunctions = TreeConjunctions(slot=none, start=offsets, predicate=none, node=none, next=none)
        bounds = Bounds(none, none, np.zeros(0, dtype=np.uint8), none)
        tree = cls(TreeArrays(_root(max_cap, min_size, known), conjunctions, bounds), cut_start, cuts)
        tree._learn(snapshot, rank)
        return tree

    def __len__(self) -> int:
        return int(self.nodes.cnodes["size"][0])

    @property
    def max_cap(self) -> int:
        """Conjunctions in an l-node before it is divided."""
        return int(self.nodes.state["max_cap"][0])

    @property
    def min_size(self) -> int:
        """Conjunctions below a p-node, at least."""
        return int(self.nodes.state["min_size"][0])

    @property
    def known(self) -> int:
        """Predicates that the spaces were made of."""
        return int(self.nodes.state["known"][0])

    @property
    def conjunctions(self) -> TreeConjunctions:
        """All conjunctions that ever came, by number."""
        return views(self._conjunctions)

    @property
    def bounds(self) -> Bounds:
        """What is known of each predicate."""
        return views(self._bounds)

    @property
    def arrays(self) -> TreeArrays:
        """All arrays, without the room behind them."""
        nodes, state = self.nodes, self.nodes.state[0]
        trimmed = nodes._replace(
            cnodes=nodes.cnodes[: state["cnodes"]], pnodes=nodes.pnodes[: state["pnodes"]], stack=nodes.stack[:0]
        )
        return TreeArrays(trimmed, self.conjunctions, self.bounds)

    def alive(self) -> I32:
        """The numbers of the conjunctions in the tree."""
        return np.flatnonzero(self.conjunctions.node >= 0).astype(np.int32)

    # growing

    def add(self, snapshot: Snapshot, conjunctions: Conjunctions, at_once: bool = False) -> None:
        """Insert new conjunctions one by one; or all at once, into an empty tree."""
        mine, count = self._conjunctions, len(conjunctions.slot)
        numbers = np.arange(mine.slot.count, mine.slot.count + count, dtype=np.int32)
        mine.slot.extend(conjunctions.slot)
        mine.start.extend(conjunctions.start[1:] + mine.predicate.count)
        mine.predicate.extend(conjunctions.predicate)
        mine.node.extend(np.full(count, -1, dtype=np.int32))
        mine.next.extend(np.full(count, -1, dtype=np.int32))
        self._insert(snapshot, numbers, at_once)

    def _insert(self, snapshot: Snapshot, numbers: I32, at_once: bool = False) -> None:
        self._learn(snapshot)
        if not len(numbers):
            return
        done = 0
        if at_once:
            fill_root(self.nodes, self.conjunctions, numbers)
            done = len(numbers)
        marks = DomainMarks(*(np.zeros(snapshot.domains, dtype=np.int32) for _ in range(2)))
        others = self.conjunctions, self._predicates(snapshot), marks, numbers
        done = insert(self.nodes, *others, done)
        while done < len(numbers) or self.nodes.state["waiting"][0]:
            self._make_room()
            done = insert(self.nodes, *others, done)

    def _make_room(self) -> None:
        """Make the arrays of the nodes longer, so that there is room for what the kernel wanted."""
        nodes, state = self.nodes, self.nodes.state[0]
        pnodes = int(state["pnodes"] + state["wanted"])
        self.nodes = Nodes(
            _longer(nodes.cnodes, int(state["cnodes"] + state["wanted"]) + 2),
            _longer(nodes.pnodes, pnodes),
            np.zeros(1 << (4 * pnodes).bit_length(), dtype=np.int32),
            _longer(nodes.stack, int(state["waiting"] + state["wanted"]) + 2),
            nodes.state,
        )
        fill_table(self.nodes)

    def _predicates(self, snapshot: Snapshot) -> TreePredicates:
        return TreePredicates(snapshot.predicates.domain, self.cut_start, self.bounds)

    def _learn(self, snapshot: Snapshot, rank: I32 | None = None) -> None:
        """Find the bounds of predicates that are new in the snapshot. Unless their rank is given, they come last."""
        fresh = snapshot.domains + 1 - len(self.cut_start)
        if fresh > 0:  # new domains have no cuts, and one space
            self.cut_start = np.append(self.cut_start, np.full(fresh, self.cut_start[-1]))
        first, count = self._bounds.low.count, len(snapshot.predicates.domain)
        if count > first:
            room = Bounds(*(array.reserve(count - first) for array in self._bounds))
            room.rank[first:count] = first if rank is None else rank
            find_bounds(self.cut_start, self.cuts, snapshot.predicates, first, room)
            for array in self._bounds:
                array.count = count

    # shrinking

    def remove(self, snapshot: Snapshot, numbers: I32) -> None:
        """Take conjunctions out for good."""
        self._insert(snapshot, self._take_out(numbers))

    def reinsert(self, snapshot: Snapshot, numbers: I32) -> None:
        """Take conjunctions out, and insert them again."""
        self._insert(snapshot, np.union1d(numbers, self._take_out(numbers)).astype(np.int32))

    def _take_out(self, numbers: I32) -> I32:
        """Take conjunctions out, then those of p-nodes with too few left; returns the latter, to be inserted again.

        Dissolving a p-node may leave too few for the one above.
        """
        stranded = [numbers[:0]]
        while len(numbers):
            conjunctions = self.conjunctions
            touched = np.empty(len(numbers), dtype=np.int32)
            by_node = numbers[np.argsort(conjunctions.node[numbers], kind="stable")]
            count = take_out(self.nodes, conjunctions, by_node, touched)
            mend(self.nodes, conjunctions, touched[:count])
            pnodes = self.nodes.pnodes[: self.nodes.state["pnodes"][0]]
            few = (pnodes["parent"] >= 0) & (self.nodes.cnodes["size"][pnodes["top"]] < self.min_size)
            numbers = self._below(pnodes["top"][few])
            stranded.append(numbers)
        return np.concatenate(stranded)

    def _below(self, tops: I32) -> I32:
        """The conjunctions in the subtrees of c-nodes, ascending."""
        found = np.empty(int(self.nodes.cnodes["size"][tops].sum()), dtype=np.int32)
        if len(found):
            conjunctions_below(self.nodes, self.conjunctions, tops, found)
        return np.unique(found)

    # adjusting

    def note(self, index: BETreeIndex) -> None:
        """Add what matching has counted to the windows of the c-nodes."""
        for name, counted in (("visits", index.counts[:, VISITS]), ("failed", index.counts[:, FAILED])):
            window = self.nodes.cnodes[name]
            window[index.cnode] = np.minimum(window[index.cnode] + np.minimum(counted, MAX_COUNT), MAX_COUNT)

    def unfit(self, window: int, threshold: int) -> I32:
        """The conjunctions of nodes whose window is over, and whose rank is below the threshold."""
        cnodes, pnodes, *_ = self.nodes
        is_unfit_cnode, is_unfit_pnode = np.zeros(len(cnodes), dtype=np.bool_), np.zeros(len(pnodes), dtype=np.bool_)
        judge(self.nodes, window, threshold, is_unfit_cnode, is_unfit_pnode)
        alive = self.alive()
        alone = alive[is_unfit_cnode[self.conjunctions.node[alive]]]
        return np.union1d(alone, self._below(pnodes["top"][is_unfit_pnode])).astype(np.int32)

    # matching

    def lay_out(self, snapshot: Snapshot) -> BETreeIndex:
        """The tree as matching reads it."""
        return lay_out(self.nodes, self.conjunctions, self._predicates(snapshot), self.cuts, snapshot)


def _root(max_cap: int, min_size: int, known: int) -> Nodes:
    """The nodes of an empty tree."""
    cnodes, pnodes = np.zeros(INITIAL_NODES, dtype=CNODE), np.zeros(INITIAL_NODES, dtype=PNODE)
    for name in ("left", "right", "whole", "pnode", "first", "directory"):
        cnodes[name][0] = -1
    cnodes["domain"][0], cnodes["capacity"][0] = NO_DOMAIN, max_cap
    state = np.zeros(1, dtype=STATE)
    state["max_cap"], state["min_size"], state["known"] = max_cap, min_size, known
    state["cnodes"], state["freed_cnode"], state["freed_pnode"] = 1, -1, -1
    table, stack = (np.zeros(INITIAL_NODES, dtype=np.int32) for _ in range(2))
    return Nodes(cnodes, pnodes, table, stack, state)


def _longer(array: NDArray, needed: int) -> NDArray:
    """The array itself if it is long enough, or one that is at least twice as long."""
    if needed <= len(array):
        return array
    longer = np.zeros(max(needed, 2 * len(array)), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
