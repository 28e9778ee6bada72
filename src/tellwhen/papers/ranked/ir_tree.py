"""The IR-tree: an interval tree with an R-tree in every node, which can be changed in place (section 3.1).

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
from tellwhen.papers.ranked.kernels.interval_tree import build_interval_tree
from tellwhen.papers.ranked.kernels.ir_build import insert_subtree, measure_r_trees, remove_subtree
from tellwhen.papers.ranked.kernels.ir_change import DONE, FULL, MISSING, delete_intervals, insert_intervals
from tellwhen.papers.ranked.kernels.ir_pool import BLOCKS, COUNTS, ENTRIES, NODES, SPLITS_MAX
from tellwhen.papers.ranked.kernels.layout import IR_TREE_WORDS
from tellwhen.papers.ranked.order import encode_scores, validate_intervals, validate_numbers
from tellwhen.papers.ranked.structures import sort_ends

NODE_FIELDS = ("centre", "left", "right", "root", "weight")
BLOCK_FIELDS = ("first", "size", "capacity", "level")
ENTRY_FIELDS = ("low", "high", "key", "item")
ROOT_LINK = -1
"""The link of the root of the interval tree; see `follow_link` in `kernels/ir_pool.py`."""


class IRTree(ScoredIntervals):
    """An interval tree. The intervals of each node are in an R-tree of that node, in score order."""

    name = "ir-tree"
    summary = "an interval tree with an R-tree in each node; intervals can be inserted and deleted"
    can_change = True

    def _build(self, low: I64, high: I64, score: F64) -> IRTreeArrays:
        self._size = len(low)
        counts = np.full(COUNTS, -1, dtype=np.int64)
        counts[[NODES, BLOCKS, ENTRIES]] = 0
        empty_pools: dict[str, Any] = {
            name: np.zeros(
                0, dtype=np.int64 if name in ("centre", "weight", "first", "low", "high", "key") else np.int32
            )
            for name in (*NODE_FIELDS, *BLOCK_FIELDS, *ENTRY_FIELDS)
        }
        self._publish(IRTreeArrays(kind=IR_TREE, fan_out=self.fan_out, counts=counts, **empty_pools))
        self._build_subtree(ROOT_LINK, low, high, encode_scores(score), np.arange(len(low), dtype=np.int32))
        return self.arrays

    def _count_intervals(self, arrays: Any) -> int:
        return self._size

    @property
    def cursor_words(self) -> int:
        return IR_TREE_WORDS

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
        intervals = low, high, encode_scores(score), validate_numbers(number, low)
        done, reason = 0, FULL
        while reason != DONE:
            done, reason, link = insert_intervals(self.packed, *intervals, done)
            self._handle_stop(reason, link)
        self._size += len(low)

    def delete(self, number: I32, low: I64, high: I64, score: F64) -> None:
        """Delete intervals.

        Parameters
        ----------
        number
            The numbers of the intervals.
        low, high, score
            The ends and the scores with which the intervals were inserted: the tree finds an interval by these.

        Raises
        ------
        ScoreError
            If an array is invalid or the tree has no such interval. The intervals before it are deleted.
        """
        low, high, score = validate_intervals(low, high, score)
        intervals = low, high, encode_scores(score), validate_numbers(number, low)
        done, reason = 0, FULL
        while reason != DONE:
            done_before = done
            done, reason, link = delete_intervals(self.packed, *intervals, done)
            self._size -= done - done_before
            if reason == MISSING:
                raise ScoreError(
                    f"cannot delete interval {intervals[3][done]}: the tree has no interval with this number from "
                    f"{low[done]} to {high[done]} with this score"
                )
            self._handle_stop(reason, link)

    def _handle_stop(self, reason: int, link: int) -> None:
        """Grow the pools or rebuild the subtree at a link, as the reason why a kernel stopped requires."""
        if reason == FULL:
            self._reserve(1, SPLITS_MAX, SPLITS_MAX * self.fan_out, growth=2)
        elif reason != DONE:
            low, high, key, number = remove_subtree(self.packed, link)
            order = np.lexsort((number, key))
            self._build_subtree(link, low[order], high[order], key[order], number[order], is_sorted=True)

    def _build_subtree(self, link: int, low: I64, high: I64, key: I64, number: I32, is_sorted: bool = False) -> None:
        """Build an interval tree of these intervals, and hang it at a link."""
        order = np.arange(len(low)) if is_sorted else np.argsort(key, kind="stable")
        low, high, key, number = low[order], high[order], key[order], number[order]
        centre, left, right, start, members = build_interval_tree(low, high, sort_ends(low, high))
        blocks, entries = measure_r_trees(start, self.fan_out)
        self._reserve(len(centre), blocks, entries)
        low, high, key, number = low[members], high[members], key[members], number[members]
        insert_subtree(self.packed, link, centre, left, right, start, low, high, key, number)

    def _reserve(self, nodes: int, blocks: int, entries: int, growth: int = 0) -> None:
        """Grow the pools so that this many more nodes, blocks and entries fit.

        A pool that is too small becomes at least `growth` times as large.
        """
        counts, new_sizes = self.arrays.counts, {}
        pools = ((NODES, nodes, NODE_FIELDS), (BLOCKS, blocks, BLOCK_FIELDS), (ENTRIES, entries, ENTRY_FIELDS))
        for used, additional, names in pools:
            capacity, needed = len(getattr(self.arrays, names[0])), int(counts[used]) + additional
            if needed > capacity:
                for name in names:
                    new_sizes[name] = max(needed, growth * capacity)
        grown = {name: np.zeros(size, getattr(self.arrays, name).dtype) for name, size in new_sizes.items()}
        for name, array in grown.items():
            old = getattr(self.arrays, name)
            array[: len(old)] = old
        self._publish(self.arrays._replace(**grown))
