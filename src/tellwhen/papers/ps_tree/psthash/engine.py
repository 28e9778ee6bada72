"""`psthash`: a hash table by the spaces of several predicates together (PSTHash; PS-Tree, section 6).

The *access predicates* of a conjunction are its most selective ones on different domains, at most `access` of them. The
PS-Trees have only access predicates. A *key* is the numbers of some spaces, ascending. A conjunction is in the posting
list of every key that combines one space of each of its access predicates. An event locates its spaces, looks up all
their combinations, and tests the conjunctions in the lists found exactly.

Deviations, besides those in `ps_tree/engine.py`:

- Shorter keys are in the same table. The paper takes PSTBloom for short conjunctions.
- If the access predicates of a conjunction have more combinations than the option `keys` allows, the least selective
  ones are left out until the limit is kept. With keys=16777216 there is in effect no limit, as in the paper.
- Spaces between adjacent integers are in no key (`number_key_spaces`). An event with a value there looks up both
  neighbours instead, and tests the access predicates as well.
- When an event has more combinations than there are keys, all keys are tested instead.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import rank_predicates
from tellwhen.papers.ps_tree.arrays import Assignment, ListRanges
from tellwhen.papers.ps_tree.engine import PSTreeEngine
from tellwhen.papers.ps_tree.psthash.arrays import KeyLimits, PSTHashIndex, PSTHashScratch
from tellwhen.papers.ps_tree.psthash.kernels.keys import choose_access, find_key_sizes
from tellwhen.papers.ps_tree.psthash.kernels.match import match_by_keys
from tellwhen.papers.ps_tree.psthash.keys import number_key_spaces, number_keys
from tellwhen.papers.ps_tree.psthash.verify import check_index


class PSTHash(PSTreeEngine):
    """Engine that tests a conjunction only if several of its predicates are true."""

    name = "psthash"
    summary = "a hash table of combinations of predicate spaces of several access predicates (PSTHash)"
    options: ClassVar = {
        "access": Option(2, 1, 4, "access predicates of a conjunction"),
        "keys": Option(64, 1, 1 << 24, "keys of a conjunction with several access predicates, at most"),
    }
    index_kind = PSTHashIndex

    @property
    def _limits(self) -> KeyLimits:
        return KeyLimits(self.option["access"], self.lists_max, self.option["keys"])

    def _build(self) -> None:
        predicates, conjunctions = self.source.snapshot().predicates, self.conjunctions()
        self._rank = rank_predicates(self.source, conjunctions.predicate)
        chosen = np.full((len(conjunctions.slot), self.option["access"]), -1, dtype=np.int64)
        choose_access(conjunctions, self._rank, predicates.domain, chosen)
        access = np.append(conjunctions.predicate, -1)[chosen]
        spaces = self._update_trees(access[access >= 0])
        key_space, key_spaces = number_key_spaces(spaces, predicates, self._times)
        numbered = number_keys(access, predicates, key_spaces, self._limits)
        is_known = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        is_known[chosen[numbered.is_used]] = 1

        start, pairs, keys = numbered.pair_start, numbered.pairs, numbered.keys
        assignment = Assignment(access[:, 0], is_known, ListRanges(start[:-1], start[1:], pairs, pairs), len(keys))
        common, _ = self._build_common(conjunctions, spaces, assignment, known_words=access.shape[1])
        sizes = find_key_sizes(keys, int(np.count_nonzero(key_space >= 0)))
        self._index = PSTHashIndex(common, key_space, sizes, numbered.table, keys)

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, keys, spaces = self.source.snapshot(), self._index.keys, len(self._index.key_sizes)
        sizes = make_sizes(
            PSTHashScratch,
            common=self._measure_common(snapshot),
            spaces=spaces + 1,
            usable=spaces + 1,
            is_present=spaces,
            key=keys.shape[1],
            chosen=keys.shape[1],
            hits=len(keys) + 1,
            gaps=1,
            effort=2,
        )
        return ConjunctionReader(match_by_keys, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions(self._built)
        check_index(self._index, self._state, snapshot.predicates, conjunctions, self._limits)
