"""The encodings of trees and the minima of their satisfied leaves."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import I64, U8, U16
from tellwhen.papers.a_tree.bop.kernels.encode import measure_encodings, write_encodings
from tellwhen.papers.a_tree.shared.trees import Trees


def encode_trees(trees: Trees) -> tuple[U16, I64, U8]:
    """Encode all trees; return `minimum`, `start` and `encoding` of `BoPIndex`."""
    minimum = np.empty(len(trees.slot), dtype=np.uint16)
    start = np.zeros(len(trees.slot) + 1, dtype=np.int64)
    pending = np.empty(int(np.diff(trees.start).max(initial=0)), dtype=np.int64)
    measure_encodings(trees.start, trees.node, pending, minimum, start)
    encoding = np.empty(start[-1], dtype=np.uint8)
    write_encodings(trees.node, encoding)
    return minimum, start, encoding
