"""Boxes: find the best subscriptions of several dimensions, by merging the cursors of one structure per dimension."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I64
from tellwhen.papers.ranked.arrays import HIGH, LOW, RECORD_WORDS, SCORE, BoxArrays, BoxQueries, Ranked
from tellwhen.papers.ranked.intervals import FAN_OUT, INITIAL_RESULTS_PER_POINT, ScoredIntervals
from tellwhen.papers.ranked.kernels.boxes import (
    MAXIMUM,
    MINIMUM,
    ROUNDS_MAX,
    SUM,
    find_by_intersection,
    find_by_threshold,
)
from tellwhen.papers.ranked.order import raise_if_any
from tellwhen.papers.ranked.sopt_r_tree import SOPTRTree

CombineName = Literal["sum", "min", "max"]
COMBINE_CODES: dict[CombineName, int] = {"sum": SUM, "min": MINIMUM, "max": MAXIMUM}
"""The kernels' code of each way to combine scores."""

Combine = CombineName | Callable[[F64], float]
"""How to combine the scores of all dimensions: by name, or a monotone function of them."""


class Boxes:
    """Subscriptions as boxes low..high of d dimensions, numbered in the order of the arrays.

    An event is a point of d dimensions.

    - Relaxed matching: a subscription matches if the event stabs it in some dimension (section 1). The score is
      combined from the scores of the stabbed dimensions, and 0 for each other dimension.
    - Exact matching: a subscription matches if the event stabs it in all dimensions. It has one score (section 1), or
      its score is combined from those of all dimensions (section 4, "in each dimension").

    Parameters
    ----------
    low, high
        The ends, of shape (n, d).
    score
        A score for each subscription, of shape (n,), or for each subscription and dimension, of shape (n, d).
    structure
        The class of the structure of each dimension.
    fan_out
        The number of children of an R-tree node.

    Raises
    ------
    ScoreError
        If an array has another shape, or an interval or a score is invalid.
    """

    def __init__(
        self,
        low: I64,
        high: I64,
        score: F64,
        structure: type[ScoredIntervals] = SOPTRTree,
        fan_out: int = FAN_OUT,
    ) -> None:
        low, high = _read_integers("low", low), _read_integers("high", high)
        score = np.asarray(score, dtype=np.float64)
        if low.ndim != 2 or low.shape != high.shape or score.shape not in (low.shape, low.shape[:1]):
            raise ScoreError(
                f"low and high must have the shape (n, d), and score (n,) or (n, d), found {low.shape}, {high.shape} "
                f"and {score.shape}"
            )
        if low.shape[1] == 0:
            raise ScoreError("low and high must have at least one column, found 0 dimensions")
        self.has_one_score = score.ndim == 1
        score = np.ascontiguousarray(np.broadcast_to(score if score.ndim == 2 else score[:, None], low.shape))
        raise_if_any(
            np.asarray(~np.isfinite(score).all(axis=1)),
            "scores must be finite, but a score of subscription {} is not",
        )
        self.dimensions: list[ScoredIntervals] = [
            structure(low[:, i], high[:, i], score[:, i], fan_out=fan_out) for i in range(low.shape[1])
        ]
        records = np.empty((*low.shape, RECORD_WORDS), dtype=np.int64)
        records[:, :, LOW], records[:, :, HIGH], records[:, :, SCORE] = low, high, score.view(np.int64)
        self._records = records.ravel()
        self.pulls = 0

    def __len__(self) -> int:
        return len(self._records) // (RECORD_WORDS * len(self.dimensions))

    @property
    def nbytes(self) -> int:
        """The bytes of the structures."""
        return sum(structure.nbytes for structure in self.dimensions)

    @property
    def row_nbytes(self) -> int:
        """The bytes of the boxes by number, for random access."""
        return self._records.nbytes

    def top_k(
        self,
        points: I64,
        k: int,
        relaxed: bool = True,
        combine: Combine = "sum",
        weights: F64 | None = None,
    ) -> Ranked:
        """Return the best k subscriptions of each event, with their scores; of equal scores, the lower number first.

        Afterwards `pulls` is the number of `getnext` calls of all cursors.

        Parameters
        ----------
        points
            The events, of shape (events, d).
        k
            The most subscriptions to return for an event.
        relaxed
            Whether one stabbed dimension is enough for a match.
        combine
            How to combine the scores of the dimensions: "sum", "min", "max", or a function that Numba can compile, from
            an array with a number for each dimension to a number. The number of a dimension is its score times its
            weight, or 0 if the event does not stab it. The function must be monotone: if a number grows, the result
            must not become lower (section 1, note 2).
        weights
            Factors of the scores of each dimension, not negative, of the shape of `points` or of one row.
            Exact matching with one score for each subscription has neither `combine` nor `weights`.

        Returns
        -------
        The numbers and scores of the subscriptions, event by event, best first.

        Raises
        ------
        ScoreError
            If an argument is invalid, or does not fit the kind of matching.
        """
        points, weight = self._validate_query(points, k, relaxed, combine, weights)
        count, d = points.shape
        k = min(k, len(self))
        states = [structure.state for structure in self.dimensions]  # keep the arrays alive
        boxes = BoxArrays(np.stack([packed for _, packed in states]), self._records, self._records.view(np.float64))
        words = max(structure.cursor_words for structure in self.dimensions)
        queries = BoxQueries(
            points.ravel(),
            weight,
            np.empty((d, words), np.int64),
            np.empty((ROUNDS_MAX + 1) * d, np.int64),
            np.empty(d),
        )
        size = count * min(k, INITIAL_RESULTS_PER_POINT) + k
        out = Ranked(np.zeros(count + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.float64))
        code, function = (-1, _compile_function(combine)) if callable(combine) else (COMBINE_CODES[combine], None)
        done, pulls = 0, np.zeros(1, dtype=np.int64)
        stabbed_min = 1 if relaxed else d
        while True:
            if relaxed or not self.has_one_score:
                done = find_by_threshold(boxes, queries, k, code, function, stabbed_min, out, done, pulls)
            else:
                done = find_by_intersection(boxes, queries, k, out, done, pulls)
            if done == count:
                break
            growth = len(out.number) + k
            out = Ranked(
                out.start,
                np.concatenate([out.number, np.empty(growth, dtype=np.int32)]),
                np.concatenate([out.score, np.empty(growth, dtype=np.float64)]),
            )
        self.pulls = int(pulls[0])
        end = out.start[-1]
        if np.isnan(out.score[:end]).any():
            raise ScoreError("combine must return a number, but returned NaN: NaN has no place in an order")
        return Ranked(out.start, out.number[:end].copy(), out.score[:end].copy())

    def _validate_query(
        self, points: I64, k: int, relaxed: bool, combine: Combine, weights: F64 | None
    ) -> tuple[I64, F64]:
        """Return points and weights as kernels take them. Raise ScoreError for invalid arguments."""
        points = _read_integers("points", points)
        if points.ndim != 2 or points.shape[1] != len(self.dimensions):
            raise ScoreError(f"points must have the shape (events, {len(self.dimensions)}), found {points.shape}")
        if k < 0:
            raise ScoreError(f"k must not be negative, found {k}")
        if not callable(combine) and combine not in [*COMBINE_CODES]:
            raise ScoreError(f"combine must be a function or one of {', '.join(COMBINE_CODES)}, found {combine}")
        if not relaxed and self.has_one_score and (combine != "sum" or weights is not None):
            raise ScoreError(
                "`combine` and `weights` require relaxed=True or a score for each dimension, found one score for each "
                "subscription"
            )
        if weights is None:
            return points, np.ones(points.size)
        weight = np.asarray(weights, dtype=np.float64)
        if weight.shape not in (points.shape, points.shape[1:], (1, *points.shape[1:]), ()):
            raise ScoreError(
                f"weights must have the shape of points, {points.shape}, or of one row of it, found {weight.shape}"
            )
        weight = np.ascontiguousarray(np.broadcast_to(weight, points.shape)).ravel()
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ScoreError("weights must be finite and not negative")
        return points, weight


def _read_integers(name: str, numbers: Any) -> I64:
    """Return an array of int64. Raise ScoreError for other numbers: fractions would be cut off."""
    array = np.asarray(numbers)
    if array.size and not np.can_cast(array.dtype, np.int64):
        raise ScoreError(f"{name} must be integers of 64 bits, found an array of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


@lru_cache(maxsize=64)
def _compile_function(function: Callable[[F64], float]) -> Any:
    """Compile a function of an array to one that a kernel can call; all of them have one type.

    Raise ScoreError if Numba cannot compile it.
    """
    try:
        compiled = function if isinstance(function, Dispatcher) else numba.njit(function)
        return numba.cfunc(types.float64(types.float64[::1]))(lambda values: compiled(values))
    except (NumbaError, TypeError) as error:
        raise ScoreError(f"combine must be a function that Numba can compile: {error}") from None
