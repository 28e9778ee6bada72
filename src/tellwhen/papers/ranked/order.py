"""Which of two intervals is better? The one with the higher score; of equal scores, the one with the lower number.

rank   0 1 2 ...   the place of an interval in this order
key    int64       lower is better; equal scores have equal keys
"""

from __future__ import annotations

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I32, I64

NUMBERS_MAX = 1 << 30
"""Intervals that can be numbered: int32 also has to number their ends."""

_MAGNITUDE = np.int64((1 << 63) - 1)


def checked(low: I64, high: I64, score: F64) -> tuple[I64, I64, F64]:
    """The three arrays with their types; an error names the first interval that cannot be taken."""
    low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
    score = np.ascontiguousarray(score, dtype=np.float64)
    if low.ndim != 1 or not low.shape == high.shape == score.shape:
        raise ScoreError(f"low, high and score differ in shape: {low.shape}, {high.shape} and {score.shape}")
    if len(low) > NUMBERS_MAX:
        raise ScoreError(f"{len(low)} intervals are too many: at most {NUMBERS_MAX} can be numbered")
    refuse(np.isnan(score), "interval {} has the score NaN, which has no place in an order")
    refuse(low > high, "interval {} ends before it begins")
    return low, high, score


def checked_numbers(number: I32, low: I64) -> I32:
    """The numbers of intervals, one for each."""
    number = np.ascontiguousarray(number, dtype=np.int32)
    if number.shape != low.shape:
        raise ScoreError(f"there are {number.size} numbers for {low.size} intervals")
    refuse(number < 0, "the number at {} is negative")
    return number


def refuse(wrong: np.ndarray, message: str) -> None:
    """An error that names the first one that is wrong."""
    if wrong.any():
        raise ScoreError(message.format(int(np.argmax(wrong))))


def by_rank(score: F64) -> I32:
    """The numbers in the order of their ranks."""
    return np.argsort(-score, kind="stable").astype(np.int32)  # stable: the lower number first


def keys_of(score: F64) -> I64:
    """The keys of scores. The bits of positive doubles are ordered like integers, those of negative ones backwards."""
    bits = (-score + 0.0).view(np.int64)  # + 0.0: both zeros have one key
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def scores_of(key: I64) -> F64:
    """The way back."""
    return -np.where(key < 0, key ^ _MAGNITUDE, key).view(np.float64)
