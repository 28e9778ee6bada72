"""Interface of all structures: find the scored intervals that contain a point, best first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I32, I64
from tellwhen.kernels.handover import pack
from tellwhen.papers.ranked.kernels.cursors import begin_cursor, find_top_k, getnext
from tellwhen.papers.ranked.order import validate_intervals

FAN_OUT = 50
"""Default number of children of an R-tree node, as in Table 1 of the paper."""

INITIAL_RESULTS_PER_POINT = 64
"""Allocate the output of `top_k` for at most this many results per point; grow it when results do not fit."""


class Best(NamedTuple):
    """The best intervals of each point, best first."""

    start: I64  # |0|3|4|4|   the intervals of point p are number[start[p]:start[p+1]]
    number: I32


class ScoredIntervals(ABC):
    """Closed intervals low..high with scores, numbered in the order of the arrays.

    Of equal scores the lower number is better. `LOWEST` and `HIGHEST` of `tellwhen.kernels.arrays` are the infinite
    ends. Any number of threads may search at the same time, but not while another thread changes the structure.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    can_change: ClassVar[bool] = False
    """Whether the structure has `insert` and `delete`."""

    state: tuple[Any, I64]
    """The arrays and their packed addresses, replaced together: whoever holds `state` may use the addresses."""

    def __init__(self, low: I64, high: I64, score: F64, fan_out: int = FAN_OUT) -> None:
        if not 2 <= fan_out <= 1 << 16:
            raise ScoreError(f"fan_out must be 2 to 65,536, found {fan_out}")
        self.fan_out = fan_out
        self._publish(self._build(*validate_intervals(low, high, score)))

    @abstractmethod
    def _build(self, low: I64, high: I64, score: F64) -> Any:
        """Return the arrays of the structure for these intervals."""

    def _publish(self, arrays: Any) -> None:
        """Replace `state` by these arrays and their addresses."""
        self.state = arrays, pack(arrays)

    @property
    def arrays(self) -> Any:
        """The arrays of the structure, a NamedTuple of `arrays.py`."""
        return self.state[0]

    @property
    def packed(self) -> I64:
        """The packed arrays, as kernels take them. They are valid as long as `state` is held."""
        return self.state[1]

    def __len__(self) -> int:
        return self._count_intervals(self.arrays)

    @abstractmethod
    def _count_intervals(self, arrays: Any) -> int:
        """Return the number of intervals in the arrays of this structure."""

    @property
    @abstractmethod
    def cursor_words(self) -> int:
        """The number of int64 words in a cursor of this structure."""

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, including the intervals and their order."""
        return sum(array.nbytes for array in self.arrays if isinstance(array, np.ndarray))

    @property
    def copied_nbytes(self) -> int:
        """The part of `nbytes` that copies ends and scores of intervals into the order of the structure."""
        field_bytes = {"low": 8, "high": 8, "key": 8}
        return len(self) * sum(size for name, size in field_bytes.items() if name in self.arrays._fields)

    def top_k(self, points: I64, k: int) -> Best:
        """Return the best k intervals that contain each point.

        Parameters
        ----------
        points
            The points, as int64.
        k
            The most intervals to return for a point.

        Returns
        -------
        The numbers of the intervals, point by point, best first.

        Raises
        ------
        ScoreError
            If k is negative.
        """
        if k < 0:
            raise ScoreError(f"k must not be negative, found {k}")
        state = self.state  # keeps the arrays alive
        points = np.ascontiguousarray(points, dtype=np.int64)
        k = min(k, self._count_intervals(state[0]))
        start, number = (
            np.zeros(len(points) + 1, dtype=np.int64),
            np.empty(len(points) * min(k, INITIAL_RESULTS_PER_POINT) + k, np.int32),
        )
        words, done = np.empty(self.cursor_words, dtype=np.int64), 0
        while True:
            done = find_top_k(state[1], words, points, k, start, number, done)
            if done == len(points):
                break
            number = np.concatenate([number, np.empty(len(number) + k, dtype=np.int32)])
        return Best(start, number[: start[-1]].copy())

    def cursor(self, point: int) -> Cursor:
        """Return a cursor over the intervals that contain a point, best first."""
        return Cursor(self, point)


class Cursor:
    """Iterator over the intervals that contain a point, best first. Each interval is found when it is requested.

    A cursor of a SOPT-R-tree returns the intervals as they were when the cursor began. A change of an IR-tree
    invalidates the cursors of the tree.
    """

    def __init__(self, structure: ScoredIntervals, point: int) -> None:
        self._state = structure.state
        self.words = np.empty(structure.cursor_words, dtype=np.int64)
        begin_cursor(self._state[1], self.words, np.int64(point))

    def getnext(self) -> int | None:
        """Return the number of the next best interval, or None at the end."""
        number = getnext(self._state[1], self.words)
        return None if number < 0 else int(number)

    def __iter__(self) -> Iterator[int]:
        while (number := self.getnext()) is not None:
            yield number
