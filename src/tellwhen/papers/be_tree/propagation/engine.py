"""`propagation`: conjunctions in clusters behind access predicates (BE-Tree, section 7.2; PS-Tree, section 2).

The *access predicate* of a conjunction is its most selective predicate that is a set of single values: = as in the
papers, and IN. Conjunctions without such a predicate are in one cluster that every event tests, which the BE-Tree paper
calls post-processing.

Deviations:

- True predicates are found by stabbing all of them at once, not by a hash table for each operator. Ranges and prefixes
  need no special treatment.
- An access predicate IN has its conjunctions once, not once for each value.
- The bits that an event has set are cleared one by one, not the whole vector.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points, find_least, rank_predicates
from tellwhen.engines.shared.stabbing import RUNS_SIZE, build_predicate_stabbing
from tellwhen.kernels.arrays import I64
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex, PropagationScratch
from tellwhen.papers.be_tree.propagation.kernels import match_clusters
from tellwhen.papers.be_tree.propagation.verify import check_index


class Propagation(ConjunctionEngine):
    """Engine that tests a conjunction only when its access predicate is true."""

    name = "propagation"
    summary = "clusters behind access predicates, and a bit set of true predicates (Propagation)"
    predicates_max = 1 << 16
    index_kind = PropagationIndex

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        conjunctions = self.conjunctions()
        slot, predicate = conjunctions.slot, conjunctions.predicate
        none = len(snapshot.predicates.domain)
        access = self._choose_access(conjunctions, none)
        order = np.argsort(access, kind="stable")
        # The access predicate is true when its cluster is tested, so it is not tested again.
        first, which = gather(conjunctions.start, order)
        owner = np.repeat(np.arange(len(order)), np.diff(first))
        is_tested = predicate[which] != access[order][owner]
        self._index = PropagationIndex(
            build_predicate_stabbing(snapshot.predicates, snapshot.domains, predicate),
            cluster=np.searchsorted(access[order], np.arange(none + 2)),
            code_start=np.concatenate([[0], np.cumsum(np.bincount(owner[is_tested], minlength=len(order)))]),
            code=predicate[which][is_tested],
            slot=slot[order],
        )

    def _choose_access(self, conjunctions: Conjunctions, none: int) -> I64:
        """Return the access predicate of each conjunction, or `none`."""
        predicate = conjunctions.predicate
        is_eligible = count_points(self.source.snapshot().predicates) > 0
        rank = np.where(is_eligible, rank_predicates(self.source, predicate), none)
        position = find_least(rank[predicate].astype(np.int64), conjunctions.start)
        access = np.full(len(conjunctions.slot), none, dtype=np.int64)
        has_predicates = position >= 0
        chosen = predicate[position[has_predicates]]
        access[has_predicates] = np.where(is_eligible[chosen], chosen, none)
        return access

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
        return ConjunctionReader(match_clusters, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        check_index(self._index, self.source.snapshot().predicates, self.conjunctions(self._built))
