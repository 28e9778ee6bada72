"""`betree`: space that is partitioned by attribute and clustered by value, recursively (BE-Tree, SIGMOD 2011).

There are two forms of one tree. The *growing tree* (`tree.py`) inserts and removes conjunctions one by one. It divides
l-nodes that overflow, and merges nodes that have become too small. The tree that is matched is laid out from the
growing tree (`layout.py`): depth first, and each conjunction without the predicates that are true on its path. So a
change of the growing tree never changes arrays that a reader sees.

Deviations, and decisions that the paper leaves open:

- The domain of an attribute is the predicate spaces that all predicates on it make (`engines/shared/spaces.py`) when
  the tree is built. They are discrete and finite for every type of value. A later predicate has the bounds of the
  spaces that it touches, and is subsumed by a bucket only if it begins and ends where these spaces do.
- Table 1 holds for every operator: the bounds of a predicate are its least and its greatest value.
- A half of a bucket is created when a conjunction goes into it. Layout finds the minimal intervals of buckets.
- An extended l-node gets half as much room again. The paper adds `max_cap`: n conjunctions that nothing divides would
  be grouped n / max_cap times.
- An l-node underflows when its p-node has fewer than `min_size` conjunctions; these are inserted again. Two halves are
  merged when neither they nor their bucket are divided further and all their conjunctions fill at most half an l-node.
- Loss is measured by matching, and starts at 0 (the paper's optimistic start). Nodes whose windows are over are judged
  at merges and in the background (`adjustment.py`). Of a useless node, only the conjunctions are inserted again that
  another p-node attracts: the others would come back, and the tree would never settle. The root is not recycled: its
  l-node has only conjunctions that no p-node takes.
- True predicates are found once for an event. Testing a predicate is then reading a bit.
- A conjunction with two predicates on one attribute is clustered by the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import is_alive
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.batches import EncodedSample, select_events
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import Option, Reader, Source, Upkeep
from tellwhen.engines.shared.bulk import PENDING_MIN
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import rank_predicates
from tellwhen.engines.shared.stabbing import RUNS_SIZE
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.be_tree.betree.adjustment import Adjustment
from tellwhen.papers.be_tree.betree.arrays import VISITS, BETreeIndex, BETreeScratch, TreeArrays
from tellwhen.papers.be_tree.betree.kernels.match import match_tree
from tellwhen.papers.be_tree.betree.tree import INITIAL_NODES, Tree
from tellwhen.papers.be_tree.betree.verify import check_index, check_tree

CAPACITIES = ((0.01, 5), (0.1, 20), (1.0, 160))
"""Pairs (upper limit of the share of matches, max_cap), as Table 4 has them."""

DEFAULT_CAPACITY = 20
"""max_cap of a tree for which no events are known."""

ROOT_WINDOW_MIN = 1_000
"""If no subscription changes, adjust a tree after 1,000 events, or after more for a large tree."""

SAMPLE_EVENTS_MAX = 64
"""Estimate the share of matches from at most 64 typical events."""


class BETree(ConjunctionEngine):
    """Engine that tests only conjunctions whose path from the root the event satisfies."""

    name = "betree"
    summary = "a tree that partitions space by attribute and by value, and adjusts itself (BE-Tree)"
    options: ClassVar[Mapping[str, Option]] = {
        "max_cap": Option(
            0, 0, 1 << 20, "conjunctions in a leaf before it is split; 0 chooses the number from the profile"
        ),
        "min_size": Option(3, 1, 1 << 20, "conjunctions that must share an attribute to be partitioned by it"),
        "window": Option(
            10, 1, 1000, "judge a node after this number of operations, in percent of the conjunctions below it"
        ),
        "threshold": Option(
            0, -(1 << 20), 1 << 20, "recycle a node whose useful tests minus wasted tests are below this number"
        ),
    }
    index_kind = BETreeIndex
    is_batch: ClassVar[bool] = False
    """Whether all conjunctions are put into the root before it is partitioned."""
    rebuild_factor: ClassVar[int] = 2
    """Rebuild when predicates or conjunctions have grown by this factor since the tree was built."""
    initial_nodes: ClassVar[int] = INITIAL_NODES
    adapts_while_matching = True
    root_window_min: ClassVar[int] = ROOT_WINDOW_MIN

    _index: BETreeIndex
    _tree: Tree

    def __init__(self, source: Source, **options: int) -> None:
        self.recycled = 0  # conjunctions that were inserted again to adjust trees, in the life of the engine
        self._adjustment: Adjustment | None = None  # reads `_tree`: change only a copy of the tree while it is set
        super().__init__(source, **options)

    def _build(self) -> None:
        capacity, typical = self.option["max_cap"] or DEFAULT_CAPACITY, self.source.typical()
        if hasattr(self, "_tree"):
            capacity = self._tree.max_cap  # `adjust` may have changed it
        self._grow_tree(capacity)
        if not self.option["max_cap"] and len(self) and len(typical.weight):
            suggested = suggest_capacity(self._estimate_share_of_matches(typical))
            if suggested != capacity:
                self._grow_tree(suggested)

    def _grow_tree(self, capacity: int) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions()
        self._adjustment = None
        rank = rank_predicates(self.source, conjunctions.predicate)
        self._tree = Tree.empty(snapshot, rank, capacity, self.option["min_size"], self.initial_nodes)
        self._tree.add(snapshot, conjunctions, self.is_batch)
        self._index = self._tree.lay_out(snapshot)

    def _estimate_share_of_matches(self, typical: EncodedSample) -> float:
        """Return the share of the subscriptions that a typical event matches."""
        events, weight = typical.events, typical.weight
        if len(weight) > SAMPLE_EVENTS_MAX:  # systematic sampling: events at equal distances of weight
            weight_sums = np.cumsum(weight)
            drawn = np.searchsorted(
                weight_sums, weight_sums[-1] * (np.arange(SAMPLE_EVENTS_MAX) + 0.5) / SAMPLE_EVENTS_MAX
            )
            events, weight = select_events(events, drawn), np.ones(SAMPLE_EVENTS_MAX)
        matches = np.diff(self.reader().match(events).start)
        return float(np.average(matches, weights=weight)) / len(self)

    def merge(self) -> None:
        """Remove and insert conjunctions one by one, and recycle nodes that matching has found useless (section 5)."""
        snapshot = self.source.snapshot()
        if self._is_stale(snapshot):
            self.rebuild()
            return
        if self._adjustment is not None:
            self._tree, self._adjustment = self._tree.copy(), None
        tree = self._tree
        self.recycled += self.adjust(tree, self._index, snapshot)
        numbers = tree.list_numbers()
        slot = tree.conjunctions.slot[numbers]
        tree.remove(snapshot, numbers[~is_alive(snapshot, np.where(slot < 0, -1 - slot, slot))])
        self.translator.drop_removed(snapshot.subscriptions.died, snapshot.version)
        new = self._select_alive(self._pending.view)
        tree.add(snapshot, self.conjunctions(new))
        self._built = np.concatenate([self._select_alive(self._built), new])
        self._pending = Growing(np.int32)
        self._removed = 0
        self._index = tree.lay_out(snapshot)

    # adjusting

    def adjust(self, tree: Tree, index: BETreeIndex, snapshot: Snapshot) -> int:
        """Adjust a tree to the events that were matched by its layout; return how many conjunctions have moved."""
        tree.add_counts(index)
        if tree.events >= self._get_root_window(tree):
            suggested = suggest_capacity(tree.close_root_window())
            if not self.option["max_cap"]:
                tree.change_max_cap(suggested)
        return tree.recycle(snapshot, self.option["window"], self.option["threshold"])

    def _get_root_window(self, tree: Tree) -> int:
        """Return the number of events after which a tree is adjusted even if no subscription changes."""
        return max(self.root_window_min, len(tree) * self.option["window"] // 100)

    def is_due(self) -> bool:
        tree, uncollected_events = self._tree, int(self._index.counts[0, VISITS])
        return tree.events + uncollected_events >= self._get_root_window(tree) and len(tree) > 0

    def upkeep(self) -> Upkeep | None:
        self._adjustment = Adjustment(self, self._tree, self._index) if self.is_due() else None
        return self._adjustment

    def adopt(self, adjustment: Adjustment) -> bool:
        """Replace the tree by an adjusted copy; return False if the tree has changed meanwhile."""
        if adjustment is not self._adjustment:
            return False
        self._adjustment, self._tree, self._index = None, adjustment.tree, adjustment.index
        self.recycled += adjustment.recycled
        return True

    def _is_stale(self, snapshot: Snapshot) -> bool:
        """Return whether too many predicates are newer than the spaces, or too many conjunctions were removed."""
        tree = self._tree
        return (
            len(snapshot.predicates.domain) > self.rebuild_factor * tree.known_predicates
            or len(tree.conjunctions.slot) > self.rebuild_factor * (len(self) + PENDING_MIN)
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
            leaf=len(self._index.nodes) + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            hits=len(self._index.nodes) + 1,
            effort=2,
        )
        return ConjunctionReader(match_tree, self._index, sizes, snapshot, refiner)

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | flatten(self._tree.arrays, "tree.")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        self._tree = Tree(unflatten(TreeArrays, arrays, "tree."), self._index.cut_start, self._index.cuts)
        self._adjustment = None

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
        check_index(self._index, self._tree, snapshot)
        built = self.conjunctions(self._built).slot
        grown = self._tree.conjunctions.slot[self._tree.list_numbers()]
        assert sorted(grown.tolist()) == sorted(built.tolist()), "the tree has other conjunctions than the engine"


class BETreeBatch(BETree):
    """BE-Tree that partitions the root when it has all subscriptions, not at its first overflow (BE-B)."""

    name = "betree-batch"
    summary = "BE-Tree, built of all subscriptions at once (BE-B)"
    is_batch = True


def suggest_capacity(share: float) -> int:
    """Return max_cap for a share of matches (Table 4)."""
    return next((capacity for below, capacity in CAPACITIES if share < below), CAPACITIES[-1][1])
