"""Which of many scored intervals contain a point, best first? What all structures have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I32, I64
from tellwhen.kernels.handover import pack
from tellwhen.papers.ranked.kernels.cursors import begin, find_top_k, getnext
from tellwhen.papers.ranked.order import checked

FAN_OUT = 50
"""Children of a node of an R-tree, as in Table 1."""

ROOM_MIN = 64
"""At first there is room for this many results of a point; more is made when they do not fit."""


class Best(NamedTuple):
    """The best intervals of each point, best first."""

    start: I64  # |0|3|4|4|   those of point p are number[start[p]:start[p+1]]
    number: I32


class ScoredIntervals(ABC):
    """Closed intervals low..high with scores, numbered as they are given. Of equal scores the lower number is better.

    `LOWEST` and `HIGHEST` of `tellwhen.kernels.arrays` are the infinite ends. Any number of threads may ask at the same
    time, but not while another one changes the structure.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    changes: ClassVar[bool] = False
    """Can intervals be inserted and deleted?"""

    state: tuple[Any, I64]
    """The arrays, and their addresses. Replaced as a whole: who holds it may use the addresses."""

    def __init__(self, low: I64, high: I64, score: F64, fan_out: int = FAN_OUT) -> None:
        if not 2 <= fan_out <= 1 << 16:
            raise ScoreError(f"a fan-out of {fan_out} is not possible: at least 2, at most 65,536")
        self.fan_out = fan_out
        self._publish(self._build(*checked(low, high, score)))

    @abstractmethod
    def _build(self, low: I64, high: I64, score: F64) -> Any:
        """The arrays of the structure."""

    def _publish(self, arrays: Any) -> None:
        """Use these arrays from now on."""
        self.state = arrays, pack(arrays)

    @property
    def arrays(self) -> Any:
        """The arrays of the structure."""
        return self.state[0]

    @property
    def packed(self) -> I64:
        """The structure as kernels take it; valid while `state` is held."""
        return self.state[1]

    def __len__(self) -> int:
        return self._count(self.arrays)

    @abstractmethod
    def _count(self, arrays: Any) -> int:
        """How many intervals these arrays have."""

    @property
    @abstractmethod
    def cursor_words(self) -> int:
        """Words of int64 that a cursor needs."""

    @property
    def nbytes(self) -> int:
        """All that it needs to answer: the intervals and their order are in it, in its own way."""
        return sum(array.nbytes for array in self.arrays if isinstance(array, np.ndarray))

    @property
    def copied_nbytes(self) -> int:
        """The part of `nbytes` that copies the ends and scores of intervals, so that they can be read in order."""
        copied = {"low": 8, "high": 8, "key": 8}
        return len(self) * sum(size for name, size in copied.items() if name in self.arrays._fields)

    def top_k(self, points: I64, k: int) -> Best:
        """The best k intervals that contain each point."""
        if k < 0:
            raise ScoreError(f"the best {k} cannot be asked for")
        state = self.state  # keeps the arrays alive
        points = np.ascontiguousarray(points, dtype=np.int64)
        k = min(k, self._count(state[0]))
        start, number = (
            np.zeros(len(points) + 1, dtype=np.int64),
            np.empty(len(points) * min(k, ROOM_MIN) + k, np.int32),
        )
        words, done = np.empty(self.cursor_words, dtype=np.int64), 0
        while True:
            done = find_top_k(state[1], words, points, k, start, number, done)
            if done == len(points):
                break
            number = np.concatenate([number, np.empty(len(number) + k, dtype=np.int32)])
        return Best(start, number[: start[-1]].copy())

    def cursor(self, point: int) -> Cursor:
        """The intervals that contain a point, one by one, best first."""
        return Cursor(self, point)


class Cursor:
    """Finds the next best interval when it is asked for. A change of the structure ends it."""

    def __init__(self, structure: ScoredIntervals, point: int) -> None:
        self._state = structure.state
        self.words = np.empty(structure.cursor_words, dtype=np.int64)
        begin(self._state[1], self.words, np.int64(point))

    def getnext(self) -> int | None:
        """The number of the next interval; None if there is none."""
        number = getnext(self._state[1], self.words)
        return None if number < 0 else int(number)

    def __iter__(self) -> Iterator[int]:
        while (number := self.getnext()) is not None:
            yield number
