"""Random numbers that are equal on every machine. Each block has a separate stream.

Only the raw bits of Philox are used, because NumPy may change how it derives distributions from them.
"""

from __future__ import annotations

import zlib

import numpy as np

from tellwhen.kernels.arrays import I64

DENSE_MAX = 2_048
"""Subsets of at most this many items are drawn with a random key for each item."""


class Draws:
    """Stream of random numbers that is identified by a seed, a purpose and a block."""

    def __init__(self, seed: int, purpose: str, block: int = 0) -> None:
        self._bits = np.random.Philox(key=np.array([seed, zlib.crc32(purpose.encode()) << 32 | block], dtype=np.uint64))

    def uniform(self, *shape: int) -> np.ndarray:
        """Draw doubles in [0, 1)."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def integers(self, low: int | I64, high: int | I64, *shape: int) -> I64:
        """Draw integers in low..high-1; the bounds may be arrays of that shape."""
        return (low + np.floor(self.uniform(*shape) * (np.asarray(high) - low))).astype(np.int64)

    def draw_indices(self, weights: np.ndarray, *shape: int) -> I64:
        """Draw indices into a table of weights with probabilities in proportion to the weights."""
        bounds = np.cumsum(weights)
        indices = np.searchsorted(bounds, self.uniform(*shape) * bounds[-1], side="right")
        return np.minimum(indices, len(weights) - 1)

    def draw_subsets(self, weights: np.ndarray, size: int, count: int) -> I64:
        """Draw `count` rows of `size` distinct indices, one after the other without replacement."""
        if len(weights) <= DENSE_MAX:
            return self._complete_rows(
                weights, size, np.empty((count, 0), dtype=np.int64), np.zeros(count, dtype=np.int64)
            )
        # Draw with replacement and drop the repeated indices: of many items, few are drawn twice.
        drawn = self.draw_indices(weights, count, size + size // 2 + 4)
        order = np.argsort(drawn, axis=1, kind="stable")
        ranked = np.take_along_axis(drawn, order, axis=1)
        again = np.zeros(drawn.shape, dtype=bool)
        np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
        first = np.take_along_axis(drawn, np.argsort(again, axis=1, kind="stable"), axis=1)[:, :size]
        counts = np.minimum(size, np.count_nonzero(~again, axis=1))
        is_short = counts < size
        first[is_short] = self._complete_rows(weights, size, first[is_short], counts[is_short])
        return first

    def _complete_rows(self, weights: np.ndarray, size: int, partial_rows: I64, counts: I64) -> I64:
        """Complete rows whose first indices are drawn; `counts` is their number by row.

        The other indices are those with the smallest exponential waiting times (Efraimidis and Spirakis). Rows are
        processed in portions to bound memory.
        """
        rows = [np.zeros((0, size), dtype=np.int64)]
        step = max(1, (1 << 22) // len(weights))
        for at in range(0, len(partial_rows), step):
            mine, known = partial_rows[at : at + step], counts[at : at + step]
            waits = -np.log1p(-self.uniform(len(mine), len(weights))) / weights
            row, column = np.nonzero(np.arange(mine.shape[1]) < known[:, None])
            waits[row, mine[row, column]] = np.inf
            near = (
                np.argpartition(waits, size - 1, axis=1)[:, :size] if size < len(weights) else np.argsort(waits, axis=1)
            )
            order = np.argsort(np.take_along_axis(waits, near, axis=1), axis=1)
            near = np.take_along_axis(near, order, axis=1)
            position = np.arange(size)
            later = np.take_along_axis(near, np.maximum(position - known[:, None], 0), axis=1)
            earlier = np.zeros_like(near)
            earlier[:, : mine.shape[1]] = mine
            rows.append(np.where(position < known[:, None], earlier, later))
        return np.concatenate(rows)


def compute_zipf_weights(count: int, skew: float) -> np.ndarray:
    """Return the weights of ranks 1 to `count`; all are equal for a skew of 0.

    >>> compute_zipf_weights(4, 1.0).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """
    return 1.0 / np.arange(1, count + 1, dtype=np.float64) ** skew


class HashedDraws:
    """Random numbers by key: the number of a key does not depend on earlier draws."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed = _mix_bits(np.array([seed], dtype=np.uint64)) ^ np.uint64(zlib.crc32(purpose.encode()))

    def uniform(self, keys: I64, column: int = 0) -> np.ndarray:
        """Return a double in [0, 1) for each key."""
        with np.errstate(over="ignore"):
            # Two rounds of splitmix64: its outputs for neighbouring states are independent enough.
            state = _mix_bits(keys.astype(np.uint64) ^ _mix_bits(self._seed + np.uint64(column)))
        return (_mix_bits(state) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: int, high: int, keys: I64, column: int = 0) -> I64:
        """Return an integer in low..high-1 for each key."""
        return low + np.floor(self.uniform(keys, column) * (high - low)).astype(np.int64)


def _mix_bits(state: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def compute_zipf_ranks(uniform: np.ndarray, count: float | np.ndarray, skew: float) -> I64:
    """Return ranks 0 to count-1 with weights (rank+1)^-skew for uniform numbers.

    No table is built, so `count` may be huge. Rank r has the weight of the integral from r+1 to r+2.

    >>> compute_zipf_ranks(np.array([0.0, 0.5, 0.999]), 100, 1.0).tolist()
    [0, 9, 99]
    """
    if abs(skew - 1) < 1e-9:
        ranks = np.exp(uniform * np.log(count + 1))
    else:
        power = 1 - skew
        ranks = (uniform * ((count + 1.0) ** power - 1) + 1) ** (1 / power)
    return np.clip(np.floor(ranks).astype(np.int64) - 1, 0, np.asarray(count).astype(np.int64) - 1)
