"""`betree`: space partitioned by attribute and clustered by value, again and again (BE-Tree, SIGMOD 2011).

There are two forms of one tree. The growing one (`tree.py`) takes conjunctions in and out one by one. It divides
l-nodes that overflow, and merges what has become too small. The one that is matched is laid out from it (`layout.py`),
depth first, with only those predicates of each conjunction that its path does not answer. So the growing tree never
changes anything that a reader sees.

Deviations, and what the paper leaves open:
- The domain of an attribute is the spaces that all predicates on it make (`engines/shared/spaces.py`), as they were
  when the tree was built: discrete and finite for every type. A later predicate gets the bounds of the spaces that it
  touches. It counts as subsumed only if it begins and ends where they do.
- Table 1 holds for every operator: a predicate's bounds are its least and its greatest value.
- A half of a bucket is created when something goes into it.
- An extended l-node gets half as much room again, where the paper adds `max_cap`. Otherwise n conjunctions that nothing
  divides would be grouped n / max_cap times.
- An l-node underflows when its p-node has fewer than `min_size` conjunctions; these are inserted again. Halves merge
  when nothing divides their bucket or themselves further, and half an l-node is enough for all of it.
- Loss is measured by matching, and starts at 0 (the paper's optimistic start). Windows end when subscriptions come and
  go. The root is not recycled: nothing above it could be adjusted.
- True predicates are found once for an event, so that testing one is reading a bit.
- A conjunction with two predicates on one attribute is clustered by the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import is_alive
from tellwhen.containers.batches import Typical, chosen
from tellwhen.containers.growing import Growing
from tellwhen.containers.named import flatten, unflatten
from tellwhen.engines.base import Option, Reader, Source
from tellwhen.engines.shared.bulk import PENDING_MIN
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import rank_predicates
from tellwhen.engines.shared.stabbing import RUNS_SIZE
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.be_tree.betree.arrays import BETreeIndex, BETreeScratch, TreeArrays
from tellwhen.papers.be_tree.betree.kernels.match import match_tree
from tellwhen.papers.be_tree.betree.tree import Tree
from tellwhen.papers.be_tree.betree.verify import check_index, check_tree

CAPACITIES = ((0.01, 5), (0.1, 20), (1.0, 160))
"""Table 4: for a share of matches below the first number, the capacity of l-nodes."""

DEFAULT_CAPACITY = 20
"""The capacity while no typical events are known."""

REBUILD_FACTOR = 2
"""Rebuild when the predicates, or the conjunctions, have doubled since the tree was built."""

SAMPLE_EVENTS = 64
"""Typical events that the share of matches is estimated from, at most."""


class BETree(ConjunctionEngine):
    """Tests only conjunctions whose path from the root the event satisfies."""

    name = "betree"
    summary = "a tree that partitions space by attribute and by value, and adjusts itself (BE-Tree)"
    options: ClassVar[Mapping[str, Option]] = {
        "max_cap": Option(
            0, 0, 1 << 20, "conjunctions in a leaf before it is split; 0 for what typical events suggest"
        ),
        "min_size": Option(3, 1, 1 << 20, "conjunctions that must share an attribute to be partitioned by it"),
        "window": Option(10, 1, 1000, "events after which a leaf is judged, in percent of its conjunctions"),
        "threshold": Option(
            0, -(1 << 20), 1 << 20, "useful minus wasted tests; conjunctions of a leaf below that are inserted again"
        ),
    }
    index_kind = BETreeIndex
    at_once: ClassVar[bool] = False
    """Are all conjunctions put into the root before it is partitioned?"""

    _index: BETreeIndex

    def __init__(self, source: Source, **given: int) -> None:
        self.recycled = 0  # conjunctions, ever
        super().__init__(source, **given)

    def _build(self) -> None:
        capacity, typical = self.option["max_cap"] or DEFAULT_CAPACITY, self.source.typical()
        self._grow(capacity)
        if not self.option["max_cap"] and len(self) and len(typical.weight):
            suggested = capacity_for(self._share_of_matches(typical))
            if suggested != capacity:
                self._grow(suggested)

    def _grow(self, capacity: int) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions()
        rank = rank_predicates(self.source, conjunctions.predicate)
        self._tree = Tree.empty(snapshot, rank, capacity, self.option["min_size"])
        self._tree.add(snapshot, conjunctions, self.at_once)
        self._index = self._tree.lay_out(snapshot)

    def _share_of_matches(self, typical: Typical) -> float:
        """The share of the subscriptions that a typical event matches."""
        events, weight = typical.events, typical.weight
        if len(weight) > SAMPLE_EVENTS:  # systematic sampling: events at equal distances of weight
            upto = np.cumsum(weight)
            drawn = np.searchsorted(upto, upto[-1] * (np.arange(SAMPLE_EVENTS) + 0.5) / SAMPLE_EVENTS)
            events, weight = chosen(events, drawn), np.ones(SAMPLE_EVENTS)
        matches = np.diff(self.reader().match(events).start)
        return float(np.average(matches, weights=weight)) / len(self)

    def merge(self) -> None:
        """Take conjunctions in and out one by one, and recycle nodes that matching has shown to be of no use."""
        snapshot, tree = self.source.snapshot(), self._tree
        if self._is_stale(snapshot):
            self.rebuild()
            return
        numbers = tree.alive()
        slot = tree.conjunctions.slot[numbers]
        tree.note(self._index)  # before nodes are freed: their records will be other nodes
        tree.remove(snapshot, numbers[~is_alive(snapshot, np.where(slot < 0, -1 - slot, slot))])
        unfit = tree.unfit(self.option["window"], self.option["threshold"])
        tree.reinsert(snapshot, unfit)
        self.recycled += len(unfit)
        self.translator.forget(snapshot.subscriptions.died, snapshot.version)
        new = self._select_alive(self._pending.view)
        tree.add(snapshot, self.conjunctions(new))
        self._built = np.concatenate([self._select_alive(self._built), new])
        self._pending = Growing(np.int32)
        self._removed = 0
        self._index = tree.lay_out(snapshot)

    def _is_stale(self, snapshot: Snapshot) -> bool:
        """Are too many predicates newer than the spaces, or too many numbers those of conjunctions taken out?"""
        tree = self._tree
        return (
            len(snapshot.predicates.domain) > REBUILD_FACTOR * tree.known
            or len(tree.conjunctions.slot) > REBUILD_FACTOR * (len(self) + PENDING_MIN)
            or not len(tree)
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot = self.source.snapshot()
        predicates = len(snapshot.predicates.domain)
        sizes = make_sizes(
            BETreeScratch,
            runs=RUNS_SIZE,
            first_entry=len(self._index.cut_start) - 1,
            truth=predicates // 64 + 1,
            satisfied=predicates,
            queue=len(self._index.nodes) + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        return ConjunctionReader(match_tree, self._index, sizes, snapshot, refiner)

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | flatten(self._tree.arrays, "tree.")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        self._tree = Tree(unflatten(TreeArrays, arrays, "tree."), self._index.cut_start, self._index.cuts)

    def stats(self) -> dict[str, Any]:
        return super().stats() | {
            "c-nodes": len(self._index.cnode),
            "p-nodes": len(self._index.pnode_domain),
            "max_cap": self._tree.max_cap,
            "recycled": self.recycled,
        }

    def verify(self) -> None:
        snapshot = self.source.snapshot()
        check_tree(self._tree, snapshot)
        check_index(self._index, self._tree)
        built = self.conjunctions(self._built).slot
        grown = self._tree.conjunctions.slot[self._tree.alive()]
        assert sorted(grown.tolist()) == sorted(built.tolist()), "the tree lacks conjunctions, or has too many"


class BETreeBatch(BETree):
    """Partitions the root when it has all subscriptions, not when the first few have made it overflow (BE-B)."""

    name = "betree-batch"
    summary = "BE-Tree, built of all subscriptions at once (BE-B)"
    at_once = True


def capacity_for(share: float) -> int:
    """The capacity of l-nodes for a share of matches (Table 4)."""
    return next((capacity for below, capacity in CAPACITIES if share < below), CAPACITIES[-1][1])
