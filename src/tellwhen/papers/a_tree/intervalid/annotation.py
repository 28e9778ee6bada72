"""The interval IDs of the leaves of trees."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I32, U16
from tellwhen.papers.a_tree.intervalid.kernels.annotate import LEVEL_COLUMNS, write_intervals
from tellwhen.papers.a_tree.shared.trees import Trees


def annotate_trees(trees: Trees) -> tuple[I32, U16]:
    """Return the packed interval of every leaf, and the last point of every tree."""
    largest = int(np.diff(trees.start).max(initial=0))
    interval = np.empty(int((trees.node >= 0).sum()), dtype=np.int32)
    end = np.empty(len(trees.slot), dtype=np.uint16)
    widths, pending = np.empty((2, largest), dtype=np.int64)
    levels = np.empty((largest + 1, LEVEL_COLUMNS), dtype=np.int64)
    write_intervals(trees.start, trees.node, widths, pending, levels, interval, end)
    return interval, end
