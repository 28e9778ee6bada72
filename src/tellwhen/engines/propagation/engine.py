"""`propagation`: subscriptions in clusters, each behind one of their predicates (BE-Tree section 7.2, PS-Tree 2).

The access predicate of a conjunction is the most selective one that is a set of single values, as the papers have it: = and,
here, IN. Conjunctions without any are in one cluster that every event looks at, the "post-processing" of BE-Tree 7.2.

Deviations: true predicates are found by stabbing all of them at once, not by hash tables per operator, so ranges and
prefixes need no treatment of their own; and an access predicate that is IN has its conjunctions once, not once for each value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader, prefixed, unprefixed
from tellwhen.engines.propagation.arrays import PropagationIndex
from tellwhen.engines.propagation.kernels import propagate
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import least, points, ranking
from tellwhen.engines.shared.stabbing import build_for
from tellwhen.kernels.arrays import Stabbing


class Propagation(ConjunctionEngine):
    """Looks at a conjunction only when its access predicate is true."""

    name = "propagation"
    summary = "clusters behind access predicates, and a bit vector of true predicates (Propagation)"
    longest = 1 << 16

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        slot, start, predicate = self.conjunctions()
        general = len(snapshot.predicates.domain)
        access = np.full(len(slot), general, dtype=np.int64)
        eligible = points(snapshot.predicates) > 0
        rank = np.where(eligible, ranking(self.store, predicate), general)
        place = least(rank[predicate].astype(np.int64), start)
        some = place >= 0
        chosen = predicate[place[some]]
        access[some] = np.where(eligible[chosen], chosen, general)
        order = np.argsort(access, kind="stable")
        # The access predicate is true when a conjunction is looked at: it need not be tested again.
        first, which = gather(start, order)
        owner = np.repeat(np.arange(len(order)), np.diff(first))
        kept = predicate[which] != access[order][owner]
        conjunction_start = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(order)))])
        self._index = PropagationIndex(
            build_for(snapshot.predicates, snapshot.domains, predicate),
            cluster=np.searchsorted(access[order], np.arange(general + 2)),
            conjunction_start=conjunction_start,
            conjunction_code=predicate[which][kept],
            conjunction_slot=slot[order],
        )

    def reader(self) -> Reader:
        predicates = len(self._index.cluster) - 2
        sizes = ("truth", predicates // 64 + 1, np.uint64), ("satisfied", predicates + 1, np.int32)
        return ConjunctionReader(self, propagate, (*self._index.stabbing, *self._index[1:]), sizes)

    def _index_arrays(self) -> dict[str, np.ndarray]:
        stabbing, *_ = self._index
        named = {name: array for name, array in self._index._asdict().items() if name != "stabbing"}
        return named | prefixed("stabbing", stabbing)

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        stabbing = unprefixed("stabbing", Stabbing, arrays)
        self._index = PropagationIndex(stabbing, *(arrays[name] for name in PropagationIndex._fields[1:]))
