"""The growing tree of `betree`: conjunctions are inserted and removed (BE-Tree, section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.growing import make_growing, take_views
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.be_tree.betree.arrays import (
    CNODE,
    NO_DOMAIN,
    PNODE,
    STATE,
    WINDOW,
    BETreeIndex,
    Bounds,
    Nodes,
    TreeArrays,
    TreeConjunctions,
    TreePredicates,
)
from tellwhen.papers.be_tree.betree.kernels.adjust import (
    NodeMarks,
    add_counts,
    change_max_cap,
    close_windows,
    find_movable,
    mark_useless_nodes,
)
from tellwhen.papers.be_tree.betree.kernels.bounds import find_bounds
from tellwhen.papers.be_tree.betree.kernels.insert import fill_root, insert_conjunctions
from tellwhen.papers.be_tree.betree.kernels.nodes import fill_table
from tellwhen.papers.be_tree.betree.kernels.partition import DomainMarks
from tellwhen.papers.be_tree.betree.kernels.remove import list_below, merge_nodes, take_out_conjunctions
from tellwhen.papers.be_tree.betree.layout import lay_out

INITIAL_NODES = 16
"""Nodes that a new tree has room for: a power of two."""


class Tree:
    """A growing tree, and all conjunctions that were ever inserted."""

    def __init__(self, arrays: TreeArrays, cut_start: I64, cuts: I64) -> None:
        self.nodes, conjunctions, bounds, self.loss = arrays
        self.cut_start, self.cuts = cut_start, cuts
        self._conjunctions: Any = make_growing(conjunctions)
        self._bounds: Any = make_growing(bounds)

    @classmethod
    def empty(
        cls, snapshot: Snapshot, rank: I32, max_cap: int, min_size: int, initial_nodes: int = INITIAL_NODES
    ) -> Tree:
        """Make a tree without conjunctions. All predicates of the snapshot, whose ranks are `rank`, cut its spaces."""
        known = len(snapshot.predicates.domain)
        cut_start, cuts, _, _ = cut_spaces(snapshot.predicates, np.arange(known, dtype=np.int32), snapshot.domains)
        none, offsets = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        conjunctions = TreeConjunctions(slot=none, start=offsets, predicate=none, node=none, next=none)
        bounds = Bounds(none, none, np.zeros(0, dtype=np.uint8), none)
        root = _make_root(max_cap, min_size, known, initial_nodes)
        loss = np.zeros(snapshot.domains)
        tree = cls(TreeArrays(root, conjunctions, bounds, loss), cut_start, cuts)
        tree._add_predicates(snapshot, rank)
        return tree

    def copy(self) -> Tree:
        """Return a tree that shares no arrays with this one, except those that never change."""
        arrays = self.arrays
        nodes, conjunctions, bounds = (_copy_arrays(part) for part in arrays[:3])
        return Tree(TreeArrays(nodes, conjunctions, bounds, arrays.loss.copy()), self.cut_start, self.cuts)

    def __len__(self) -> int:
        return int(self.nodes.cnodes["size"][0])

    @property
    def max_cap(self) -> int:
        """Conjunctions of an l-node before it overflows."""
        return int(self.nodes.state["max_cap"][0])

    @property
    def min_size(self) -> int:
        """Minimum of conjunctions below a p-node."""
        return int(self.nodes.state["min_size"][0])

    @property
    def known_predicates(self) -> int:
        """Number of predicates whose intervals cut the spaces."""
        return int(self.nodes.state["known"][0])

    @property
    def conjunctions(self) -> TreeConjunctions:
        """All conjunctions that were ever inserted, by number."""
        return take_views(self._conjunctions)

    @property
    def bounds(self) -> Bounds:
        return take_views(self._bounds)

    @property
    def arrays(self) -> TreeArrays:
        """All arrays, without the room behind them."""
        nodes, state = self.nodes, self.nodes.state[0]
        trimmed = nodes._replace(
            cnodes=nodes.cnodes[: state["cnodes"]],
            windows=nodes.windows[: state["cnodes"]],
            pnodes=nodes.pnodes[: state["pnodes"]],
            stack=nodes.stack[:0],
        )
        return TreeArrays(trimmed, self.conjunctions, self.bounds, self.loss)

    def list_numbers(self) -> I32:
        """Return the numbers of the conjunctions in the tree."""
        return np.flatnonzero(self.conjunctions.node >= 0).astype(np.int32)

    # growing

    def add(self, snapshot: Snapshot, conjunctions: Conjunctions, is_batch: bool = False) -> None:
        """Insert new conjunctions one by one, or put all into the root of an empty tree and then partition the root."""
        grown, count = self._conjunctions, len(conjunctions.slot)
        numbers = np.arange(grown.slot.count, grown.slot.count + count, dtype=np.int32)
        grown.slot.extend(conjunctions.slot)
        grown.start.extend(conjunctions.start[1:] + grown.predicate.count)
        grown.predicate.extend(conjunctions.predicate)
        grown.node.extend(np.full(count, -1, dtype=np.int32))
        grown.next.extend(np.full(count, -1, dtype=np.int32))
        self._insert(snapshot, numbers, is_batch)

    def _insert(self, snapshot: Snapshot, numbers: I32, is_batch: bool = False) -> None:
        self._add_predicates(snapshot)
        if not len(numbers):
            return
        done = 0
        if is_batch:
            fill_root(self.nodes, self.conjunctions, numbers)
            done = len(numbers)
        marks = DomainMarks(*(np.zeros(snapshot.domains, dtype=np.int32) for _ in range(2)))
        arguments = self.conjunctions, self._make_predicates(snapshot), marks, numbers
        done = insert_conjunctions(self.nodes, *arguments, done)
        while done < len(numbers) or self.nodes.state["waiting"][0]:
            self._make_room()
            done = insert_conjunctions(self.nodes, *arguments, done)

    def _make_room(self) -> None:
        """Make the arrays of the nodes longer, so that there is room for the nodes that the kernel needs."""
        nodes, state = self.nodes, self.nodes.state[0]
        cnodes, pnodes = int(state["cnodes"] + state["wanted"]) + 2, int(state["pnodes"] + state["wanted"])
        self.nodes = Nodes(
            _lengthen(nodes.cnodes, cnodes),
            _lengthen(nodes.windows, cnodes),
            _lengthen(nodes.pnodes, pnodes),
            np.zeros(1 << (4 * pnodes).bit_length(), dtype=np.int32),
            _lengthen(nodes.stack, int(state["waiting"] + state["wanted"]) + 2),
            nodes.state,
        )
        fill_table(self.nodes)

    def _make_predicates(self, snapshot: Snapshot) -> TreePredicates:
        return TreePredicates(snapshot.predicates.domain, self.cut_start, self.loss, self.bounds)

    def _add_predicates(self, snapshot: Snapshot, rank: I32 | None = None) -> None:
        """Find the bounds of the predicates that are new in the snapshot. Without `rank` they rank last."""
        new_domains = snapshot.domains + 1 - len(self.cut_start)
        if new_domains > 0:  # they have no cuts, and one space each
            self.cut_start = np.append(self.cut_start, np.full(new_domains, self.cut_start[-1]))
            self.loss = np.append(self.loss, np.zeros(new_domains))
        first, count = self._bounds.low.count, len(snapshot.predicates.domain)
        if count > first:
            room = Bounds(*(array.reserve(count - first) for array in self._bounds))
            room.rank[first:count] = first if rank is None else rank
            find_bounds(self.cut_start, self.cuts, snapshot.predicates, first, room)
            for array in self._bounds:
                array.count = count

    # shrinking

    def remove(self, snapshot: Snapshot, numbers: I32) -> None:
        """Remove conjunctions for good."""
        self._insert(snapshot, self._take_out(numbers))

    def reinsert(self, snapshot: Snapshot, numbers: I32) -> None:
        """Remove conjunctions, and insert them again."""
        self._insert(snapshot, np.union1d(numbers, self._take_out(numbers)).astype(np.int32))

    def _take_out(self, numbers: I32) -> I32:
        """Take conjunctions out of the tree, and dissolve the p-nodes that are left with too few conjunctions.

        Returns the conjunctions of these p-nodes; the caller inserts them again. Dissolving a p-node may leave too few
        conjunctions for the p-node above.
        """
        dissolved = [numbers[:0]]
        while len(numbers):
            conjunctions = self.conjunctions
            touched = np.empty(len(numbers), dtype=np.int32)
            by_node = numbers[np.argsort(conjunctions.node[numbers], kind="stable")]
            count = take_out_conjunctions(self.nodes, conjunctions, by_node, touched)
            merge_nodes(self.nodes, conjunctions, touched[:count])
            pnodes = self.nodes.pnodes[: self.nodes.state["pnodes"][0]]
            is_too_small = (pnodes["parent"] >= 0) & (self.nodes.cnodes["size"][pnodes["top"]] < self.min_size)
            numbers = self._list_below(pnodes["top"][is_too_small])
            dissolved.append(numbers)
        return np.concatenate(dissolved)

    def _list_below(self, tops: I32) -> I32:
        """Return the conjunctions in the subtrees of c-nodes, ascending."""
        numbers = np.empty(int(self.nodes.cnodes["size"][tops].sum()), dtype=np.int32)
        if len(numbers):
            list_below(self.nodes, self.conjunctions, tops, numbers)
        return np.unique(numbers)

    # adjusting

    def add_counts(self, index: BETreeIndex) -> None:
        """Add the counts of matching to the windows of the c-nodes."""
        if len(self):  # an engine without subscriptions compiles no kernels
            add_counts(self.nodes, index.cnode, index.above, index.counts)

    @property
    def events(self) -> int:
        """Number of events in the window of the root that `add_counts` has added."""
        return int(self.nodes.state["events"][0])

    def close_root_window(self) -> float:
        """Start a new window of the root; return the share of conjunctions that an event of the last window matched."""
        state = self.nodes.state
        share = state["matches"][0] / (state["events"][0] * max(1, len(self)))
        state["events"], state["matches"] = 0, 0
        return float(share)

    def change_max_cap(self, max_cap: int) -> None:
        """Change `max_cap` for later divisions of l-nodes."""
        if max_cap != self.max_cap:
            change_max_cap(self.nodes, max_cap)

    def recycle(self, snapshot: Snapshot, window: int, threshold: int) -> int:
        """Insert the conjunctions of useless nodes again, if they would go elsewhere; return how many."""
        useless = self.list_useless_conjunctions(snapshot, window, threshold)
        self.reinsert(snapshot, useless)
        return len(useless)

    def list_useless_conjunctions(self, snapshot: Snapshot, window: int, threshold: int) -> I32:
        """Return the conjunctions of useless nodes that would go elsewhere if they were inserted again (section 5).

        A node is useless if its window is over and its rank is below the threshold.
        """
        if not len(self):
            return np.zeros(0, dtype=np.int32)
        is_over, useless = (
            NodeMarks(*(np.zeros(len(self.nodes.cnodes), dtype=np.bool_) for _ in NodeMarks._fields)) for _ in range(2)
        )
        close_windows(self.nodes, self.loss, window, is_over)
        mark_useless_nodes(self.nodes, threshold, is_over, useless)
        numbers = self.list_numbers()
        numbers = numbers[useless.lnode[self.conjunctions.node[numbers]]]
        is_movable = np.zeros(len(numbers), dtype=np.bool_)
        find_movable(self.nodes, self.conjunctions, self._make_predicates(snapshot), numbers, is_movable)
        return numbers[is_movable]

    # matching

    def lay_out(self, snapshot: Snapshot) -> BETreeIndex:
        """Return the tree in the form that is matched."""
        return lay_out(self.nodes, self.conjunctions, self._make_predicates(snapshot), self.cuts, snapshot)


def _copy_arrays(arrays: Any) -> Any:
    """Return a NamedTuple of copies of the arrays."""
    return type(arrays)(*(array.copy() for array in arrays))


def _make_root(max_cap: int, min_size: int, known: int, initial_nodes: int) -> Nodes:
    cnodes, windows = np.zeros(initial_nodes, dtype=CNODE), np.zeros(initial_nodes, dtype=WINDOW)
    pnodes = np.zeros(initial_nodes, dtype=PNODE)
    for name in ("left", "right", "whole", "pnode", "first", "directory"):
        cnodes[name][0] = -1
    cnodes["domain"][0], cnodes["capacity"][0] = NO_DOMAIN, max_cap
    state = np.zeros(1, dtype=STATE)
    state["max_cap"], state["min_size"], state["known"] = max_cap, min_size, known
    state["cnodes"], state["freed_cnode"], state["freed_pnode"] = 1, -1, -1
    table, stack = (np.zeros(initial_nodes, dtype=np.int32) for _ in range(2))
    return Nodes(cnodes, windows, pnodes, table, stack, state)


def _lengthen(array: NDArray, needed: int) -> NDArray:
    """Return the array if it is long enough, or else a copy that is at least twice as long."""
    if needed <= len(array):
        return array
    longer = np.zeros(max(needed, 2 * len(array)), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
