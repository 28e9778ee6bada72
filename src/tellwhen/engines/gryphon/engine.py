"""`gryphon`: a tree that tests one attribute after the other (Gryphon; BE-Tree section 7.2).

Attributes are tested in one order, those that most subscriptions ask for first. Where a subscription does not care for
an attribute the papers' trees have a don't-care branch; chains of these are left out here, as Gryphon itself proposes.
Branches on single values (= and IN) are found by search, which is the tree specialised for equality; all others are
tried one by one, which is the generic tree. A node has whichever its subscriptions need.

Deviation: in the order of attributes, domains take their place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.gryphon.arrays import GryphonIndex
from tellwhen.engines.gryphon.kernels import grow, walk
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import points
from tellwhen.kernels.arrays import I64


class Gryphon(ConjunctionEngine):
    """Follows all branches that an event satisfies."""

    name = "gryphon"
    summary = "a tree of tests, attribute by attribute, with don't-care branches (Gryphon)"
    longest = 1 << 12

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        conjunctions = self.conjunctions()
        asked = np.bincount(snapshot.predicates.domain[conjunctions.predicate], minlength=snapshot.domains)
        place = np.empty(snapshot.domains, dtype=np.int64)
        place[np.argsort(-asked, kind="stable")] = np.arange(snapshot.domains)
        owner = np.repeat(np.arange(len(conjunctions.slot)), np.diff(conjunctions.start))
        order = np.lexsort((conjunctions.predicate, place[snapshot.predicates.domain[conjunctions.predicate]], owner))
        room = len(conjunctions.predicate) + 1
        parent, label, end = (
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
            np.zeros(len(conjunctions.slot), np.int32),
        )
        nodes = grow(conjunctions.start, conjunctions.predicate[order], parent, label, end)
        by_end = np.argsort(end, kind="stable")
        branches = self._branches(parent[1:nodes], label[1:nodes], points(snapshot.predicates), nodes)
        slot_start = np.searchsorted(end[by_end], np.arange(nodes + 1))
        self._index = GryphonIndex(*(*branches, slot_start, conjunctions.slot[by_end]))

    def _branches(self, parent: np.ndarray, label: np.ndarray, single: I64, nodes: int) -> tuple[np.ndarray, ...]:
        """The branches of every node, in groups of one domain; those on points sorted, the others apart."""
        snapshot = self.store.snapshot()
        domain_of, _, start, low, _ = snapshot.predicates
        child = np.arange(1, nodes)
        is_point = single[label] > 0
        first, which = gather(start, label[is_point])
        many = np.diff(first)
        point, of = low[which], np.repeat(np.flatnonzero(is_point), many)
        order = np.lexsort((point, domain_of[label[of]], parent[of]))
        point, of = point[order], of[order]
        other = np.flatnonzero(~is_point)
        other = other[np.lexsort((domain_of[label[other]], parent[other]))]
        keys = parent.astype(np.int64) << 32 | domain_of[label]
        groups = np.unique(keys)
        return (
            np.searchsorted(groups >> 32, np.arange(nodes + 1)),
            (groups & 0xFFFFFFFF).astype(np.int32),
            _bounds(groups, keys[of]), point, child[of].astype(np.int32),
            _bounds(groups, keys[other]), label[other], child[other].astype(np.int32),
        )  # fmt: skip

    def reader(self) -> Reader:
        snapshot = self.store.snapshot()
        nodes = len(self._index.group_start) - 1
        sizes = ("first", snapshot.domains, np.int32), ("stack", nodes + 1, np.int32), ("seen", nodes, np.int64)
        return ConjunctionReader(self, walk, tuple(self._index), sizes, tail=tuple(snapshot.predicates))

    def _index_arrays(self) -> dict[str, np.ndarray]:
        return self._index._asdict()

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = GryphonIndex(*(arrays[name] for name in GryphonIndex._fields))


def _bounds(groups: I64, keys: I64) -> I64:
    """Where the members of each group begin among sorted keys, and where the last ones end."""
    return np.append(np.searchsorted(keys, groups), len(keys))
