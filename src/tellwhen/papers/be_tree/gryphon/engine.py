"""`gryphon`: a tree that tests one attribute after the other (Gryphon; BE-Tree, section 7.2).

There is one order of attributes: those that most subscriptions test come first. Where a subscription does not test an
attribute, the trees of the papers have a don't-care branch. Chains of these branches are left out here, as Gryphon
itself proposes. Branches on single values (= and IN) are found by search, as in the tree that is specialised for
equality. All other branches are tested one by one, as in the generic tree. A node may have both.

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
from tellwhen.papers.be_tree.gryphon.arrays import Branches, GryphonIndex, GryphonScratch, PathTree
from tellwhen.papers.be_tree.gryphon.kernels import grow_tree, walk_tree


class Gryphon(ConjunctionEngine):
    """Engine that follows all branches which an event satisfies."""

    name = "gryphon"
    summary = "a tree of tests, attribute by attribute, with don't-care branches (Gryphon)"
    predicates_max = 1 << 12
    index_kind = GryphonIndex

    def _build(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions()
        slot, start, predicate = conjunctions.slot, conjunctions.start, conjunctions.predicate
        domain = snapshot.predicates.domain[predicate]
        position = np.empty(snapshot.domains, dtype=np.int64)  # of the domain, in the order of tests
        tests = np.bincount(domain, minlength=snapshot.domains)
        position[np.argsort(-tests, kind="stable")] = np.arange(snapshot.domains)
        owner = np.repeat(np.arange(len(slot)), np.diff(start))
        path = predicate[np.lexsort((predicate, position[domain], owner))]
        room = len(predicate) + 1
        tree = PathTree(np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(len(slot), np.int32))
        nodes = grow_tree(start, path, tree) if len(slot) else 1  # without conjunctions, no kernel is compiled
        branches = self._group_branches(tree.parent[1:nodes], tree.predicate[1:nodes])
        by_end = np.argsort(tree.end, kind="stable")
        slot_start = np.searchsorted(tree.end[by_end], np.arange(nodes + 1))
        self._index = GryphonIndex(*branches, slot_start=slot_start, slot=slot[by_end])

    def _group_branches(self, parent: I32, predicate: I32) -> Branches:
        """Group the branches of each node by domain. Branch k leads from parent[k] to node k + 1 by predicate[k]."""
        predicates = self.source.snapshot().predicates
        nodes = len(parent) + 1
        domain, child = predicates.domain[predicate], np.arange(1, nodes, dtype=np.int32)
        is_point = count_points(predicates)[predicate] > 0
        first, which = gather(predicates.start, predicate[is_point])
        point, branch = predicates.low[which], np.repeat(np.flatnonzero(is_point), np.diff(first))
        order = np.lexsort((point, domain[branch], parent[branch]))
        point, branch = point[order], branch[order]
        other = np.flatnonzero(~is_point)
        other = other[np.lexsort((domain[other], parent[other]))]
        keys = parent.astype(np.int64) << 32 | domain
        groups = np.unique(keys)
        return Branches(
            group_start=np.searchsorted(groups >> 32, np.arange(nodes + 1)),
            group_domain=(groups & 0xFFFFFFFF).astype(np.int32),
            point_start=_find_starts(groups, keys[branch]),
            point=point,
            point_child=child[branch],
            other_start=_find_starts(groups, keys[other]),
            other=predicate[other],
            other_child=child[other],
        )

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
        return ConjunctionReader(walk_tree, self._index, sizes, snapshot, refiner)


def _find_starts(groups: I64, keys: I64) -> I64:
    """Return where the members of each group begin among sorted keys, and where the last group ends."""
    return np.append(np.searchsorted(keys, groups), len(keys))
