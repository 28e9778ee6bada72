"""`betree`: space cut by attribute, then by value, again and again (BE-Tree, SIGMOD 2011).

Two forms of one tree. The one that grows (kernels/betree_grow.py) takes conjunctions in one by one, cuts l-nodes that overflow
and merges what has become too small; nobody matches with it. From it the one that is matched is laid out, depth first,
with the predicates of each conjunction that its path does not answer already: so readers are never disturbed.

Deviations, and what the paper leaves open:
- The domain of an attribute is the spaces that all predicates on it make (engines/spaces.py), as they were when the
  tree was last built: discrete and finite for every type. A later predicate has the bounds of the spaces it touches,
  and is never taken for subsumed unless it ends where they do.
- Table 1 holds for every operator: a predicate's bounds are its least and its greatest value.
- A half of a bucket is made when something goes into it.
- An extended l-node has half as much room again, where the paper adds `max_cap`: n conjunctions that nothing divides would
  otherwise be looked at n/max_cap times.
- An l-node underflows when its p-node has fewer than `min_size` conjunctions: these are inserted anew; buckets merge when an
  open one with its halves fills half an l-node.
- Loss is measured by matching (the paper's optimistic start: 0), windows end when subscriptions come and go, and the
  root is not recycled: nothing above it could be adjusted.
- True predicates are found once for an event, so that testing one is to look at a bit.
- A conjunction with two predicates on an attribute is clustered by the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.compile.store import Store
from tellwhen.containers.batches import first
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import Option, Reader, prefixed, unprefixed
from tellwhen.engines.betree.arrays import BETreeIndex
from tellwhen.engines.betree.grow import conjunctions_in
from tellwhen.engines.betree.match import match_tree
from tellwhen.engines.betree.tree import Tree
from tellwhen.engines.betree.verify import check_tree
from tellwhen.engines.shared.conjunctions import PENDING_MIN, ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import ranking
from tellwhen.engines.shared.stabbing import build_for
from tellwhen.kernels.arrays import Stabbing

GUIDELINE = ((0.01, 5), (0.1, 20), (1.0, 160))
"""Table 4: below such a share of matches, such a capacity."""

MIDDLING = 20
"""The capacity as long as no event has been seen."""

STALE = 2
"""With so many times as many predicates as its domain was made of, or conjunctions as there are, a tree is built anew."""

SAMPLE = 64
"""Typical events that the share of matches is found with."""


class BETree(ConjunctionEngine):
    """Looks only at conjunctions whose path to the root the event satisfies."""

    name = "betree"
    summary = "a tree that cuts space by attribute and by value, and adjusts itself (BE-Tree)"
    options: ClassVar[Mapping[str, Option]] = {
        "max_cap": Option(0, 0, 1 << 20, "conjunctions in a leaf before it is cut; 0 for what typical events suggest"),
        "min_size": Option(3, 1, 1 << 20, "conjunctions that must share an attribute to be cut by it"),
        "window": Option(10, 1, 1000, "a leaf is judged after so many events, in percent of its conjunctions"),
        "threshold": Option(
            0, -(1 << 20), 1 << 20, "useful minus wasted tests of a leaf: if less, its conjunctions are moved"
        ),
    }
    at_once: ClassVar[bool] = False

    def __init__(self, store: Store, **given: int) -> None:
        self.recycled = 0  # conjunctions, ever
        super().__init__(store, **given)

    def _build(self) -> None:
        capacity = self.option["max_cap"] or MIDDLING
        self._grow(capacity)
        if not self.option["max_cap"] and len(self.store.history.single_valued) and len(self):
            seen = first(self.store.history, min(SAMPLE, len(self.store.history.single_valued)))
            share = len(self.reader().match(seen).slot) / (len(seen.single_valued) * len(self))
            suggested = guideline(share)
            if suggested != capacity:
                self._grow(suggested)

    def _grow(self, capacity: int) -> None:
        snapshot, conjunctions = self.store.snapshot(), self.conjunctions()
        self._tree = Tree(snapshot, capacity, self.option["min_size"])
        self._tree.add(snapshot, conjunctions, self.at_once)
        self._rank = ranking(self.store, conjunctions.predicate)
        self._lay_out()

    def _lay_out(self) -> None:
        snapshot = self.store.snapshot()
        fresh = len(snapshot.predicates.domain) - len(self._rank)
        self._rank = np.append(self._rank, np.full(fresh, len(self._rank), dtype=np.int32))
        self._index, self._node_of = self._tree.lay_out(snapshot, self._rank)
        self._stabbing = build_for(snapshot.predicates, snapshot.domains, self._laid_out().predicate)
        self._forget()

    def _laid_out(self) -> Conjunctions:
        """The conjunctions that are matched, without what is subsumed."""
        return Conjunctions(*conjunctions_in(self._index.words, len(self._tree)))

    def _forget(self) -> None:
        """New counters for what matching tells of the nodes."""
        self._visits, self._lost = (np.zeros(len(self._node_of), dtype=np.int64) for _ in range(2))

    def merge(self) -> None:
        """Take conjunctions in and out one by one, and recycle what matching has shown to be of no use."""
        snapshot, tree = self.store.snapshot(), self._tree
        stale = len(snapshot.predicates.domain) > STALE * tree.known or tree.slot.count > STALE * (
            len(self) + PENDING_MIN
        )
        if stale or not len(tree):
            self.rebuild()  # for a domain that is up to date, or to be rid of the numbers of conjunctions that are gone
            return
        died, version = snapshot.subscriptions.died, snapshot.version
        mine = tree.alive()
        slot = tree.slot.view[mine]
        tree.note(self._node_of, self._visits, self._lost)  # before nodes are freed, and become others
        tree.remove(snapshot, mine[died[np.where(slot < 0, -1 - slot, slot)] <= version])
        unfit = tree.unfit(self.option["window"], self.option["threshold"])
        tree.renew(snapshot, unfit)
        self.recycled += len(unfit)
        self._translator.forget(died, version)
        new = self._pending.view[died[self._pending.view] > version]
        tree.add(snapshot, self.conjunctions(new))
        self._built = np.concatenate([self._built[died[self._built] > version], new])
        self._pending = Growing(np.int32)
        self._dead = 0
        self._lay_out()

    def reader(self) -> Reader:
        predicates = len(self._rank)
        sizes = (
            ("first", len(self._index.cut_start) - 1, np.int32),
            ("truth", predicates // 64 + 1, np.uint64),
            ("satisfied", predicates, np.int32),
            ("queue", len(self._node_of) + 2, np.int32),
        )
        return ConjunctionReader(
            self, match_tree, (*self._index, *self._stabbing), sizes, tail=(self._visits, self._lost)
        )

    def stats(self) -> dict[str, Any]:
        return super().stats() | {
            "c-nodes": len(self._node_of),
            "p-nodes": len(self._index.pdir_domain),
            "max_cap": self._tree.max_cap,
            "recycled": self.recycled,
        }

    def verify(self) -> None:
        check_tree(self._tree, self.store.snapshot())
        tree, matched = self._tree.slot.view[self._tree.alive()], self._laid_out().slot
        assert sorted(tree.tolist()) == sorted(matched.tolist()), "not the conjunctions of the tree are matched"
        built = self.conjunctions(self._built).slot
        assert sorted(tree.tolist()) == sorted(built.tolist()), "not the conjunctions that were built are in the tree"

    def _index_arrays(self) -> dict[str, np.ndarray]:
        return {
            **self._index._asdict(),
            "node_of": self._node_of,
            "rank": self._rank,
            **prefixed("stabbing", self._stabbing),
            **{f"tree.{name}": array for name, array in self._tree.arrays().items()},
        }

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = BETreeIndex(*(arrays[name] for name in BETreeIndex._fields))
        self._node_of, self._rank = arrays["node_of"], arrays["rank"]
        self._stabbing = unprefixed("stabbing", Stabbing, arrays)
        tree = {name.removeprefix("tree."): array for name, array in arrays.items() if name.startswith("tree.")}
        self._tree = Tree.restored(tree, self._index)
        self._forget()


class BETreeBatch(BETree):
    """With all subscriptions at hand the root is cut by what they have in common, not by what came first (BE-B)."""

    name = "betree-batch"
    summary = "BE-Tree, built of all subscriptions at once (BE-B)"
    at_once = True


def guideline(share: float) -> int:
    """The capacity of l-nodes for a share of matches (Table 4)."""
    return next((capacity for below, capacity in GUIDELINE if share < below), GUIDELINE[-1][1])
