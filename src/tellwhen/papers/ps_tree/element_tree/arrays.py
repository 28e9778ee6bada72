"""The arrays of an element tree, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, U64, I32Matrix, I64Matrix

L, E, G = 0, 1, 2
"""Columns of `values`: the leaf nodes below a value, at it, and above it."""

BEGINS, ENDS = 3, 4
"""Columns of `values`: the number of intervals that begin at a value, and the number of those that end at it."""

NEXT = 0
"""Column of `leaves` and `cells`: the next row, 0 behind the last one."""

COVERS, CELL = 1, 2
"""Columns of `leaves`: the predicate counter, and the first cell of the list."""

NUMBER = 1
"""Column of `cells`: the number of an interval."""

NODES, VALUES, LEAVES, CELLS = range(4)
"""Rows of `spare`: the four matrices whose rows are taken and given back."""

HEAD, COUNT, NEED = range(3)
"""Columns of `spare`: the first spare row, how many rows are spare, and how many the next interval needs."""


class ElementTreeArrays(NamedTuple):
    """A PS-Tree of one domain (Figure 2).

    The elements of a value, from the most significant one on, lead from the root through inner nodes to the row of the
    value in `values`. A value is there if an interval begins or ends at it. Leaf nodes are the spaces between these
    ends, each with the intervals that cover it.

    Spare rows of a matrix are chained by their column 0.
    """

    shift: U64  # |63|60|56|...|4|0|    element k of a key is key >> shift[k] & mask[k]
    mask: U64  # |1|7|15|...|15|15|    the key of a value is its distance from the least value
    children: I32Matrix  # [nodes, 16]  by inner node and element: an inner node, or a value; 0 for none; 0 is the root
    values: I32Matrix  # |l e g begins ends|...    row 0 is the root's: l is the last leaf node, g is the first one
    leaves: I32Matrix  # |next covers cell|...     row 0 is the first leaf node
    cells: I32Matrix  # |next number|...           row 0 is not used
    spare: I64Matrix  # |head count need|...
    path: I32  # working array: the inner nodes on the way to a value
