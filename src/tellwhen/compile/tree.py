"""Arrays for the tree of a program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.kernels.tree import TREE_COLUMNS
from tellwhen.kernels.arrays import I32, I32Matrix


class Tree(NamedTuple):
    """The AND/OR tree of one program, as `compile/kernels/tree.py` writes it."""

    nodes: I32Matrix  # [nodes, TREE_COLUMNS]: the root, and everything behind what depends on it
    roots: I32  # |7|4|0|    by register the root of its tree; then scratch


def allocate_tree(tests: int) -> Tree:
    """Return arrays for the tree of any program of up to `tests` tests."""
    return Tree(np.empty((2 * tests + 2, TREE_COLUMNS), dtype=np.int32), np.empty(tests + 1, dtype=np.int32))
