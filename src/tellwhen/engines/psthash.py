"""`psthash`: rows in a hash table by the predicate spaces of several predicates together (PS-Tree, section 6).

The access predicates of a row are its most selective ones on different lines, as many as the option `access` says, or
as it has. Only they are in the PS-Trees. A row stands in the list of every combination of a space of each; the key of
such a list is the spaces' numbers, ascending. An event locates its spaces, looks up their combinations, and looks at
the rows it finds there exactly.

Deviations, besides those of `pstrows`: keys of fewer spaces are in the same table (the paper takes PSTBloom for short
rows). A row whose access predicates have more than COMBINED combinations is found by the first of them only, as many as
keep within it; if the very first covers more than BUDGET spaces, the row waits for its line. When an event has more
combinations than there are keys, all keys are gone through instead.
"""

from __future__ import annotations

import math
from itertools import product
from typing import ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.pstrows import BUDGET, Place, PSTreeRows, covered, widths
from tellwhen.engines.rows import RowReader
from tellwhen.engines.selectivity import ranking
from tellwhen.engines.stabbing import build_for
from tellwhen.kernels.arrays import PSTHashIndex
from tellwhen.kernels.psthash import (
    choose,
    enumerate_keys,
    match_combinations,
    note_sizes,
    place_pairs,
    slot_of_key,
)
from tellwhen.kernels.pstrows import lay_records

COMBINED = 64
"""Lists that a row may be in for the sake of further access predicates: more cost memory, and prune little more."""

NO_LINES = np.zeros(0, dtype=np.int32)


class PSTHash(PSTreeRows):
    """Looks at a row only when several of its predicates are true."""

    name = "psthash"
    summary = "a hash table of combinations of predicate spaces of several access predicates (PSTHash)"
    options: ClassVar = {"access": Option(2, 1, 4, "access predicates of a row")}
    layout = PSTHashIndex
    with_lines = False

    def _build(self) -> None:
        view = self.store.view()
        line, _, start, _, _ = view.predicates
        rows = self.rows()
        rank = ranking(self.store, rows.predicate)
        chosen = np.full((len(rows.slot), self.option["access"]), -1, dtype=np.int64)
        choose(rows.start, rows.predicate, rank, line, chosen)
        access = np.append(rows.predicate, -1)[chosen]
        known = self._grown(access[access >= 0])
        width = np.append(widths(known, view.predicates), BUDGET + 1)[access].astype(np.float64)
        cells = np.cumprod(width, axis=1)
        depth = np.count_nonzero(cells <= _most(cells[:, :1]), axis=1)
        pair_start = np.zeros(len(depth) + 1, dtype=np.int64)
        found = depth > 0
        pair_start[1:][found] = cells[found, depth[found] - 1]
        np.cumsum(pair_start, out=pair_start)
        pairs, keys, table = enumerate_keys(access, depth, pair_start, line, start, known.first, known.last)
        # Rows in lists by their first key, then by line those that wait, then those without predicates.
        group = np.full(len(depth), len(keys) + view.lines)
        group[found] = pairs[pair_start[:-1][found]]
        waits = ~found & (access[:, 0] >= 0)
        group[waits] = len(keys) + line[access[waits, 0]]
        order = np.argsort(group, kind="stable")
        waiting = np.searchsorted(group[order], len(keys) + np.arange(view.lines + 2))
        self._waits[0] = np.count_nonzero(waits)
        holds = np.zeros(len(rows.predicate), dtype=np.uint8)
        holds[chosen[np.arange(chosen.shape[1]) < depth[:, None]]] = 1
        begin, records = lay_records(order, *rows, holds, rank, NO_LINES)
        sizes = np.zeros(known.total, dtype=np.uint8)
        note_sizes(keys, sizes)
        list_start, places = place_pairs(order[: waiting[0]], begin, pair_start, pairs, len(keys))
        self._index = PSTHashIndex(
            build_for(view.predicates, view.lines, rows.predicate),
            known.cut_start,
            known.cuts,
            sizes,
            table,
            keys,
            list_start,
            places,
            begin[waiting],
            records,
        )

    def reader(self) -> Reader:
        spaces = len(self._index.sizes)
        sizes = (
            *self._scratch_sizes(),
            ("near", spaces + 1, np.int32), ("some", spaces + 1, np.int32), ("has", spaces, np.uint8),
            ("hits", len(self._index.keys) + 1, np.int32),
        )  # fmt: skip
        return RowReader(self, match_combinations, (*self._index.stabbing, *self._index[1:]), sizes)

    def verify(self) -> None:
        predicates, rows = self.store.view().predicates, self.rows(self._built)
        rank = ranking(self.store, rows.predicate)

        def best(mine: list[int]) -> list[int]:
            chosen: dict[int, int] = {}
            for p in sorted(mine, key=lambda p: rank[p]):
                chosen.setdefault(int(predicates.line[p]), p)
            return list(chosen.values())[: self.option["access"]]

        each = np.split(rows.predicate, rows.start[1:-1])
        known = self._verify_trees(np.array([p for mine in each for p in best(mine.tolist())], dtype=np.int32))
        width = widths(known, predicates)

        def place(mine: list[int]) -> Place:
            access = best(mine)
            if not access:
                return [], len(known.cut_start) - 1
            most = _most(width[access[:1]]).item()
            while access and math.prod(width[access].tolist()) > most:
                access.pop()
            if not access:
                return [], int(predicates.line[best(mine)[0]])
            runs = sorted(covered(known, predicates, p) for p in access)
            return access, tuple(sorted(product(*runs)))

        keys = [tuple(space for space in key if space >= 0) for key in self._index.keys.tolist()]
        self._verify_rows(rows, keys, place)
        sizes = np.zeros(known.total, dtype=np.uint8)
        for k, key in enumerate(keys):
            sizes[list(key)] |= 1 << len(key) - 1
            at = slot_of_key(self._index.table, self._index.keys, self._index.keys[k])
            assert self._index.table[at] == k + 1, "a key is not found"
        assert np.array_equal(sizes, self._index.sizes), "a space is in keys that it does not know of"


def _most(first: np.ndarray) -> np.ndarray:
    """How many lists a row may be in whose first access predicate covers so many spaces."""
    return np.where(first > BUDGET, 0, np.maximum(first, COMBINED))
