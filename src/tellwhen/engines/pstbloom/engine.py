"""`pstbloom`: conjunctions in the lists of the predicate spaces of one predicate, signatures for the others (PS-Tree 5).

The access predicate of a conjunction is its most selective one (section 3.3). A conjunction stands in the lists of all spaces that it
covers. For every other predicate the conjunction's number is in the Bloom signatures of the spaces that predicate covers. An
event locates its spaces, takes the conjunctions in their lists, drops one whose other domains it does not carry or whose number
is not in the signatures of its spaces there, and looks at the rest exactly.

Deviations, besides those of `pstrows`: a signature has as many bits as it needs for its conjunctions. A predicate that covers
more than WIDE spaces is in no signature, since it would prune little and cost much. A conjunction whose access predicate covers
more than MAX_LISTS spaces is in no list either: it waits for its domain, looked at whenever an event carries that.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.pstbloom.arrays import PSTBloomIndex
from tellwhen.engines.pstbloom.kernels import bit_of, match_spaces, place_conjunctions, sign_conjunctions
from tellwhen.engines.pstree.engine import MAX_LISTS, Place, PSTreeEngine, coverage, covered, widths
from tellwhen.engines.pstree.records import lay_records
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.engines.shared.selectivity import least, ranking
from tellwhen.engines.shared.stabbing import build_for

WIDE = 32
"""Spaces that a predicate in signatures may cover."""


class PSTBloom(PSTreeEngine):
    """Looks at a conjunction only when its access predicate is true, and its number is in the signatures of the others."""

    name = "pstbloom"
    summary = "lists by predicate space of an access predicate, signatures for the other predicates (PSTBloom)"
    options: ClassVar = {
        "bits": Option(8, 0, 64, "bits of a signature for each conjunction in it; 0 for no signatures")
    }
    layout = PSTBloomIndex
    with_domains = True

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        domain, _, start, _, _ = snapshot.predicates
        conjunctions = self.conjunctions()
        rank = ranking(self.store, conjunctions.predicate)
        place = least(rank[conjunctions.predicate].astype(np.int64), conjunctions.start)
        known = self._grown(conjunctions.predicate)
        width = widths(known, snapshot.predicates)
        some = place >= 0
        access = np.append(conjunctions.predicate, -1)[place]
        # Conjunctions in lists by their first space, then by domain those that wait, then those without predicates.
        group = np.full(len(access), known.total + snapshot.domains)
        group[some] = known.first[start[access[some]]]
        waits = some.copy()
        waits[some] = width[access[some]] > MAX_LISTS
        group[waits] = known.total + domain[access[waits]]
        order = np.argsort(group, kind="stable")
        waiting = np.searchsorted(group[order], known.total + np.arange(snapshot.domains + 2))
        listed = order[: waiting[0]]
        self._waits[0] = np.count_nonzero(waits)
        holds = np.zeros(len(conjunctions.predicate), dtype=np.uint8)
        holds[place[listed]] = 1
        is_signed = (width <= WIDE) & (self.option["bits"] > 0)
        begin, records = lay_records(
            order, *conjunctions, holds, rank, np.where(is_signed, domain, -1 - domain).astype(np.int32)
        )
        tested = self._times - np.bincount(access[listed], minlength=len(domain))
        held = coverage(known, snapshot.predicates, np.where(is_signed, tested, 0))
        sign_start = np.concatenate([[0], np.cumsum((held * self.option["bits"] + 63) >> 6)])
        list_start, places = place_conjunctions(access[listed], begin, start, known.first, known.last, known.total)
        self._index = PSTBloomIndex(
            build_for(snapshot.predicates, snapshot.domains, conjunctions.predicate),
            known.cut_start,
            known.cuts,
            list_start,
            places,
            begin[waiting],
            records,
            sign_start,
            sign_conjunctions(begin, records, start, known.first, known.last, sign_start),
        )

    def reader(self) -> Reader:
        sizes = *self._scratch_sizes(), ("here", len(self._index.cut_start), np.int64)
        return ConjunctionReader(self, match_spaces, (*self._index.stabbing, *self._index[1:]), sizes)

    def verify(self) -> None:
        snapshot, conjunctions = self.store.snapshot(), self.conjunctions(self._built)
        known = self._verify_trees(conjunctions.predicate)
        rank, width = ranking(self.store, conjunctions.predicate), widths(known, snapshot.predicates)

        def place(mine: list[int]) -> Place:
            if not mine:
                return [], len(known.cut_start) - 1
            access = min(mine, key=lambda p: rank[p])
            if width[access] > MAX_LISTS:
                return [], int(snapshot.predicates.domain[access])
            return [access], tuple(covered(known, snapshot.predicates, access))

        self._verify_conjunctions(conjunctions, range(known.total), place)
        for at, record in self._records().items():
            for p, domain in zip(record.tested, record.domain, strict=True):
                is_signed = width[p] <= WIDE and self.option["bits"] > 0
                assert domain == (snapshot.predicates.domain[p] if is_signed else -1 - snapshot.predicates.domain[p]), (
                    "a wrong domain"
                )
                for space in covered(known, snapshot.predicates, p) if is_signed else ():
                    begin, end = self._index.sign_start[space : space + 2].tolist()
                    bit = int(bit_of(at, end - begin))
                    assert int(self._index.sign[begin + bit // 64]) >> bit % 64 & 1, (
                        "a conjunction is not in a signature"
                    )
