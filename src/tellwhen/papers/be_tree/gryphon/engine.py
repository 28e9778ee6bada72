"""`gryphon`: a tree that tests one attribute after the other (Gryphon; BE-Tree, section 7.2).

There is one order of attributes: those that most subscriptions test come first. Where a subscription does not test an
attribute, the trees of the papers have a don't-care branch. Chains of these branches are left out here, as Gryphon
itself proposes. Branches on single values (= and IN) are found by search, as in the tree that is specialised for
equality. All other branches are tested one by one, as in the generic tree. A node may have both.

Deviations:

- Domains are ordered instead of attributes.
- From the first branch on that no other conjunction shares, a conjunction has no nodes. Its remaining predicates are a
  list, which is tested where its path ends.
- Tests are copied to where they are used, and what is read together is one row. Otherwise nearly all of the time would
  be spent on cache misses.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points
from tellwhen.kernels.arrays import I32, I64, Predicates
from tellwhen.papers.be_tree.gryphon.arrays import Branches, GryphonIndex, GryphonScratch, PathTree
from tellwhen.papers.be_tree.gryphon.kernels import grow_tree, walk_tree
from tellwhen.papers.be_tree.gryphon.verify import check_index


class Gryphon(ConjunctionEngine):
    """Engine that follows all branches which an event satisfies."""

    name = "gryphon"
    summary = "a tree of tests, attribute by attribute (Gryphon)"
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
        room = len(path) + 1
        tree = PathTree(np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(len(path), np.int32))
        nodes = grow_tree(start, path, tree) if len(slot) else 1  # without conjunctions, no kernel is compiled
        is_kept = ~_find_tails(start, tree.node)
        kept = np.unique(np.append(tree.node[is_kept], 0))
        number = np.zeros(nodes, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        branches = self._group_branches(number[tree.parent[kept[1:]]], tree.predicate[kept[1:]])
        end = np.zeros(len(slot), dtype=np.int64)
        np.maximum.at(end, owner[is_kept], number[tree.node[is_kept]])  # a node is numbered before its children
        by_end = np.argsort(end, kind="stable")
        tails = np.concatenate([[0], np.cumsum(np.bincount(owner[~is_kept], minlength=len(slot)))])
        tail_start, which = gather(tails, by_end)
        tail = _select_predicates(snapshot.predicates, path[~is_kept][which])
        self._index = GryphonIndex(
            nodes=np.column_stack([branches.group_start, np.searchsorted(end[by_end], np.arange(len(kept) + 1))]),
            groups=branches.groups,
            points=branches.points,
            other=branches.other,
            other_child=branches.other_child,
            slots=np.column_stack([np.append(slot[by_end], 0), tail.start[tail_start]]),
            tails=np.column_stack([_mark_continuations(tail), tail.low, tail.high]),
        )

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
        starts = [_find_starts(groups, keys[branch]), _find_starts(groups, keys[other])]
        return Branches(
            group_start=np.searchsorted(groups >> 32, np.arange(nodes + 1)),
            groups=np.column_stack([np.append(groups & 0xFFFFFFFF, 0), *starts]),
            points=np.column_stack([point, child[branch]]),
            other=_select_predicates(predicates, predicate[other]),
            other_child=child[other],
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, nodes = self.source.snapshot(), len(self._index.nodes) - 1
        sizes = make_sizes(
            GryphonScratch,
            first_entry=snapshot.domains,
            stack=nodes + 1,
            seen=nodes + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        return ConjunctionReader(walk_tree, self._index, sizes, snapshot, refiner)

    def verify(self) -> None:
        snapshot = self.source.snapshot()
        check_index(self._index, snapshot.predicates, self.conjunctions(self._built), snapshot.domains)


def _find_tails(start: I64, node: I32) -> np.ndarray:
    """Return by predicate of each path whether it is behind the first branch that no other conjunction shares."""
    is_alone = np.bincount(node)[node] == 1
    is_in_tail = np.append(False, is_alone[:-1]) & is_alone
    is_in_tail[start[:-1][np.diff(start) > 0]] = False
    return is_in_tail


def _mark_continuations(predicates: Predicates) -> I64:
    """Return by interval the domain of its predicate, or -1 - domain from the second interval of a predicate on."""
    domain = np.repeat(predicates.domain, np.diff(predicates.start)).astype(np.int64)
    marked = -1 - domain
    first = predicates.start[:-1]
    marked[first] = domain[first]
    return marked


def _select_predicates(predicates: Predicates, which: I32) -> Predicates:
    """Copy some predicates, with repetition."""
    start, intervals = gather(predicates.start, which)
    return Predicates(
        predicates.domain[which], predicates.every[which], start, predicates.low[intervals], predicates.high[intervals]
    )


def _find_starts(groups: I64, keys: I64) -> I64:
    """Return where the members of each group begin among sorted keys, and where the last group ends."""
    return np.append(np.searchsorted(keys, groups), len(keys))
