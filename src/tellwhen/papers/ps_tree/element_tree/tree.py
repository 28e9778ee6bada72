"""`ElementTree`: a PS-Tree of one domain as the paper builds it (PS-Tree, section 4).

    -5:  "-" 7 11 ──> l e g        inner nodes for the elements of a value, then links to leaf nodes
     5:  "+" 0  5 ──> l e g        a leaf node is a predicate space, with a list of the intervals that cover it

An integer has the elements of Figure 2: its sign, the next 3 bits, and 4 bits each. Inserting an interval adds the
elements of its two ends, splits the leaf nodes there, and enters the interval into all leaf nodes between them.
Deleting it merges leaf nodes that no interval tells apart any more.

No engine uses this structure: `papers/ps_tree/tree.py` says what the engines use instead, and Table 3 compares both.
One thread may use a tree at a time: `path` is a working array.

Deviations:

- A value counts the intervals that begin and end there. The paper's predicate counter belongs to a leaf node. It does
  not show when two leaf nodes must become one, as in the example of section 4.4.
- Inner nodes without a value have no leaf links, and values have no child links: all values have equally many elements.
- Leaf nodes have no event counter, and no signature.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, I64, I32Matrix
from tellwhen.papers.ps_tree.element_tree.arrays import (
    CELL,
    COUNT,
    HEAD,
    NEED,
    NEXT,
    NUMBER,
    ElementTreeArrays,
    G,
)
from tellwhen.papers.ps_tree.element_tree.kernels import delete_intervals, insert_intervals, locate_leaves

COLUMNS = {"children": 16, "values": 5, "leaves": 3, "cells": 2}
"""Columns of the matrices in the order of the rows of `spare`."""


class ElementTree:
    """The predicate spaces of integers of 8, 16, 32 or 64 bits.

    >>> tree = ElementTree(bits=8)
    >>> tree.insert(np.array([-5, 1]), np.array([-1, 5]), np.array([1, 2]))
    >>> tree.list_spaces()
    [[], [1], [], [2], []]
    >>> tree.list_intervals(0)
    []
    >>> tree.list_intervals(2)
    [2]
    """

    def __init__(self, bits: int = 64) -> None:
        shift = [bits - 1, *range(bits - 4, -1, -4)]
        self.arrays = ElementTreeArrays(
            shift=np.array(shift, dtype=np.uint64),
            mask=np.array([1, 7, *[15] * (len(shift) - 2)], dtype=np.uint64),
            spare=np.zeros((len(COLUMNS), 3), dtype=np.int64),
            path=np.zeros(len(shift), dtype=np.int32),
            **{name: np.zeros((1, columns), dtype=np.int32) for name, columns in COLUMNS.items()},
        )

    def insert(self, low: I64, high: I64, number: I32 | I64) -> None:
        """Insert the closed intervals low[i]..high[i], which have distinct numbers."""
        self._validate(low, high)
        done = 0
        while (done := insert_intervals(self.arrays, low, high, number, done)) < len(low):
            self._grow()

    def delete(self, low: I64, high: I64, number: I32 | I64) -> None:
        """Delete intervals that were inserted with these numbers."""
        delete_intervals(self.arrays, low, high, number)

    def locate(self, points: I64) -> I32:
        """Return the leaf node of every point."""
        self._validate(points)
        leaves = np.empty(len(points), dtype=np.int32)
        locate_leaves(self.arrays, points, leaves)
        return leaves

    def list_intervals(self, point: int) -> list[int]:
        """Return the numbers of the intervals that contain a point, ascending."""
        return self.list_intervals_of_leaf(int(self.locate(np.array([point]))[0]))

    def list_spaces(self) -> list[list[int]]:
        """Return by space, ascending, the numbers of the intervals that cover it."""
        return [self.list_intervals_of_leaf(leaf) for leaf in self.list_leaves()]

    def list_leaves(self) -> list[int]:
        """Return the leaf nodes, ascending: the `next` links from the first one."""
        leaves = [int(self.arrays.values[0, G])]
        while after := int(self.arrays.leaves[leaves[-1], NEXT]):
            leaves.append(after)
        return leaves

    def list_intervals_of_leaf(self, leaf: int) -> list[int]:
        """Return the numbers of the intervals in the list of a leaf node, ascending."""
        return sorted(self.arrays.cells[self.list_cells(leaf), NUMBER].tolist())

    def list_cells(self, leaf: int) -> list[int]:
        """Return the cells of the list of a leaf node."""
        cells = [int(self.arrays.leaves[leaf, CELL])]
        while cells[-1]:
            cells.append(int(self.arrays.cells[cells[-1], NEXT]))
        return cells[:-1]

    @property
    def nbytes(self) -> int:
        """The size of all rows in use, in bytes."""
        used = [(name, len(getattr(self.arrays, name)) - self.arrays.spare[k, COUNT]) for k, name in enumerate(COLUMNS)]
        return int(sum(rows * COLUMNS[name] * 4 for name, rows in used))

    def _validate(self, *points: I64) -> None:
        if (half := int(self.arrays.shift[0])) < 63:
            for array in points:
                if len(array) and (array.min() < -(1 << half) or array.max() >= 1 << half):
                    raise ValueError(f"a value has more than {half + 1} bits")

    def _grow(self) -> None:
        """Add rows to the matrices that have fewer spare rows than the next interval needs."""
        for pool, name in enumerate(COLUMNS):
            if self.arrays.spare[pool, COUNT] < self.arrays.spare[pool, NEED]:
                rows: I32Matrix = getattr(self.arrays, name)
                more = max(len(rows) // 2, int(self.arrays.spare[pool, NEED]), 64)
                chained = np.zeros((more, rows.shape[1]), dtype=np.int32)
                chained[:, 0] = np.arange(len(rows) + 1, len(rows) + more + 1)
                chained[-1, 0] = self.arrays.spare[pool, HEAD]
                self.arrays.spare[pool, HEAD] = len(rows)
                self.arrays.spare[pool, COUNT] += more
                self.arrays = self.arrays._replace(**{name: np.concatenate([rows, chained])})
