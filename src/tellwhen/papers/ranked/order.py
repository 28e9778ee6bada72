"""The order of scored intervals: higher score first, and of equal scores the lower number first.

rank   0 1 2 ...   position of an interval in this order
key    int64       encoded score, lower for a higher score; equal scores have equal keys
"""

from __future__ import annotations

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I32, I64

NUMBERS_MAX = 1 << 30
"""Most intervals in a structure: int32 also has to number their ends, two for each interval."""

_MAGNITUDE = np.int64((1 << 63) - 1)
"""Mask of all bits of a double except its sign."""


def validate_intervals(low: I64, high: I64, score: F64) -> tuple[I64, I64, F64]:
    """Return the three arrays as contiguous int64, int64 and float64.

    Raise ScoreError for different shapes, too many intervals, or the first interval that is invalid.
    """
    low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
    score = np.ascontiguousarray(score, dtype=np.float64)
    if low.ndim != 1 or not low.shape == high.shape == score.shape:
        raise ScoreError(
            f"low, high and score must have one shape (n,), found {low.shape}, {high.shape} and {score.shape}"
        )
    if len(low) > NUMBERS_MAX:
        raise ScoreError(f"at most {NUMBERS_MAX} intervals fit into a structure, found {len(low)}")
    raise_if_any(np.isnan(score), "interval {} has the score NaN; a score must be a number")
    raise_if_any(low > high, "interval {} ends before it begins; low must not be above high")
    return low, high, score


def validate_numbers(number: I32, low: I64) -> I32:
    """Return the interval numbers as int32.

    Raise ScoreError unless there is one number for each element of `low` and none is negative.
    """
    number = np.ascontiguousarray(number, dtype=np.int32)
    if number.shape != low.shape:
        raise ScoreError(f"each interval needs one number, found {number.size} numbers for {low.size} intervals")
    raise_if_any(number < 0, "numbers must not be negative, but the number at index {} is")
    return number


def raise_if_any(is_invalid: np.ndarray, message: str) -> None:
    """Raise ScoreError if an element of `is_invalid` is True, with the index of the first one in the message."""
    if is_invalid.any():
        raise ScoreError(message.format(int(np.argmax(is_invalid))))


def sort_by_rank(score: F64) -> I32:
    """Return the numbers of intervals in the order of their ranks."""
    return np.argsort(-score, kind="stable").astype(np.int32)  # stable: the lower number first


def encode_scores(score: F64) -> I64:
    """Return the keys of scores.

    Read as integers, the bits of positive doubles are in the order of the doubles, those of negative doubles in the
    reverse order.
    """
    bits = (-score + 0.0).view(np.int64)  # + 0.0: both zeros have one key
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def decode_scores(key: I64) -> F64:
    """Return the scores of keys; the inverse of `encode_scores`."""
    return -np.where(key < 0, key ^ _MAGNITUDE, key).view(np.float64)
