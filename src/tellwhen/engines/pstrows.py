"""What have pstbloom and psthash in common? Rows that wait in lists by predicate space, and PS-Trees that know these.

The trees change with the rows: what is new is inserted, what is gone deleted. The lists are then laid out anew from the
spaces, in one pass.

Deviations: a record is not copied whenever a space splits; and the predicates that an event makes true are found once,
by stabbing, so that looking at a candidate whole is a few tests of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.compile.subscriptions import Store
from tellwhen.compile.translate import Rows
from tellwhen.engines.base import Reader, prefixed, unprefixed
from tellwhen.engines.pstree import PSTree
from tellwhen.engines.rows import RowEngine
from tellwhen.engines.spaces import Spaces
from tellwhen.engines.stabbing import build
from tellwhen.kernels.arrays import I32, I64, Predicates, PSTreeArrays, Stabbing

BUDGET = 256
"""Lists that a row may be in. One with no access predicate so narrow waits for its line instead."""


class PSTreeRows(RowEngine):
    """Keeps PS-Trees of the predicates that rows are found by."""

    longest = 1 << 12
    layout: ClassVar[Any]
    """The NamedTuple of the index: the stabbing index first."""

    _index: Any

    def __init__(self, store: Store, **given: int) -> None:
        self._plant()
        super().__init__(store, **given)

    def _plant(self) -> None:
        self._trees = PSTree()
        self._times = np.zeros(0, dtype=np.int32)  # by predicate: how often it is in its tree

    def rebuild(self) -> None:
        self._plant()
        super().rebuild()

    def settle(self) -> None:
        super().rebuild()

    def _grown(self, predicate: I32) -> Spaces:
        """The spaces, after the trees have taken in and given back what makes their predicates these."""
        view = self.store.view()
        times = np.bincount(predicate, minlength=len(view.predicates.line)).astype(np.int32)
        added = times.astype(np.int64)
        added[: len(self._times)] -= self._times
        self._trees.know(view.lines)
        self._trees.insert(*_intervals(view.predicates, added))
        self._times = times
        return self._trees.spaces(view.predicates, np.flatnonzero(times))

    def _stabbing(self, predicate: I32) -> Stabbing:
        view = self.store.view()
        in_use = np.bincount(predicate, minlength=len(view.predicates.line)) > 0
        upto = np.concatenate([[0], np.cumsum(in_use)])
        return build(view.predicates, view.lines, upto, np.flatnonzero(in_use).astype(np.int32))

    def _scratch_sizes(self) -> tuple[tuple[str, int, Any], ...]:
        predicates = len(self._times)
        return ("truth", predicates // 64 + 1, np.uint64), ("satisfied", predicates + 1, np.int32)

    def _index_arrays(self) -> dict[str, np.ndarray]:
        stabbing, *rest = self._index
        named = dict(zip(self.layout._fields[1:], rest, strict=True)) | {"times": self._times}
        return named | prefixed("stabbing", stabbing) | prefixed("trees", self._trees.arrays)

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        stabbing = unprefixed("stabbing", Stabbing, arrays)
        self._index = self.layout(stabbing, *(arrays[name] for name in self.layout._fields[1:]))
        self._trees = PSTree(unprefixed("trees", PSTreeArrays, arrays))
        self._times = arrays["times"]

    def stats(self) -> dict[str, Any]:
        index = self._index
        return super().stats() | {
            "spaces": len(self._trees),
            "postings": len(index.rows),
            "waiting": int(index.waiting[-1] - index.waiting[0]),
        }

    def _indexed(self) -> Rows:
        """The rows of the slots in the index, dead ones included."""
        slot, start, predicate = self.rows()
        mine = np.flatnonzero(np.isin(np.where(slot < 0, -1 - slot, slot), self._built))
        begin, which = gather(start, mine)
        return Rows(slot[mine], begin, predicate[which])

    def _verify_trees(self, predicate: I32) -> None:
        """They hold these predicates, and the index knows the spaces that they have."""
        predicates = self.store.view().predicates
        times = np.bincount(predicate, minlength=len(self._times))
        assert np.array_equal(times, self._times), "the trees hold other predicates than the rows"
        self._trees.verify(*_intervals(predicates, times))
        spaces = self._trees.spaces(predicates, np.flatnonzero(times))
        assert np.array_equal(spaces.cut_start, self._index.cut_start), "the index has other spaces than the trees"
        assert np.array_equal(spaces.cuts, self._index.cuts), "the index has other spaces than the trees"


def _intervals(predicates: Predicates, times: I64) -> tuple[I32, I64, I64, I64]:
    """The intervals of all predicates that have a number of times: their lines and ends, and that number."""
    line, _, start, low, high = predicates
    some = np.flatnonzero(times)
    begin, which = gather(start, some)
    owner = np.repeat(some, np.diff(begin))
    return line[owner], low[which], high[which], times[owner]


def coverage(known: Spaces, predicates: Predicates, times: I64) -> I64:
    """By space: the predicates that cover it, each as often as `times` says."""
    each = np.repeat(times, np.diff(predicates.start))
    steps = np.bincount(known.first, each, known.total + 1) - np.bincount(known.last + 1, each, known.total + 1)
    return np.cumsum(steps)[: known.total].astype(np.int64)


def widths(known: Spaces, predicates: Predicates) -> I64:
    """By predicate: how many spaces it covers."""
    upto = np.concatenate([[0], np.cumsum(known.last - known.first + 1)])
    return upto[predicates.start[1:]] - upto[predicates.start[:-1]]
