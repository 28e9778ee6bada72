"""`psthash`: conjunctions in a hash table by the predicate spaces of several predicates together (PS-Tree, section 6).

The access predicates of a conjunction are its most selective ones on different domains, as many as the option `access` says, or
as it has. Only they are in the PS-Trees. A conjunction stands in the list of every combination of a space of each; the key of
such a list is the spaces' numbers, ascending. An event locates its spaces, looks up their combinations, and looks at
the conjunctions it finds there exactly.

Deviations, besides those of `pstrows`: keys of fewer spaces are in the same table (the paper takes PSTBloom for short
conjunctions). A conjunction whose access predicates have more than COMBINED combinations is found by the first of them only, as many as
keep within it; if the very first covers more than MAX_LISTS spaces, the conjunction waits for its domain. When an event has more
combinations than there are keys, all keys are gone through instead.
"""

from __future__ import annotations

import math
from itertools import product
from typing import ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.psthash.arrays import PSTHashIndex
from tellwhen.engines.psthash.kernels import (
    choose,
    enumerate_keys,
    match_combinations,
    note_sizes,
    place_pairs,
    slot_of_key,
)
from tellwhen.engines.pstree.engine import MAX_LISTS, Place, PSTreeEngine, covered, widths
from tellwhen.engines.pstree.records import lay_records
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import ranking
from tellwhen.engines.shared.stabbing import build_for

COMBINED = 64
"""Lists that a conjunction may be in for the sake of further access predicates: more cost memory, and prune little more."""

NO_DOMAINS = np.zeros(0, dtype=np.int32)


class PSTHash(PSTreeEngine):
    """Looks at a conjunction only when several of its predicates are true."""

    name = "psthash"
    summary = "a hash table of combinations of predicate spaces of several access predicates (PSTHash)"
    options: ClassVar = {"access": Option(2, 1, 4, "access predicates of a conjunction")}
    layout = PSTHashIndex
    with_domains = False

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        domain, _, start, _, _ = snapshot.predicates
        conjunctions = self.conjunctions()
        rank = ranking(self.store, conjunctions.predicate)
        chosen = np.full((len(conjunctions.slot), self.option["access"]), -1, dtype=np.int64)
        choose(conjunctions.start, conjunctions.predicate, rank, domain, chosen)
        access = np.append(conjunctions.predicate, -1)[chosen]
        known = self._grown(access[access >= 0])
        width = np.append(widths(known, snapshot.predicates), MAX_LISTS + 1)[access].astype(np.float64)
        cells = np.cumprod(width, axis=1)
        depth = np.count_nonzero(cells <= _most(cells[:, :1]), axis=1)
        pair_start = np.zeros(len(depth) + 1, dtype=np.int64)
        found = depth > 0
        pair_start[1:][found] = cells[found, depth[found] - 1]
        np.cumsum(pair_start, out=pair_start)
        pairs, keys, table = enumerate_keys(access, depth, pair_start, domain, start, known.first, known.last)
        # Conjunctions in lists by their first key, then by domain those that wait, then those without predicates.
        group = np.full(len(depth), len(keys) + snapshot.domains)
        group[found] = pairs[pair_start[:-1][found]]
        waits = ~found & (access[:, 0] >= 0)
        group[waits] = len(keys) + domain[access[waits, 0]]
        order = np.argsort(group, kind="stable")
        waiting = np.searchsorted(group[order], len(keys) + np.arange(snapshot.domains + 2))
        self._waits[0] = np.count_nonzero(waits)
        holds = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        holds[chosen[np.arange(chosen.shape[1]) < depth[:, None]]] = 1
        begin, records = lay_records(order, *conjunctions, holds, rank, NO_DOMAINS)
        sizes = np.zeros(known.total, dtype=np.uint8)
        note_sizes(keys, sizes)
        list_start, places = place_pairs(order[: waiting[0]], begin, pair_start, pairs, len(keys))
        self._index = PSTHashIndex(
            build_for(snapshot.predicates, snapshot.domains, conjunctions.predicate),
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
        return ConjunctionReader(self, match_combinations, (*self._index.stabbing, *self._index[1:]), sizes)

    def verify(self) -> None:
        predicates, conjunctions = self.store.snapshot().predicates, self.conjunctions(self._built)
        rank = ranking(self.store, conjunctions.predicate)

        def best(mine: list[int]) -> list[int]:
            chosen: dict[int, int] = {}
            for p in sorted(mine, key=lambda p: rank[p]):
                chosen.setdefault(int(predicates.domain[p]), p)
            return list(chosen.values())[: self.option["access"]]

        each = np.split(conjunctions.predicate, conjunctions.start[1:-1])
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
                return [], int(predicates.domain[best(mine)[0]])
            runs = sorted(covered(known, predicates, p) for p in access)
            return access, tuple(sorted(product(*runs)))

        keys = [tuple(space for space in key if space >= 0) for key in self._index.keys.tolist()]
        self._verify_conjunctions(conjunctions, keys, place)
        sizes = np.zeros(known.total, dtype=np.uint8)
        for k, key in enumerate(keys):
            sizes[list(key)] |= 1 << len(key) - 1
            at = slot_of_key(self._index.table, self._index.keys, self._index.keys[k])
            assert self._index.table[at] == k + 1, "a key is not found"
        assert np.array_equal(sizes, self._index.sizes), "a space is in keys that it does not know of"


def _most(first: np.ndarray) -> np.ndarray:
    """How many lists a conjunction may be in whose first access predicate covers so many spaces."""
    return np.where(first > MAX_LISTS, 0, np.maximum(first, COMBINED))
