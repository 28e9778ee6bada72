"""The IR-tree: an interval tree with an R-tree in every node; intervals come and go (section 3.1).

>>> import numpy as np
>>> tree = IRTree(np.array([1, 4]), np.array([6, 4]), np.array([0.5, 0.7]))
>>> tree.insert(np.array([2]), np.array([2]), np.array([9]), np.array([0.9]))
>>> list(tree.cursor(4))
[2, 1, 0]
>>> tree.delete(np.array([1]), np.array([4]), np.array([4]), np.array([0.7]))
>>> list(tree.cursor(4))
[2, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tellwhen.errors import ScoreError
from tellwhen.kernels.arrays import F64, I32, I64
from tellwhen.papers.ranked.arrays import IR_TREE, IRTreeArrays
from tellwhen.papers.ranked.intervals import ScoredIntervals
from tellwhen.papers.ranked.kernels.interval_tree import hang
from tellwhen.papers.ranked.kernels.ir_build import plant, planted_size, uproot
from tellwhen.papers.ranked.kernels.ir_change import DONE, FULL, MISSING, delete_intervals, insert_intervals
from tellwhen.papers.ranked.kernels.ir_pool import BLOCKS, COUNTS, ENTRIES, NODES, SPLITS_MAX
from tellwhen.papers.ranked.kernels.layout import IR_TREE_WORDS
from tellwhen.papers.ranked.order import checked, checked_numbers, keys_of
from tellwhen.papers.ranked.structures import ends_of

NODE_FIELDS = ("centre", "left", "right", "root", "weight")
BLOCK_FIELDS = ("first", "size", "room", "level")
ENTRY_FIELDS = ("low", "high", "key", "item")
ROOT_LINK = -1


class IRTree(ScoredIntervals):
    """Intervals hang on the nodes of an interval tree. Those of a node are in an R-tree in score order."""

    name = "ir-tree"
    summary = "an interval tree with an R-tree in each node; intervals can be inserted and deleted"
    changes = True

    def _build(self, low: I64, high: I64, score: F64) -> IRTreeArrays:
        self._size = len(low)
        counts = np.full(COUNTS, -1, dtype=np.int64)
        counts[[NODES, BLOCKS, ENTRIES]] = 0
        none: dict[str, Any] = {
            name: np.zeros(
                0, dtype=np.int64 if name in ("centre", "weight", "first", "low", "high", "key") else np.int32
            )
            for name in (*NODE_FIELDS, *BLOCK_FIELDS, *ENTRY_FIELDS)
        }
        self._publish(IRTreeArrays(kind=IR_TREE, fan_out=self.fan_out, counts=counts, **none))
        self._plant(ROOT_LINK, low, high, keys_of(score), np.arange(len(low), dtype=np.int32))
        return self.arrays

    def _count(self, arrays: Any) -> int:
        return self._size

    @property
    def cursor_words(self) -> int:
        return IR_TREE_WORDS

    def insert(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Insert intervals with numbers that are not in use."""
        low, high, score = checked(low, high, score)
        given = low, high, keys_of(score), checked_numbers(number, low)
        done, why = 0, FULL
        while why != DONE:
            done, why, link = insert_intervals(self.packed, *given, done)
            self._attend(why, link)
        self._size += len(low)

    def delete(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Delete intervals. They are given as they were inserted: the tree finds them by their place and score."""
        low, high, score = checked(low, high, score)
        given = low, high, keys_of(score), checked_numbers(number, low)
        done, why = 0, FULL
        while why != DONE:
            before = done
            done, why, link = delete_intervals(self.packed, *given, done)
            self._size -= done - before
            if why == MISSING:
                raise ScoreError(
                    f"there is no interval {given[3][done]} from {low[done]} to {high[done]} with this score"
                )
            self._attend(why, link)

    def _attend(self, why: int, link: int) -> None:
        """Do what a kernel has stopped for."""
        if why == FULL:
            self._reserve(1, SPLITS_MAX, SPLITS_MAX * self.fan_out, at_least=2)
        elif why != DONE:
            low, high, key, number = uproot(self.packed, link)
            order = np.lexsort((number, key))
            self._plant(link, low[order], high[order], key[order], number[order], is_sorted=True)

    def _plant(self, link: int, low: I64, high: I64, key: I64, number: I32, is_sorted: bool = False) -> None:
        """Build a subtree of all these intervals."""
        order = np.arange(len(low)) if is_sorted else np.argsort(key, kind="stable")
        low, high, key, number = low[order], high[order], key[order], number[order]
        centre, left, right, start, hung = hang(low, high, ends_of(low, high))
        blocks, entries = planted_size(start, self.fan_out)
        self._reserve(len(centre), blocks, entries)
        plant(self.packed, link, centre, left, right, start, low[hung], high[hung], key[hung], number[hung])

    def _reserve(self, nodes: int, blocks: int, entries: int, at_least: int = 0) -> None:
        """Make room in the pools; those that are too small become `at_least` times as large."""
        counts, wanted = self.arrays.counts, {}
        pools = ((NODES, nodes, NODE_FIELDS), (BLOCKS, blocks, BLOCK_FIELDS), (ENTRIES, entries, ENTRY_FIELDS))
        for used, more, names in pools:
            room, needed = len(getattr(self.arrays, names[0])), int(counts[used]) + more
            if needed > room:
                for name in names:
                    wanted[name] = max(needed, at_least * room)
        grown = {name: np.zeros(size, getattr(self.arrays, name).dtype) for name, size in wanted.items()}
        for name, array in grown.items():
            before = getattr(self.arrays, name)
            array[: len(before)] = before
        self._publish(self.arrays._replace(**grown))
