"""The SOPT-R-tree: an R-tree of the intervals in an order that is as good for their places as their scores allow.

The paper's is static. Here a change is noted beside the tree: a deleted interval is marked as dead, a new one is in a
*delta* in score order, which a cursor merges in. When there are many of either, the tree is built again:

>>> import numpy as np
>>> tree = SOPTRTree(np.array([1, 4]), np.array([6, 4]), np.array([0.5, 0.7]))
>>> tree.insert(np.array([2]), np.array([2]), np.array([9]), np.array([0.9]))
>>> list(tree.cursor(4))
[2, 1, 0]
>>> rebuild = tree.rebuild()   # in any thread:
>>> rebuild.run()              # takes long, but touches nothing that others see
>>> tree.delete(np.array([1]), np.array([4]), np.array([4]), np.array([0.7]))
>>> rebuild.finish()           # between two changes; takes up what has changed meanwhile
True
>>> list(tree.cursor(4))
[2, 0]

No array that a reader can see is ever written to, so readers need not wait for changes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, U8
from tellwhen.papers.ranked.arrays import Graph, RTreeArrays
from tellwhen.papers.ranked.kernels.arrange import arrange, constraint_graph, cut
from tellwhen.papers.ranked.order import checked, checked_numbers, keys_of
from tellwhen.papers.ranked.structures import ScoredRTree, packed_r_tree

DELTA_MIN, DELTA_SHARE = 64, 256
"""A rebuild is due when the delta has 64 intervals and 1/256 of the tree's: a cursor looks through it one by one."""

DEAD_SHARE = 4
"""A rebuild is due when 1/4 of the intervals are dead."""

PATIENCE = 2
"""With so many times as many changes as are due, a change rebuilds the tree itself: nobody else seems to do it."""


class Change(NamedTuple):
    """What came or went while the tree was built again."""

    what: Literal["insert", "delete"]
    number: I32
    low: I64
    high: I64
    key: I64


def segments_of(low: I64, high: I64) -> tuple[I64, I64, int]:
    """(first, last, segments): where each interval begins and ends on the line cut at all ends."""
    cuts = np.column_stack([low, high + (high != HIGHEST)]).ravel()
    return cut(low, high, np.argsort(cuts, kind="stable").astype(np.int32), HIGHEST)


def graph_of(low: I64, high: I64) -> Graph:
    """The constraint graph of intervals in the order of their ranks (Algorithm 2)."""
    return constraint_graph(*segments_of(low, high))


def arranged(low: I64, high: I64) -> I32:
    """The arrangement of intervals in the order of their ranks (Algorithm 1)."""
    first, last, segments = segments_of(low, high)
    return arrange(constraint_graph(first, last, segments), first)


def built(low: I64, high: I64, key: I64, number: I32, fan_out: int) -> RTreeArrays:
    """A SOPT-R-tree of intervals in any order."""
    order = np.argsort(key, kind="stable") if _is_ascending(number) else np.lexsort((number, key))
    order = order[arranged(low[order], high[order])]
    return packed_r_tree(low[order], high[order], key[order], number[order], fan_out)


def _is_ascending(number: I32) -> bool:
    return bool((number[1:] > number[:-1]).all())


class SOPTRTree(ScoredRTree):
    """A packed R-tree of arranged intervals (section 3.2)."""

    name = "sopt-r-tree"
    summary = "an R-tree of the intervals in the best order that scores allow; changes wait beside it"
    changes = True

    def _build(self, low: I64, high: I64, score: F64) -> RTreeArrays:
        self._rebuild: Rebuild | None = None
        return built(low, high, keys_of(score), np.arange(len(low), dtype=np.int32), self.fan_out)

    # changes

    def insert(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Insert intervals with numbers that are not in use."""
        low, high, score = checked(low, high, score)
        self._change(Change("insert", checked_numbers(number, low), low, high, keys_of(score)))

    def delete(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Delete intervals, given as they were inserted."""
        low, high, score = checked(low, high, score)
        self._change(Change("delete", checked_numbers(number, low), low, high, keys_of(score)))

    def _change(self, change: Change) -> None:
        self._apply(change)
        if self._rebuild is not None:
            self._rebuild.later.append(change)
        elif self._is_over(PATIENCE):
            rebuild = self.rebuild()
            rebuild.run()
            rebuild.finish()

    def _apply(self, change: Change) -> None:
        if change.what == "insert":
            self._insert(change)
        else:
            self._delete(change)

    def _insert(self, change: Change) -> None:
        before: RTreeArrays = self.arrays
        key = np.concatenate([before.delta_key, change.key])
        number = np.concatenate([before.delta_number, change.number])
        order = np.lexsort((number, key))
        self._publish(
            before._replace(
                delta_low=np.concatenate([before.delta_low, change.low])[order],
                delta_high=np.concatenate([before.delta_high, change.high])[order],
                delta_key=key[order],
                delta_number=number[order],
            )
        )

    def _delete(self, change: Change) -> None:
        before: RTreeArrays = self.arrays
        is_new = np.isin(change.number, before.delta_number)
        stays = ~np.isin(before.delta_number, change.number)
        self._publish(
            before._replace(
                dead_count=before.dead_count + int((~is_new).sum()),
                dead=before.dead if is_new.all() else _with_dead(before, change.number[~is_new]),
                delta_low=before.delta_low[stays],
                delta_high=before.delta_high[stays],
                delta_key=before.delta_key[stays],
                delta_number=before.delta_number[stays],
            )
        )

    # rebuilding

    def _adopt(self, arrays: RTreeArrays, later: list[Change]) -> None:
        """Use a new tree, with the changes that it does not have."""
        self._publish(arrays)
        for change in later:
            self._apply(change)

    @property
    def is_due(self) -> bool:
        """Are there so many changes that the tree should be built again?"""
        return self._is_over(1)

    def _is_over(self, times: int) -> bool:
        arrays: RTreeArrays = self.arrays
        size = len(arrays.number)
        is_large = len(arrays.delta_number) > times * max(DELTA_MIN, size // DELTA_SHARE)
        return is_large or arrays.dead_count * DEAD_SHARE > times * max(size, DELTA_MIN)

    def rebuild(self) -> Rebuild:
        """The work of building the tree again. One that was begun before is given up."""
        self._rebuild = Rebuild(self)
        return self._rebuild


class Rebuild:
    """Builds a tree of what was there when the work began: `run` it in any thread, `finish` it between changes."""

    def __init__(self, tree: SOPTRTree) -> None:
        self._tree = tree
        self._before: RTreeArrays = tree.arrays
        self._after: RTreeArrays | None = None
        self.later: list[Change] = []

    def run(self) -> None:
        """Build. Reads only arrays that never change."""
        before = self._before
        size = len(before.number)
        stays: slice | I64 = slice(None)
        if len(before.dead):
            stays = np.flatnonzero(before.dead[before.number >> 3] >> (before.number & 7) & 1 == 0)
        self._after = built(
            np.concatenate([before.low[:size][stays], before.delta_low]),
            np.concatenate([before.high[:size][stays], before.delta_high]),
            np.concatenate([before.key[stays], before.delta_key]),
            np.concatenate([before.number[stays], before.delta_number]),
            before.fan_out,
        )

    def finish(self) -> bool:
        """Use the new tree, with the changes that came later. False if another rebuild was begun since."""
        tree = self._tree
        if self._after is None:
            raise ScoreError("run() the rebuild before finish()")
        if tree._rebuild is not self:
            return False
        tree._rebuild = None
        tree._adopt(self._after, self.later)
        return True


def _with_dead(tree: RTreeArrays, number: I32) -> U8:
    """The bits of the dead, with some more. Numbers that are not in the tree have one from the first."""
    dead = np.copy(tree.dead)
    if not len(dead) and len(tree.number):
        dead = np.full((int(tree.number.max()) >> 3) + 1, 255, dtype=np.uint8)
        np.bitwise_and.at(dead, tree.number >> 3, ~(1 << (tree.number & 7)).astype(np.uint8))
    for one in number.tolist():
        if one >> 3 >= len(dead) or dead[one >> 3] >> (one & 7) & 1:
            raise ScoreError(f"there is no interval {one} to delete")
        dead[one >> 3] |= 1 << (one & 7)
    return dead
