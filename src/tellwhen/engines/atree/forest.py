"""The forest while it grows and shrinks, expression by expression."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.tree import allocate_tree
from tellwhen.engines.atree.arrays import (
    ATOM_END,
    COUNTERS,
    EDGE_COLUMNS,
    EDGE_END,
    FREE_EDGE,
    FREE_NODE,
    NODE_COLUMNS,
    NODE_END,
    NONE,
    WASTE,
    Forest,
    Growth,
)
from tellwhen.engines.atree.kernels.plant import EQUAL_PARTS, chain_all_nodes, plant_expressions, uproot_expressions
from tellwhen.engines.atree.kernels.reuse import CANDIDATES_MAX
from tellwhen.engines.shared.calls import Packed
from tellwhen.kernels.arrays import I32, Snapshot

ROOM_MIN = 1_024
"""A new forest has room for 1,024 nodes, edges and atoms."""

WASTE_MIN = 4_096
"""Compact a forest once more than 4,096 of its atoms, and more than half, belong to removed nodes."""


class ForestBuilder:
    """Adds expressions to a forest and removes them; `sharing` says which nodes expressions share."""

    def __init__(self, sharing: int, is_binary: bool) -> None:
        self.sharing, self.is_binary = sharing, is_binary
        counters = np.zeros(COUNTERS, dtype=np.int64)
        counters[[FREE_NODE, FREE_EDGE]] = NONE
        self.forest = Forest(
            nodes=np.empty((ROOM_MIN, NODE_COLUMNS), dtype=np.int32),
            edges=np.empty((ROOM_MIN, EDGE_COLUMNS), dtype=np.int32),
            atoms=np.empty(ROOM_MIN, dtype=np.int32),
            leaf=np.empty(0, dtype=np.int32),
            equal=np.full(ROOM_MIN, NONE, dtype=np.int32),
            pair=np.full(ROOM_MIN, NONE, dtype=np.int32),
            dead=np.empty(ROOM_MIN, dtype=np.int32),
            waiting=np.zeros(ROOM_MIN, dtype=np.uint8),
            queue=np.empty(ROOM_MIN, dtype=np.int32),
            counters=counters,
        )
        self.packed = Packed(self.forest)

    def add(self, snapshot: Snapshot, slots: I32) -> I32:
        """Add the expressions of some slots; return their nodes, or ALWAYS or IMPOSSIBLE."""
        subscriptions = snapshot.subscriptions
        self._set(leaf=_extend(self.forest.leaf, len(snapshot.predicates.domain), NONE))
        lengths = subscriptions.start[slots + 1] - subscriptions.start[slots]
        longest = int(lengths.max(initial=0))
        growth = Packed(_make_growth(longest))
        packed = Packed(subscriptions)
        roots = np.empty(len(slots), dtype=np.int32)
        done = 0
        while True:
            self._make_room(2 * longest + 2)
            done = plant_expressions(
                self.packed.addresses,
                growth.addresses,
                packed.addresses,
                slots,
                done,
                self.sharing,
                self.is_binary,
                roots,
            )
            if done == len(slots):
                return roots

    def remove(self, roots: I32) -> None:
        """Remove one use of each of these nodes."""
        while not uproot_expressions(self.packed.addresses, roots):
            self._set(edges=_extend(self.forest.edges, 2 * len(self.forest.edges)))
            roots = roots[:0]

    @property
    def is_wasteful(self) -> bool:
        """Whether most atoms belong to removed nodes."""
        waste = int(self.forest.counters[WASTE])
        return waste > max(WASTE_MIN, int(self.forest.counters[ATOM_END]) // 2)

    def _set(self, **arrays: np.ndarray) -> None:
        self.forest = self.forest._replace(**arrays)
        self.packed = Packed(self.forest)

    def _make_room(self, count: int) -> None:
        """Make room for `count` nodes, edges and atoms; an array that is too small at least doubles."""
        forest, counters = self.forest, self.forest.counters
        nodes = _grow_length(len(forest.nodes), int(counters[NODE_END]) + count)
        if nodes > len(forest.nodes):
            self._set(
                nodes=_extend(forest.nodes, nodes),
                dead=_extend(forest.dead, nodes),
                waiting=_extend(forest.waiting, nodes, 0),
                queue=_extend(forest.queue, nodes),
            )
        edges = _grow_length(len(forest.edges), int(counters[EDGE_END]) + count)
        if edges > len(forest.edges):
            self._set(edges=_extend(forest.edges, edges))
        atoms = _grow_length(len(forest.atoms), int(counters[ATOM_END]) + count)
        if atoms > len(forest.atoms):
            self._set(atoms=_extend(forest.atoms, atoms))
        if len(self.forest.equal) < nodes:
            heads = 1 << (nodes - 1).bit_length()
            self._set(equal=np.full(heads, NONE, dtype=np.int32), pair=np.full(heads, NONE, dtype=np.int32))
            if self.sharing >= EQUAL_PARTS:
                chain_all_nodes(self.packed.addresses)


def _grow_length(length: int, needed: int) -> int:
    return length if needed <= length else max(needed, 2 * length)


def _extend(array: np.ndarray, length: int, fill: int | None = None) -> np.ndarray:
    """Return a longer copy; the new part is filled with `fill`, or uninitialised."""
    grown = np.empty((max(length, len(array)), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    if fill is not None:
        grown[len(array) :] = fill
    return grown


def _make_growth(longest: int) -> Growth:
    """Make the working arrays for expressions of at most `longest` words of code."""
    most = 2 * longest + 2
    return Growth(
        tree=allocate_tree(longest),
        node=np.empty(most, dtype=np.int32),
        members=np.empty(most, dtype=np.int32),
        children=np.empty(most, dtype=np.int32),
        is_covered=np.empty(most, dtype=np.uint8),
        candidates=np.empty(CANDIDATES_MAX + 1, dtype=np.int32),
    )
