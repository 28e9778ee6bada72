"""`pstbloom`: rows in the lists of the predicate spaces of one predicate, signatures for the others (PS-Tree 5).

The access predicate of a row is its most selective one (section 3.3). A row stands in the lists of all spaces that it
covers. For every other predicate the row's number is in the Bloom signatures of the spaces that predicate covers. An
event locates its spaces, takes the rows in their lists, drops one whose other lines it does not carry or whose number
is not in the signatures of its spaces there, and looks at the rest exactly.

Deviations, besides those of `pstrows`: a signature has as many bits as it needs for its rows. A predicate that covers
more than WIDE spaces is in no signature, since it would prune little and cost much. A row whose access predicate covers
more than BUDGET spaces is in no list either: it waits for its line, looked at whenever an event carries that.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.pstrows import BUDGET, Place, PSTreeRows, coverage, covered, widths
from tellwhen.engines.rows import RowReader
from tellwhen.engines.selectivity import least, ranking
from tellwhen.engines.stabbing import build_for
from tellwhen.kernels.arrays import PSTBloomIndex
from tellwhen.kernels.pstbloom import bit_of, match_spaces, place_rows, sign_rows
from tellwhen.kernels.pstrows import lay_records

WIDE = 32
"""Spaces that a predicate in signatures may cover."""


class PSTBloom(PSTreeRows):
    """Looks at a row only when its access predicate is true, and its number is in the signatures of the others."""

    name = "pstbloom"
    summary = "lists by predicate space of an access predicate, signatures for the other predicates (PSTBloom)"
    options: ClassVar = {"bits": Option(8, 0, 64, "bits of a signature for each row in it; 0 for no signatures")}
    layout = PSTBloomIndex
    with_lines = True

    def _build(self) -> None:
        view = self.store.view()
        line, _, start, _, _ = view.predicates
        rows = self.rows()
        rank = ranking(self.store, rows.predicate)
        place = least(rank[rows.predicate].astype(np.int64), rows.start)
        known = self._grown(rows.predicate)
        width = widths(known, view.predicates)
        some = place >= 0
        access = np.append(rows.predicate, -1)[place]
        # Rows in lists by their first space, then by line those that wait, then those without predicates.
        group = np.full(len(access), known.total + view.lines)
        group[some] = known.first[start[access[some]]]
        waits = some.copy()
        waits[some] = width[access[some]] > BUDGET
        group[waits] = known.total + line[access[waits]]
        order = np.argsort(group, kind="stable")
        waiting = np.searchsorted(group[order], known.total + np.arange(view.lines + 2))
        listed = order[: waiting[0]]
        self._waits[0] = np.count_nonzero(waits)
        holds = np.zeros(len(rows.predicate), dtype=np.uint8)
        holds[place[listed]] = 1
        is_signed = (width <= WIDE) & (self.option["bits"] > 0)
        begin, records = lay_records(order, *rows, holds, rank, np.where(is_signed, line, -1 - line).astype(np.int32))
        tested = self._times - np.bincount(access[listed], minlength=len(line))
        held = coverage(known, view.predicates, np.where(is_signed, tested, 0))
        sign_start = np.concatenate([[0], np.cumsum((held * self.option["bits"] + 63) >> 6)])
        list_start, places = place_rows(access[listed], begin, start, known.first, known.last, known.total)
        self._index = PSTBloomIndex(
            build_for(view.predicates, view.lines, rows.predicate),
            known.cut_start,
            known.cuts,
            list_start,
            places,
            begin[waiting],
            records,
            sign_start,
            sign_rows(begin, records, start, known.first, known.last, sign_start),
        )

    def reader(self) -> Reader:
        sizes = *self._scratch_sizes(), ("here", len(self._index.cut_start), np.int64)
        return RowReader(self, match_spaces, (*self._index.stabbing, *self._index[1:]), sizes)

    def verify(self) -> None:
        view, rows = self.store.view(), self.rows(self._built)
        known = self._verify_trees(rows.predicate)
        rank, width = ranking(self.store, rows.predicate), widths(known, view.predicates)

        def place(mine: list[int]) -> Place:
            if not mine:
                return [], len(known.cut_start) - 1
            access = min(mine, key=lambda p: rank[p])
            if width[access] > BUDGET:
                return [], int(view.predicates.line[access])
            return [access], tuple(covered(known, view.predicates, access))

        self._verify_rows(rows, range(known.total), place)
        for at, record in self._records().items():
            for p, line in zip(record.tested, record.line, strict=True):
                is_signed = width[p] <= WIDE and self.option["bits"] > 0
                assert line == (view.predicates.line[p] if is_signed else -1 - view.predicates.line[p]), "a wrong line"
                for space in covered(known, view.predicates, p) if is_signed else ():
                    begin, end = self._index.sign_start[space : space + 2].tolist()
                    bit = int(bit_of(at, end - begin))
                    assert int(self._index.sign[begin + bit // 64]) >> bit % 64 & 1, "a row is not in a signature"
