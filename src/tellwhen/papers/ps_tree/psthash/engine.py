"""`psthash`: a hash table by the predicate spaces of several predicates together (PS-Tree, section 6).

The access predicates of a conjunction are its most selective ones on different domains, at most `access` of them. Only
these are in the PS-Trees. A conjunction is in the posting list of every combination of one space of each. The key of a
list is the numbers of the spaces in its combination, ascending. An event locates its spaces, looks up all their
combinations, and tests the conjunctions that it finds there exactly.

Deviations, besides those in `pstree/engine.py`: shorter keys are in the same table (the paper takes PSTBloom for short
conjunctions). If the access predicates of a conjunction have more than MAX_COMBINATIONS combinations, the least
selective ones are left out until the limit is kept. If the first alone covers more than MAX_LISTS spaces, the
conjunction is in no list: it waits for the domain of that predicate. When an event has more combinations than there are
keys, all keys are tested instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Refiner
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import ranking
from tellwhen.papers.ps_tree.engine import NO_LIST, Access, PSTreeEngine
from tellwhen.papers.ps_tree.psthash.arrays import PSTHashIndex, PSTHashScratch
from tellwhen.papers.ps_tree.psthash.kernels.keys import choose_access, list_by_key, sizes_by_space
from tellwhen.papers.ps_tree.psthash.kernels.match import match_combinations
from tellwhen.papers.ps_tree.psthash.keys import number_keys
from tellwhen.papers.ps_tree.psthash.verify import verify

NO_DOMAINS = np.zeros(0, dtype=np.int32)


class PSTHash(PSTreeEngine):
    """Tests a conjunction only if several of its predicates are true."""

    name = "psthash"
    summary = "a hash table of combinations of predicate spaces of several access predicates (PSTHash)"
    options: ClassVar = {"access": Option(2, 1, 4, "access predicates of a conjunction")}
    index_kind = PSTHashIndex

    def _build(self) -> None:
        predicates, conjunctions = self.source.snapshot().predicates, self.conjunctions()
        rank = self._rank = ranking(self.source, conjunctions.predicate)
        chosen = np.full((len(conjunctions.slot), self.option["access"]), -1, dtype=np.int64)
        choose_access(conjunctions, rank, predicates.domain, chosen)
        access = np.append(conjunctions.predicate, -1)[chosen]
        spaces = self._update_trees(access[access >= 0])
        is_used, pair_start, pairs, keys, table = number_keys(access, predicates, spaces)
        is_listed = is_used[:, 0]
        first_list = np.full(len(access), NO_LIST)
        first_list[is_listed] = pairs[pair_start[:-1][is_listed]]
        is_known = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        is_known[chosen[is_used]] = 1

        layout = self._lay_out(conjunctions, Access(first_list, access[:, 0], is_known, len(keys)), rank, NO_DOMAINS)
        lists = list_by_key(layout.order[: layout.listed], layout.begin, pair_start, pairs, len(keys))
        self._index = PSTHashIndex(
            self._common(conjunctions, spaces, layout, lists, predicate_words=1),
            sizes_by_space(keys, spaces.total),
            table,
            keys,
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, (_, key_sizes, _, keys) = self.source.snapshot(), self._index
        kind: Any = PSTHashScratch
        sizes = kind(
            common=self._common_sizes(snapshot),
            spaces=len(key_sizes) + 1,
            usable=len(key_sizes) + 1,
            is_present=len(key_sizes),
            key=keys.shape[1],
            chosen=keys.shape[1],
            hits=len(keys) + 1,
            effort=2,
        )
        return ConjunctionReader(match_combinations, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions(self._built)
        verify(self._index, self._state, snapshot.predicates, conjunctions, self.option["access"])
