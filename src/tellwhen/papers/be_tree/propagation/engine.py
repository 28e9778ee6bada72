"""`propagation`: conjunctions in clusters, each behind one of its predicates (BE-Tree, section 7.2; PS-Tree 2).

The access predicate of a conjunction is its most selective one that is a set of single values, as in the papers: =, and
here IN too. Conjunctions without any are in one cluster that every event tests, BE-Tree's "post-processing".

Deviations: true predicates are found by stabbing all of them at once, not by hash tables per operator, so ranges and
prefixes need no special treatment. An access predicate that is IN holds its conjunctions once, not once per value.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points, find_least, rank_predicates
from tellwhen.engines.shared.stabbing import RUNS_SIZE, build_predicate_stabbing
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex, PropagationScratch
from tellwhen.papers.be_tree.propagation.kernels import propagate


class Propagation(ConjunctionEngine):
    """Tests a conjunction only when its access predicate is true."""

    name = "propagation"
    summary = "clusters behind access predicates, and a bit set of true predicates (Propagation)"
    predicates_max = 1 << 16
    index_kind = PropagationIndex

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        slot, start, predicate = self.conjunctions()
        nowhere = len(snapshot.predicates.domain)
        access = np.full(len(slot), nowhere, dtype=np.int64)
        eligible = count_points(snapshot.predicates) > 0
        rank = np.where(eligible, rank_predicates(self.source, predicate), nowhere)
        position = find_least(rank[predicate].astype(np.int64), start)
        some = position >= 0
        chosen = predicate[position[some]]
        access[some] = np.where(eligible[chosen], chosen, nowhere)
        order = np.argsort(access, kind="stable")
        # The access predicate is true when its cluster is tested: it need not be tested again.
        first, which = gather(start, order)
        owner = np.repeat(np.arange(len(order)), np.diff(first))
        kept = predicate[which] != access[order][owner]
        self._index = PropagationIndex(
            build_predicate_stabbing(snapshot.predicates, snapshot.domains, predicate),
            cluster=np.searchsorted(access[order], np.arange(nowhere + 2)),
            code_start=np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(order)))]),
            code=predicate[which][kept],
            slot=slot[order],
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, predicates = self.source.snapshot(), len(self._index.cluster) - 2
        sizes = make_sizes(
            PropagationScratch,
            runs=RUNS_SIZE,
            truth=predicates // 64 + 1,
            satisfied=predicates + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        return ConjunctionReader(propagate, self._index, sizes, snapshot, refiner)
