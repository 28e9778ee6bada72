"""Random numbers that are the same on every machine, in any order: each block of a workload has a stream of its own.

Only the raw bits of Philox are used, which are specified; NumPy may change how it makes distributions of them.
"""

from __future__ import annotations

import zlib

import numpy as np

from tellwhen.kernels.arrays import I64


class Draws:
    """A stream of random numbers, named by a seed, a purpose and a block."""

    def __init__(self, seed: int, purpose: str, block: int = 0) -> None:
        self._bits = np.random.Philox(key=np.array([seed, zlib.crc32(purpose.encode()) << 32 | block], dtype=np.uint64))

    def uniform(self, *shape: int) -> np.ndarray:
        """Doubles in [0, 1)."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def integers(self, low: int | I64, high: int | I64, *shape: int) -> I64:
        """Integers in low..high-1, whose bounds may be arrays of the shape."""
        return (low + np.floor(self.uniform(*shape) * (np.asarray(high) - low))).astype(np.int64)

    def chosen(self, weights: np.ndarray, *shape: int) -> I64:
        """Places in a table of weights, each as often as it weighs."""
        bounds = np.cumsum(weights)
        found = np.searchsorted(bounds, self.uniform(*shape) * bounds[-1], side="right")
        return np.minimum(found, len(weights) - 1)

    def subsets(self, weights: np.ndarray, size: int, count: int) -> I64:
        """`count` rows of `size` distinct places, drawn one after the other without return."""
        # The smallest of exponential waiting times (Efraimidis and Spirakis), a block of rows at a time.
        rows = [np.zeros((0, size), dtype=np.int64)]
        for begin in range(0, count, 1024):
            waits = -np.log1p(-self.uniform(min(1024, count - begin), len(weights))) / weights
            near = (
                np.argpartition(waits, size - 1, axis=1)[:, :size] if size < len(weights) else np.argsort(waits, axis=1)
            )
            order = np.argsort(np.take_along_axis(waits, near, axis=1), axis=1)
            rows.append(np.take_along_axis(near, order, axis=1))
        return np.concatenate(rows)


def zipf(count: int, skew: float) -> np.ndarray:
    """Weights of ranks 1 to `count`; uniform for a skew of 0.

    >>> zipf(4, 1.0).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """
    return 1.0 / np.arange(1, count + 1, dtype=np.float64) ** skew
