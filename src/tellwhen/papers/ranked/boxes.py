"""Which subscriptions of several dimensions are best for an event? One scored structure per dimension, merged."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I64
from tellwhen.papers.ranked.arrays import BoxArrays, Questions, Ranked
from tellwhen.papers.ranked.intervals import FAN_OUT, ROOM_MIN, ScoredIntervals
from tellwhen.papers.ranked.kernels.boxes import MAXIMUM, MINIMUM, SUM, find_exact, find_relaxed
from tellwhen.papers.ranked.order import refuse
from tellwhen.papers.ranked.sopt_r_tree import SOPTRTree

Combine = Literal["sum", "min", "max"]
COMBINED: dict[Combine, int] = {"sum": SUM, "min": MINIMUM, "max": MAXIMUM}


class Boxes:
    """Subscriptions low..high in each of d dimensions, numbered as given: arrays of n x d.

    Scores are one per subscription, or one per subscription and dimension. An event is a point of d dimensions.

    - Relaxed: a subscription matches if the event stabs it in some dimension. Its score combines those of the
      dimensions that are stabbed, and 0 for each other one. (The paper's section 4 says "in each dimension", which is
      exact matching; its formula and its section 1 say this.)
    - Exact: the event stabs it in all dimensions, and it has one score.
    """

    def __init__(
        self,
        low: I64,
        high: I64,
        score: F64,
        structure: type[ScoredIntervals] = SOPTRTree,
        fan_out: int = FAN_OUT,
    ) -> None:
        low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
        score = np.asarray(score, dtype=np.float64)
        if low.ndim != 2 or low.shape != high.shape or score.shape not in (low.shape, low.shape[:1]):
            raise ScoreError(
                f"low and high have a row for each subscription, and score too, or one number: the shapes are "
                f"{low.shape}, {high.shape} and {score.shape}"
            )
        if low.shape[1] == 0:
            raise ScoreError("subscriptions have at least one dimension")
        self.is_one_score = score.ndim == 1 or low.shape[1] == 1
        score = np.ascontiguousarray(np.broadcast_to(score if score.ndim == 2 else score[:, None], low.shape))
        refuse(np.asarray(~np.isfinite(score).all(axis=1)), "subscription {} has a score that is not finite")
        self.dimensions: list[ScoredIntervals] = [
            structure(low[:, i], high[:, i], score[:, i], fan_out=fan_out) for i in range(low.shape[1])
        ]
        self._rows = low.ravel(), high.ravel(), score.ravel()
        self.pulls = 0

    def __len__(self) -> int:
        return len(self._rows[0]) // len(self.dimensions)

    @property
    def nbytes(self) -> int:
        """Of the structures."""
        return sum(one.nbytes for one in self.dimensions)

    @property
    def row_nbytes(self) -> int:
        """Of the boxes by number, for random access."""
        return sum(array.nbytes for array in self._rows)

    def top_k(
        self,
        points: I64,
        k: int,
        relaxed: bool = True,
        combine: Combine = "sum",
        weights: F64 | None = None,
    ) -> Ranked:
        """The best k subscriptions of each event, best first, with their scores. Of equal ones, the lower number.

        `weights`, of the shape of the points or of one of them, are not negative, and multiply the scores of each
        dimension; with relaxed matching only. `pulls` tells afterwards how often a cursor was asked.
        """
        points, weight = self._checked(points, k, relaxed, combine, weights)
        count, d = points.shape
        k = min(k, len(self))
        states = [one.state for one in self.dimensions]  # keep the arrays alive
        boxes = BoxArrays(np.stack([packed for _, packed in states]), *self._rows)
        words = max(one.cursor_words for one in self.dimensions)
        asked = Questions(points.ravel(), weight, np.empty((d, words), np.int64), np.empty(d, np.int64))
        room = count * min(k, ROOM_MIN) + k
        out = Ranked(np.zeros(count + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.float64))
        done, pulls = 0, np.zeros(1, dtype=np.int64)
        while True:
            if relaxed:
                done = find_relaxed(boxes, asked, k, COMBINED[combine], out, done, pulls)
            else:
                done = find_exact(boxes, asked, k, out, done, pulls)
            if done == count:
                break
            more = len(out.number) + k
            out = Ranked(
                out.start,
                np.concatenate([out.number, np.empty(more, dtype=np.int32)]),
                np.concatenate([out.score, np.empty(more, dtype=np.float64)]),
            )
        self.pulls = int(pulls[0])
        end = out.start[-1]
        return Ranked(out.start, out.number[:end].copy(), out.score[:end].copy())

    def _checked(self, points: I64, k: int, relaxed: bool, combine: Combine, weights: F64 | None) -> tuple[I64, F64]:
        """Points and weights as the kernels take them."""
        points = np.ascontiguousarray(points, dtype=np.int64)
        if points.ndim != 2 or points.shape[1] != len(self.dimensions):
            raise ScoreError(f"points have a row for each event, of {len(self.dimensions)} numbers")
        if k < 0:
            raise ScoreError(f"the best {k} cannot be asked for")
        if combine not in COMBINED:
            raise ScoreError(f"scores cannot be combined by {combine}; there are {', '.join(COMBINED)}")
        if not relaxed and (combine != "sum" or weights is not None):
            raise ScoreError("with exact matching a subscription has one score: nothing is combined")
        if not relaxed and not self.is_one_score:
            raise ScoreError("exact matching needs one score for each subscription, not one for each dimension")
        if weights is None:
            return points, np.ones(points.size)
        weight = np.ascontiguousarray(np.broadcast_to(np.asarray(weights, dtype=np.float64), points.shape)).ravel()
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ScoreError("weights are finite and not negative: else a better score would make it worse")
        return points, weight
