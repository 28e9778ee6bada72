"""The SOPT-R-tree: an R-tree of the intervals in an order that keeps neighbours close, as far as scores allow.

The paper's tree is static. Here a change is recorded beside the tree: a deleted interval is marked as dead, and a new
one goes into a *delta* in score order, which cursors merge in. After many changes the tree is rebuilt:

>>> import numpy as np
>>> tree = SOPTRTree(np.array([1, 4]), np.array([6, 4]), np.array([0.5, 0.7]))
>>> tree.insert(np.array([2]), np.array([2]), np.array([9]), np.array([0.9]))
>>> list(tree.cursor(4))
[2, 1, 0]
>>> rebuild = tree.rebuild()   # in any thread:
>>> rebuild.run()              # takes long, but writes only arrays of its own
>>> tree.delete(np.array([1]), np.array([4]), np.array([4]), np.array([0.7]))
>>> rebuild.finish()           # between two changes; applies the changes since rebuild()
True
>>> list(tree.cursor(4))
[2, 0]

An array that a reader can see is never written to, so readers need not wait for changes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, U8
from tellwhen.papers.ranked.arrays import ConstraintGraph, RTreeArrays
from tellwhen.papers.ranked.kernels.arrangement import arrange_ranks, build_segment_graph, number_segments
from tellwhen.papers.ranked.order import encode_scores, validate_intervals, validate_numbers
from tellwhen.papers.ranked.structures import ScoredRTree, pack_r_tree

DELTA_SIZE_MIN, DELTA_DIVISOR = 64, 256
"""A rebuild is due when the delta has more than 64 intervals and 1/256 of the tree's: a cursor scans the delta."""

DEAD_DIVISOR = 4
"""A rebuild is due when more than 1/4 of the intervals are dead."""

INLINE_REBUILD_FACTOR = 2
"""Rebuild inside a change once twice the due number of changes has accumulated and no rebuild is running."""


class Change(NamedTuple):
    """Intervals that were inserted or deleted while a rebuild was running."""

    operation: Literal["insert", "delete"]
    number: I32
    low: I64
    high: I64
    key: I64


def find_segments(low: I64, high: I64) -> tuple[I64, I64, int]:
    """Cut the line at all ends of the intervals, and number the segments from left to right.

    Returns (first, last, count): the first and the last segment of each interval, and the number of cuts.
    """
    cuts = np.column_stack([low, high + (high != HIGHEST)]).ravel()
    return number_segments(low, high, np.argsort(cuts, kind="stable").astype(np.int32), HIGHEST)


def build_constraint_graph(low: I64, high: I64) -> ConstraintGraph:
    """Build the constraint graph of intervals that are sorted by rank (Algorithm 2)."""
    return build_segment_graph(*find_segments(low, high))


def arrange_intervals(low: I64, high: I64) -> I32:
    """Return the order in which intervals are packed into leaves (Algorithm 1), as ranks.

    Interval r of `low` and `high` has the rank r.
    """
    first, last, segment_count = find_segments(low, high)
    return arrange_ranks(build_segment_graph(first, last, segment_count), first)


def build_sopt_r_tree(low: I64, high: I64, key: I64, number: I32, fan_out: int) -> RTreeArrays:
    """Build a SOPT-R-tree of intervals in any order."""
    order = np.argsort(key, kind="stable") if _is_ascending(number) else np.lexsort((number, key))
    order = order[arrange_intervals(low[order], high[order])]
    return pack_r_tree(low[order], high[order], key[order], number[order], fan_out)


def _is_ascending(number: I32) -> bool:
    return bool((number[1:] > number[:-1]).all())


class SOPTRTree(ScoredRTree):
    """A packed R-tree of arranged intervals, which can be changed and rebuilt (section 3.2)."""

    name = "sopt-r-tree"
    summary = "an R-tree of the intervals in the best order that scores allow; changes wait beside it"
    can_change = True

    def _build(self, low: I64, high: I64, score: F64) -> RTreeArrays:
        self._rebuild: Rebuild | None = None
        return build_sopt_r_tree(low, high, encode_scores(score), np.arange(len(low), dtype=np.int32), self.fan_out)

    # changes

    def insert(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Insert intervals low..high.

        Parameters
        ----------
        number
            Numbers that no interval of the tree has.
        low, high, score
            The ends and the scores, as in the constructor.

        Raises
        ------
        ScoreError
            If an array is invalid.
        """
        low, high, score = validate_intervals(low, high, score)
        self._change(Change("insert", validate_numbers(number, low), low, high, encode_scores(score)))

    def delete(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Delete intervals.

        Parameters
        ----------
        number
            The numbers of the intervals.
        low, high, score
            The ends and the scores with which the intervals were inserted.

        Raises
        ------
        ScoreError
            If an array is invalid or the tree has no such interval.
        """
        low, high, score = validate_intervals(low, high, score)
        self._change(Change("delete", validate_numbers(number, low), low, high, encode_scores(score)))

    def _change(self, change: Change) -> None:
        self._apply(change)
        if self._rebuild is not None:
            self._rebuild.later_changes.append(change)
        elif self._needs_rebuild(INLINE_REBUILD_FACTOR):
            rebuild = self.rebuild()
            rebuild.run()
            rebuild.finish()

    def _apply(self, change: Change) -> None:
        if change.operation == "insert":
            self._insert(change)
        else:
            self._delete(change)

    def _insert(self, change: Change) -> None:
        arrays: RTreeArrays = self.arrays
        key = np.concatenate([arrays.delta_key, change.key])
        number = np.concatenate([arrays.delta_number, change.number])
        order = np.lexsort((number, key))
        self._publish(
            arrays._replace(
                delta_low=np.concatenate([arrays.delta_low, change.low])[order],
                delta_high=np.concatenate([arrays.delta_high, change.high])[order],
                delta_key=key[order],
                delta_number=number[order],
            )
        )

    def _delete(self, change: Change) -> None:
        arrays: RTreeArrays = self.arrays
        is_new = np.isin(change.number, arrays.delta_number)
        stays = ~np.isin(arrays.delta_number, change.number)
        self._publish(
            arrays._replace(
                dead_count=arrays.dead_count + int((~is_new).sum()),
                dead=arrays.dead if is_new.all() else _mark_dead(arrays, change.number[~is_new]),
                delta_low=arrays.delta_low[stays],
                delta_high=arrays.delta_high[stays],
                delta_key=arrays.delta_key[stays],
                delta_number=arrays.delta_number[stays],
            )
        )

    # rebuilding

    def _adopt(self, arrays: RTreeArrays, later_changes: list[Change]) -> None:
        """Publish a rebuilt tree, and apply the changes made since its rebuild began."""
        self._publish(arrays)
        for change in later_changes:
            self._apply(change)

    @property
    def is_due(self) -> bool:
        """Whether the tree should be rebuilt, because of many changes."""
        return self._needs_rebuild(1)

    def _needs_rebuild(self, factor: int) -> bool:
        """Return whether the number of changes exceeds `factor` times the number that makes a rebuild due."""
        arrays: RTreeArrays = self.arrays
        size = len(arrays.number)
        is_large = len(arrays.delta_number) > factor * max(DELTA_SIZE_MIN, size // DELTA_DIVISOR)
        return is_large or arrays.dead_count * DEAD_DIVISOR > factor * max(size, DELTA_SIZE_MIN)

    def rebuild(self) -> Rebuild:
        """Return a `Rebuild` of the tree as it is now. It replaces a rebuild that is not finished."""
        self._rebuild = Rebuild(self)
        return self._rebuild


class Rebuild:
    """Work that rebuilds a SOPT-R-tree with the intervals it had when the work was created.

    Call `run` in any thread, then `finish` between two changes of the tree.
    """

    def __init__(self, tree: SOPTRTree) -> None:
        self._tree = tree
        self._old_arrays: RTreeArrays = tree.arrays
        self._new_arrays: RTreeArrays | None = None
        self.later_changes: list[Change] = []

    def run(self) -> None:
        """Build the new tree. Reads only arrays that never change."""
        old = self._old_arrays
        size = len(old.number)
        alive: slice | I64 = slice(None)
        if len(old.dead):
            alive = np.flatnonzero(old.dead[old.number >> 3] >> (old.number & 7) & 1 == 0)
        self._new_arrays = build_sopt_r_tree(
            np.concatenate([old.low[:size][alive], old.delta_low]),
            np.concatenate([old.high[:size][alive], old.delta_high]),
            np.concatenate([old.key[alive], old.delta_key]),
            np.concatenate([old.number[alive], old.delta_number]),
            old.fan_out,
        )

    def finish(self) -> bool:
        """Replace the old tree by the new one, and apply the changes made since this rebuild was created.

        Returns False, without an effect, if another rebuild was created since. Raises ScoreError before `run`.
        """
        tree = self._tree
        if self._new_arrays is None:
            raise ScoreError("the rebuild has not run: call run() before finish()")
        if tree._rebuild is not self:
            return False
        tree._rebuild = None
        tree._adopt(self._new_arrays, self.later_changes)
        return True


def _mark_dead(tree: RTreeArrays, numbers: I32) -> U8:
    """Return a copy of the tree's bits of dead numbers in which these numbers are dead too.

    A number without an interval in the tree has its bit set from the start, so deleting it raises ScoreError.
    """
    dead = np.copy(tree.dead)
    if not len(dead) and len(tree.number):
        dead = np.full((int(tree.number.max()) >> 3) + 1, 255, dtype=np.uint8)
        np.bitwise_and.at(dead, tree.number >> 3, ~(1 << (tree.number & 7)).astype(np.uint8))
    for number in numbers.tolist():
        if number >> 3 >= len(dead) or dead[number >> 3] >> (number & 7) & 1:
            raise ScoreError(f"cannot delete interval {number}: the tree has no interval with this number")
        dead[number >> 3] |= 1 << (number & 7)
    return dead
