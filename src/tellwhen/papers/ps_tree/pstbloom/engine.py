"""`pstbloom`: posting lists by the spaces of one predicate, signatures for the others (PSTBloom; PS-Tree, section 5).

The *access predicate* of a conjunction is its most selective one (section 3.3). The conjunction is in the posting lists
of all spaces that its access predicate covers. For every other predicate, the conjunction is in the Bloom signatures of
the spaces that the predicate covers. An event locates its spaces and visits their lists. It skips a conjunction that
has a predicate on a domain which the event does not carry, or that is not in the signature of the event's space there.
All other conjunctions are tested exactly.

Deviations, besides those in `ps_tree/engine.py`:

- The length of a signature grows with the conjunctions in it.
- A predicate that covers more than `signed_spaces_max` spaces is in no signature: it would rule out little and cost
  much.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import find_least, rank_predicates
from tellwhen.engines.shared.spaces import Spaces, count_coverage, count_spaces
from tellwhen.kernels.arrays import I32, I64
from tellwhen.papers.ps_tree.arrays import Assignment, CommonIndex, ListRanges
from tellwhen.papers.ps_tree.engine import PSTreeEngine
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS
from tellwhen.papers.ps_tree.pstbloom.arrays import LIST_PART, PSTBloomIndex, PSTBloomScratch, SignatureLimits
from tellwhen.papers.ps_tree.pstbloom.kernels import fill_signatures, match_by_spaces
from tellwhen.papers.ps_tree.pstbloom.verify import check_index


class PSTBloom(PSTreeEngine):
    """Engine that tests a conjunction only if its access predicate is true and signatures admit the others."""

    name = "pstbloom"
    summary = "lists by predicate space of an access predicate, signatures for the other predicates (PSTBloom)"
    options: ClassVar = {
        "bits": Option(8, 0, 64, "bits of a signature for each conjunction in it; 0 for no signatures")
    }
    index_kind = PSTBloomIndex
    signed_spaces_max: ClassVar[int] = 32
    """Spaces that a predicate in signatures may cover."""

    @property
    def _limits(self) -> SignatureLimits:
        return SignatureLimits(self.option["bits"], self.lists_max, self.signed_spaces_max)

    def _build(self) -> None:
        predicates, conjunctions = self.source.snapshot().predicates, self.conjunctions()
        self._rank = rank_predicates(self.source, conjunctions.predicate)
        spaces = self._update_trees(conjunctions.predicate)
        assignment = self._assign_lists(conjunctions, spaces)
        is_signed = (count_spaces(spaces, predicates) <= self.signed_spaces_max) & (self.option["bits"] > 0)
        record_domain = np.where(is_signed, predicates.domain, -1 - predicates.domain).astype(np.int32)
        common, records = self._build_common(conjunctions, spaces, assignment, record_domain)

        tested = conjunctions.predicate[assignment.is_known == 0]
        times = np.bincount(tested, minlength=len(self._times))
        signed = count_coverage(spaces, predicates, np.where(is_signed, times, 0))
        signature_start = np.concatenate([[0], np.cumsum((signed * self.option["bits"] + 63) >> 6)])
        signatures = fill_signatures(records, predicates.start, spaces, signature_start)
        self._index = PSTBloomIndex(common, find_first_domains(common), signature_start, signatures)

    def _assign_lists(self, conjunctions: Conjunctions, spaces: Spaces) -> Assignment:
        """Choose the access predicate of each conjunction, and the lists of the spaces that it covers."""
        predicates = self.source.snapshot().predicates
        chosen: I64 = find_least(self._rank[conjunctions.predicate].astype(np.int64), conjunctions.start)
        access = np.append(conjunctions.predicate, -1)[chosen].astype(np.int64)
        is_listed = np.append(count_spaces(spaces, predicates), self.lists_max + 1)[access] <= self.lists_max
        begin, end = np.where(is_listed, [predicates.start[access], predicates.start[access + 1]], 0)
        is_known = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        is_known[chosen[is_listed]] = 1
        return Assignment(access, is_known, ListRanges(begin, end, spaces.first, spaces.last), spaces.total)

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot = self.source.snapshot()
        sizes = make_sizes(
            PSTBloomScratch,
            common=self._measure_common(snapshot),
            space=len(self._index.common.cut_start),
            passed=LIST_PART,
            effort=2,
        )
        return ConjunctionReader(match_by_spaces, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions(self._built)
        check_index(self._index, self._state, snapshot.predicates, conjunctions, self._limits)


def find_first_domains(common: CommonIndex) -> I32:
    """Return by posting the word with the first domain of its record, or -1 - domains if it has no predicate."""
    at, words = common.postings, common.records
    size = words[at + 1]
    return np.where(size > 0, np.append(words, 0)[at + HEAD_WORDS + size], -len(common.cut_start)).astype(np.int32)
