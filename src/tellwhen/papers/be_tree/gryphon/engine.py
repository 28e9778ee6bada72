"""`gryphon`: a tree that tests one attribute after the other (Gryphon; BE-Tree, section 7.2).

Attributes are tested in one order, those that most subscriptions ask for first. Where one does not ask for an
attribute, the papers' trees have a don't-care branch; chains of these are left out here, as Gryphon itself proposes.
Branches on single values (= and IN) are found by search, which is the tree specialised for equality. All others are
tested one by one, which is the generic tree. A node has whichever its subscriptions need.

Deviation: domains are ordered instead of attributes.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points
from tellwhen.kernels.arrays import I32, I64
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex, GryphonScratch
from tellwhen.papers.be_tree.gryphon.kernels import grow, walk


class Gryphon(ConjunctionEngine):
    """Follows all branches that an event satisfies."""

    name = "gryphon"
    summary = "a tree of tests, attribute by attribute, with don't-care branches (Gryphon)"
    predicates_max = 1 << 12
    index_kind = GryphonIndex

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        slot, start, predicate = self.conjunctions()
        domain = snapshot.predicates.domain[predicate]
        order_of = np.empty(snapshot.domains, dtype=np.int64)
        asked = np.bincount(domain, minlength=snapshot.domains)
        order_of[np.argsort(-asked, kind="stable")] = np.arange(snapshot.domains)
        owner = np.repeat(np.arange(len(slot)), np.diff(start))
        sorted_code = predicate[np.lexsort((predicate, order_of[domain], owner))]
        room = len(predicate) + 1
        parent, label, end = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(len(slot), np.int32)
        nodes = grow(start, sorted_code, parent, label, end) if len(slot) else 1
        by_end = np.argsort(end, kind="stable")
        branches = self._branches(parent[1:nodes], label[1:nodes])
        slot_start = np.searchsorted(end[by_end], np.arange(nodes + 1))
        self._index = GryphonIndex(*(*branches, slot_start, slot[by_end]))

    def _branches(self, parent: I32, label: I32) -> tuple[np.ndarray, ...]:
        """The branches of every node in groups by domain: those on single values sorted, and the others."""
        predicates = self.source.snapshot().predicates
        nodes = len(parent) + 1
        domain_of, child = predicates.domain, np.arange(1, nodes, dtype=np.int32)
        is_point = count_points(predicates)[label] > 0
        first, which = gather(predicates.start, label[is_point])
        point, branch = predicates.low[which], np.repeat(np.flatnonzero(is_point), np.diff(first))
        order = np.lexsort((point, domain_of[label[branch]], parent[branch]))
        point, branch = point[order], branch[order]
        other = np.flatnonzero(~is_point)
        other = other[np.lexsort((domain_of[label[other]], parent[other]))]
        keys = parent.astype(np.int64) << 32 | domain_of[label]
        groups = np.unique(keys)
        return (
            np.searchsorted(groups >> 32, np.arange(nodes + 1)),
            (groups & 0xFFFFFFFF).astype(np.int32),
            _bounds(groups, keys[branch]), point, child[branch],
            _bounds(groups, keys[other]), label[other], child[other],
        )  # fmt: skip

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, nodes = self.source.snapshot(), len(self._index.group_start) - 1
        sizes = make_sizes(
            GryphonScratch,
            first_entry=snapshot.domains,
            stack=nodes + 1,
            seen=nodes + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        return ConjunctionReader(walk, self._index, sizes, snapshot, refiner)


def _bounds(groups: I64, keys: I64) -> I64:
    """Where the members of each group begin among sorted keys, and where the last ones end."""
    return np.append(np.searchsorted(keys, groups), len(keys))
