"""Where do random numbers come from that are the same on every machine? Each block has a stream of its own.

Only the raw bits of Philox are used, which are specified. NumPy may change how it derives distributions from them.
"""

from __future__ import annotations

import zlib

import numpy as np

from tellwhen.kernels.arrays import I64

DENSE_MAX = 2_048
"""Subsets of at most this many items are drawn with a random key for each item."""


class Draws:
    """A stream of random numbers, named by a seed, a purpose and a block."""

    def __init__(self, seed: int, purpose: str, block: int = 0) -> None:
        self._bits = np.random.Philox(key=np.array([seed, zlib.crc32(purpose.encode()) << 32 | block], dtype=np.uint64))

    def uniform(self, *shape: int) -> np.ndarray:
        """Doubles in [0, 1)."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def integers(self, low: int | I64, high: int | I64, *shape: int) -> I64:
        """Integers in low..high-1; the bounds may be arrays of that shape."""
        return (low + np.floor(self.uniform(*shape) * (np.asarray(high) - low))).astype(np.int64)

    def chosen(self, weights: np.ndarray, *shape: int) -> I64:
        """Indices into a table of weights, with probabilities in proportion to the weights."""
        bounds = np.cumsum(weights)
        found = np.searchsorted(bounds, self.uniform(*shape) * bounds[-1], side="right")
        return np.minimum(found, len(weights) - 1)

    def subsets(self, weights: np.ndarray, size: int, count: int) -> I64:
        """`count` rows of `size` distinct indices, drawn one after the other without replacement."""
        if len(weights) <= DENSE_MAX:
            return self._by_waiting(
                weights, size, np.empty((count, 0), dtype=np.int64), np.zeros(count, dtype=np.int64)
            )
        # Drawn with replacement, then without the repeated ones: among many items few are drawn twice.
        drawn = self.chosen(weights, count, size + size // 2 + 4)
        order = np.argsort(drawn, axis=1, kind="stable")
        ranked = np.take_along_axis(drawn, order, axis=1)
        again = np.zeros(drawn.shape, dtype=bool)
        np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
        first = np.take_along_axis(drawn, np.argsort(again, axis=1, kind="stable"), axis=1)[:, :size]
        found = np.minimum(size, np.count_nonzero(~again, axis=1))
        few = found < size
        first[few] = self._by_waiting(weights, size, first[few], found[few])
        return first

    def _by_waiting(self, weights: np.ndarray, size: int, begun: I64, found: I64) -> I64:
        """Complete rows whose first `found` indices are drawn.

        The others are those with the smallest exponential waiting times (Efraimidis and Spirakis), in portions of rows.
        """
        rows = [np.zeros((0, size), dtype=np.int64)]
        step = max(1, (1 << 22) // len(weights))
        for at in range(0, len(begun), step):
            mine, known = begun[at : at + step], found[at : at + step]
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


def zipf(count: int, skew: float) -> np.ndarray:
    """The weights of ranks 1 to `count`; all equal for a skew of 0.

    >>> zipf(4, 1.0).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """
    return 1.0 / np.arange(1, count + 1, dtype=np.float64) ** skew


class Hashed:
    """Random numbers by key instead of by order: the number of key 7 does not depend on what was drawn before."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed = _mixed(np.array([seed], dtype=np.uint64)) ^ np.uint64(zlib.crc32(purpose.encode()))

    def uniform(self, keys: I64, column: int = 0) -> np.ndarray:
        """A double in [0, 1) for each key."""
        with np.errstate(over="ignore"):
            # Two rounds of splitmix64: its outputs for neighbouring states are independent enough.
            state = _mixed(keys.astype(np.uint64) ^ _mixed(self._seed + np.uint64(column)))
        return (_mixed(state) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: int, high: int, keys: I64, column: int = 0) -> I64:
        """An integer in low..high-1 for each key."""
        return low + np.floor(self.uniform(keys, column) * (high - low)).astype(np.int64)


def _mixed(state: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def zipf_ranks(uniform: np.ndarray, count: float | np.ndarray, skew: float) -> I64:
    """Ranks 0 to count-1 with weights (rank+1)^-skew, from uniform numbers.

    There is no table, so `count` may be huge. Rank r has the weight of the integral from r+1 to r+2.

    >>> zipf_ranks(np.array([0.0, 0.5, 0.999]), 100, 1.0).tolist()
    [0, 9, 99]
    """
    if abs(skew - 1) < 1e-9:
        found = np.exp(uniform * np.log(count + 1))
    else:
        power = 1 - skew
        found = (uniform * ((count + 1.0) ** power - 1) + 1) ** (1 / power)
    return np.clip(np.floor(found).astype(np.int64) - 1, 0, np.asarray(count).astype(np.int64) - 1)
