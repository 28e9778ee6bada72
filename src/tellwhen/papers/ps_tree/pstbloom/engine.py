"""`pstbloom`: posting lists by the predicate spaces of one predicate, signatures for the others (PS-Tree, section 5).

The access predicate of a conjunction is its most selective one (section 3.3). The conjunction is in the lists of all
spaces that this predicate covers. For every other predicate, the conjunction is in the Bloom signatures of the spaces
that it covers. An event locates its spaces and visits their lists. It skips a conjunction on a domain that it does not
carry, or that is not in the signature of its space there, and tests the others exactly.

Deviations, besides those in `pstree/engine.py`: the length of a signature grows with the conjunctions in it. A
predicate that covers more than MAX_SIGNED_SPACES spaces is in no signature, since that would prune little and cost
much. A conjunction whose access predicate covers more than MAX_LISTS spaces is in no list: it waits for the domain of
that predicate, and is tested whenever an event carries the domain.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Refiner
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import least, ranking
from tellwhen.engines.shared.spaces import coverage, widths
from tellwhen.papers.ps_tree.arrays import MAX_LISTS
from tellwhen.papers.ps_tree.engine import NO_LIST, Access, PSTreeEngine
from tellwhen.papers.ps_tree.kernels.tree import list_by_space
from tellwhen.papers.ps_tree.pstbloom.arrays import MAX_SIGNED_SPACES, PSTBloomIndex, PSTBloomScratch
from tellwhen.papers.ps_tree.pstbloom.kernels import match_spaces, sign
from tellwhen.papers.ps_tree.pstbloom.verify import verify


class PSTBloom(PSTreeEngine):
    """Tests a conjunction only if its access predicate is true and the signatures admit its other predicates."""

    name = "pstbloom"
    summary = "lists by predicate space of an access predicate, signatures for the other predicates (PSTBloom)"
    options: ClassVar = {
        "bits": Option(8, 0, 64, "bits of a signature for each conjunction in it; 0 for no signatures")
    }
    index_kind = PSTBloomIndex

    def _build(self) -> None:
        predicates, conjunctions = self.source.snapshot().predicates, self.conjunctions()
        rank = self._rank = ranking(self.source, conjunctions.predicate)
        chosen = least(rank[conjunctions.predicate].astype(np.int64), conjunctions.start)
        access = np.append(conjunctions.predicate, -1)[chosen]
        spaces = self._update_trees(conjunctions.predicate)
        width = widths(spaces, predicates)
        is_listed = np.append(width, MAX_LISTS + 1)[access] <= MAX_LISTS
        first_list = np.full(len(access), NO_LIST)
        first_list[is_listed] = spaces.first[predicates.start[access[is_listed]]]
        is_known = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        is_known[chosen[is_listed]] = 1

        is_signed = (width <= MAX_SIGNED_SPACES) & (self.option["bits"] > 0)
        record_domain = np.where(is_signed, predicates.domain, -1 - predicates.domain).astype(np.int32)
        layout = self._lay_out(conjunctions, Access(first_list, access, is_known, spaces.total), rank, record_domain)
        listed = access[layout.order[: layout.listed]]
        lists = list_by_space(listed, layout.begin, predicates.start, spaces)
        tested = self._times - np.bincount(listed, minlength=len(self._times))
        signed = coverage(spaces, predicates, np.where(is_signed, tested, 0))
        signature_start = np.concatenate([[0], np.cumsum((signed * self.option["bits"] + 63) >> 6)])
        self._index = PSTBloomIndex(
            self._common(conjunctions, spaces, layout, lists, predicate_words=2),
            signature_start,
            sign(layout.begin, layout.records, predicates.start, spaces, signature_start),
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot = self.source.snapshot()
        kind: Any = PSTBloomScratch
        sizes = kind(common=self._common_sizes(snapshot), space=len(self._index.common.cut_start), effort=2)
        return ConjunctionReader(match_spaces, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions(self._built)
        verify(self._index, self._state, snapshot.predicates, conjunctions, self.option["bits"])
