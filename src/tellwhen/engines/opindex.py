"""`opindex`: subscriptions by pivot attribute, their predicates in sorted lists by operator (OpIndex, VLDB 2014).

The pivot of a row is, of the lines it needs, the one that fewest events carry (section 4.1), guessed from the
subscriptions. An event concerns only the rows whose pivot it carries; their predicates lie in three lists (=, >=, <=),
each sorted by attribute and operand and cut into segments with a signature (4.2); matching counts down (5).

Operators are written in terms of the three, as in section 4.2, and further. IN is several entries of =, of which one
is true. Any other set of k disjoint intervals has an entry >= for each low end and <= for each high end: a value in one
of the intervals makes k+1 of these true, one outside k. Ends at infinity are always true, and left out.

Deviations: lines take the place of attributes (an attribute has one for each family of values), and a list has fewer
segments than 32 if it is short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.csr import gather
from tellwhen.compile.translate import Rows
from tellwhen.engines.base import Reader
from tellwhen.engines.rows import RowEngine, RowReader
from tellwhen.engines.selectivity import frequency, least, points
from tellwhen.engines.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, OpIndexIndex, Predicates
from tellwhen.kernels.opindex import AT_LEAST, AT_MOST, EQUAL, match_pivots, sign

SEGMENTS = 32
"""Segments of a predicate list, at most (section 7.1)."""

FULL = 4
"""Entries that a segment should have, at least."""


class OpIndex(RowEngine):
    """Counts down only the rows whose pivot the event carries."""

    name = "opindex"
    summary = "pivot attributes, and sorted predicate lists with signatures (OpIndex)"
    longest = 1 << 12
    segments: ClassVar[int] = SEGMENTS

    def _build(self) -> None:
        view = self.store.view()
        rows = self.rows()
        pivot = self._pivots(rows)
        order = np.argsort(pivot, kind="stable")
        first, which = gather(rows.start, order)
        owner = np.repeat(np.arange(len(order)), np.diff(first)).astype(np.int32)
        predicate = rows.predicate[which]
        ends, need = _ends(view.predicates)
        lists = [_entries(ends[operator], predicate, owner) for operator in range(3)]
        key_start, keys, ranked = _keys(ends, view.lines)
        segment_start = np.zeros((3, view.lines + 1), dtype=np.int64)
        parts = []
        for operator, (entry, row) in enumerate(lists):
            parts.append(self._lists(operator, ends[operator], entry, row, pivot[order], ranked[operator], view.lines))
        segments, entries = 0, 0
        for operator, (directory, bounds, *_, rank, _) in enumerate(parts):
            segment_start[operator] = directory + segments
            bounds += entries
            segments += len(bounds)
            entries += len(rank)
        self._index = OpIndexIndex(
            pivot_rows=np.searchsorted(pivot[order], np.arange(view.lines + 1)),
            need=np.bincount(owner, need[predicate], len(order)).astype(np.int32),
            row_slot=rows.slot[order],
            always=np.flatnonzero(pivot[order] == view.lines).astype(np.int32),
            key_start=key_start,
            keys=keys,
            key_line=np.repeat(np.tile(np.arange(view.lines), 3), np.diff(key_start).ravel()).astype(np.int32),
            segment_start=segment_start,
            bounds=np.concatenate([part[1] for part in parts]),
            signature=np.concatenate([part[2] for part in parts]),
            ranks=np.concatenate([part[3] for part in parts]),
            rows=np.concatenate([part[4] for part in parts]),
        )

    def _pivots(self, rows: Rows) -> I64:
        """The pivot of every row, of equals the one asked for first; the number of lines for a row without any."""
        view = self.store.view()
        found = np.full(len(rows.slot), view.lines, dtype=np.int64)
        if len(rows.predicate):
            # Whether an attribute is there can be told of every event: the last choice for a pivot.
            told = np.array([line.kind == "presence" for line in self.store.attributes.lines[: view.lines]], dtype=bool)
            _, rank = np.unique(np.where(told, 2.0, frequency(self.store, rows.predicate)), return_inverse=True)
            line = view.predicates.line[rows.predicate]
            place = least(rank[line], rows.start)
            found[place >= 0] = line[place[place >= 0]]
        return found

    def _lists(
        self, operator: int, ends: _Ends, entry: I64, row: I32, pivot_of: I64, ranked: I32, lines: int
    ) -> tuple[I64, I64, np.ndarray, I32, I32]:
        """The lists of one operator, one for each pivot: directory, bounds and signatures of segments, ranks, rows."""
        pivot = pivot_of[row]
        order = np.lexsort((ranked[entry], pivot))
        entry, row, pivot = entry[order], row[order], pivot[order]
        list_start = np.searchsorted(pivot, np.arange(lines + 1))
        size = np.diff(list_start)
        wanted = 1 << np.floor(np.log2(np.maximum(1, size // FULL))).astype(np.int64)
        count = np.where(size > 0, np.minimum(self.segments, wanted), 0)
        # A list of n segments has n + 1 bounds, an empty one none.
        width = np.where(count > 0, count + 1, 0)
        directory = np.concatenate([[0], np.cumsum(width)])
        bounds = np.zeros(directory[-1], dtype=np.int64)
        signature = np.zeros(directory[-1], dtype=np.uint64)
        rank = ranked[entry]
        sign(operator, list_start, lines, ends.line[entry], rank, directory, count, bounds, signature)
        return directory, bounds, self._signed(signature), rank, row

    def _signed(self, signature: np.ndarray) -> np.ndarray:
        return signature

    def reader(self) -> Reader:
        rows = len(self._index.need)
        lines = len(self._index.pivot_rows) - 1
        sizes = ("remaining", rows, np.int32), ("done", rows + 1, np.int32), ("first", lines, np.int32)
        return RowReader(self, match_pivots, tuple(self._index), sizes)

    def _index_arrays(self) -> dict[str, np.ndarray]:
        return self._index._asdict()

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = OpIndexIndex(*(arrays[name] for name in OpIndexIndex._fields))


class OpIndexPlain(OpIndex):
    """The unoptimised variant of the paper (OpIndex-BS): one segment, and no signature."""

    name = "opindex-plain"
    summary = "OpIndex without segments and signatures (OpIndex-BS)"
    segments = 1

    def _signed(self, signature: np.ndarray) -> np.ndarray:
        return np.full_like(signature, (1 << 64) - 1)


class _Ends:
    """The entries that predicates have in one operator's lists, predicate by predicate."""

    def __init__(self, predicates: Predicates, chosen: NDArray[np.bool_], operand: I64) -> None:
        owner = np.repeat(np.arange(len(predicates.line)), np.diff(predicates.start))
        self.start = np.concatenate([[0], np.cumsum(np.bincount(owner[chosen], minlength=len(predicates.line)))])
        self.line = predicates.line[owner[chosen]]
        self.operand = operand[chosen]


def _ends(predicates: Predicates) -> tuple[dict[int, _Ends], I64]:
    """The entries of all predicates by operator, and how many of a predicate's must be true."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    single = points(predicates) > 0
    is_point = single[owner]
    # A predicate that any value satisfies keeps its low end: the line must be carried all the same.
    below = ~is_point & ((low != LOWEST) | (high == HIGHEST))
    below &= (low != LOWEST) | (many[owner] == 1)
    above = ~is_point & (high != HIGHEST)
    ends = {
        EQUAL: _Ends(predicates, is_point, low),
        AT_LEAST: _Ends(predicates, below, low),
        AT_MOST: _Ends(predicates, above, high),
    }
    entries = np.diff(ends[AT_LEAST].start) + np.diff(ends[AT_MOST].start)
    # Of 2k ends k+1 are true inside; those at infinity are not there, and would be.
    whole = np.bincount(owner[(low == LOWEST) & (high == HIGHEST)], minlength=len(many)) > 0
    need = np.where(single, 1, np.where(whole, 1, entries - many + 1))
    return ends, need


def _entries(ends: _Ends, predicate: I32, owner: I32) -> tuple[I64, I32]:
    """For every predicate of every row its entries, and the row."""
    first, which = gather(ends.start, predicate)
    return which, np.repeat(owner, np.diff(first))


def _keys(ends: Mapping[int, _Ends], lines: int) -> tuple[I64, I64, list[I32]]:
    """All different operands by operator and line: where they begin, the operands, and by entry its rank."""
    start, keys, ranked = np.zeros((3, lines + 1), dtype=np.int64), [], []
    count = 0
    for operator in (EQUAL, AT_LEAST, AT_MOST):
        starts, found, number = numbered(ends[operator].line, ends[operator].operand, lines)
        start[operator] = count + starts
        keys.append(found)
        ranked.append((count + number).astype(np.int32))
        count += len(found)
    return start, np.concatenate(keys), ranked
