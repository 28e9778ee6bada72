"""`bdd`: one binary decision diagram of all expressions (A-Tree, section 2; Campailla et al., ICSE 2001).

Every predicate is a variable. Equal functions, and equal parts of functions, are one node. The diagram has a root for
every function of a subscription; an event that makes the root true satisfies all subscriptions at the root.

Deviations: expressions are in negation normal form, so a predicate and its negation are two variables, and all
functions are monotone. Matching goes from the true predicates of an event upwards instead of from every root down
(`kernels/match.py`), unless the option `down` is 1. A diagram may grow exponentially, so each expression has a budget
of nodes; the program of an expression over budget runs on every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import is_alive
from tellwhen.engines.base import AccessPath, Option, Reader
from tellwhen.engines.shared.bulk import BulkEngine, list_pending_path
from tellwhen.engines.shared.calls import Call, CallReader, Refiner, Union, make_sizes
from tellwhen.engines.shared.stabbing import make_satisfied_sizes
from tellwhen.kernels.arrays import I32, Snapshot
from tellwhen.papers.a_tree.bdd.arrays import TERMINALS, BDDIndex, BDDScratch
from tellwhen.papers.a_tree.bdd.diagram import EMPTY, Budget, Capacity, Diagram, extend_diagram
from tellwhen.papers.a_tree.bdd.kernels.match import match_diagram, match_downward
from tellwhen.papers.a_tree.bdd.layout import lay_out_index, restore_diagram
from tellwhen.papers.a_tree.bdd.verify import check_index


class BDD(BulkEngine):
    """Engine of one diagram, which is extended by every merge."""

    name = "bdd"
    summary = "one shared binary decision diagram of all expressions (BDD)"
    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "nodes": Option(1_024, 16, 1 << 20, "nodes that an expression may make; one over budget runs as a program"),
        "total": Option(1 << 25, 1 << 10, 1 << 28, "nodes of the diagram; expressions beyond run as programs"),
        "down": Option(0, 0, 1, "0 goes upwards from the true predicates, 1 walks down from every root"),
    }

    index_kind = BDDIndex
    capacity = Capacity()

    def rebuild(self) -> None:
        self._index = None
        super().rebuild()

    def merge(self) -> None:
        super().rebuild()

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        before = EMPTY if self._index is None else _drop_removed(restore_diagram(self._index), snapshot)
        added = np.setdiff1d(self._built, before.slots)
        budget = Budget(self.option["nodes"], self.option["total"])
        diagram = extend_diagram(before, added, snapshot, budget, self.capacity)
        self._index = lay_out_index(diagram, snapshot, bool(self.option["down"]))

    def _index_reader(self, refiner: Refiner) -> Reader:
        index, snapshot = self._index, self.source.snapshot()
        sizes = make_sizes(
            BDDScratch,
            found=make_satisfied_sizes(snapshot),
            is_reached=len(index.upward.records) // 128 + 1,
            reached=len(index.nodes.predicate) + 1,
            roots=len(index.roots) + 1,
            registers=snapshot.registers,
            effort=2,
        )
        kernel = match_downward if self.option["down"] else match_diagram
        found = CallReader(Call(kernel, index, snapshot, sizes))
        return Union([found, refiner]) if self._pending.count else found

    def find_always_tested(self) -> I32:
        if self._index is None:
            return super().find_always_tested()
        return np.sort(self._select_alive(np.concatenate([self._index.always, self._index.listed])))

    def list_access_paths(self) -> list[AccessPath]:
        pending = self._pending.count
        listed = 0 if self._index is None else len(self._select_alive(self._index.listed))
        found = [AccessPath(len(self) - pending - listed, "are roots of the diagram")]
        if listed:
            found.append(AccessPath(listed, "are over budget: their programs are run on every event"))
        return found + list_pending_path(pending)

    def stats(self) -> dict[str, Any]:
        index: BDDIndex | None = self._index
        return super().stats() | {
            "nodes": 0 if index is None else len(index.nodes.predicate) - TERMINALS,
            "roots": 0 if index is None else len(index.roots),
            "listed": 0 if index is None else len(index.listed),
        }

    def verify(self) -> None:
        if self._index is not None:
            check_index(self._index, self._built, self.source.snapshot(), bool(self.option["down"]))


def _drop_removed(diagram: Diagram, snapshot: Snapshot) -> Diagram:
    """Drop the roots of removed slots. Nodes without a root are garbage then."""
    is_live = is_alive(snapshot, diagram.slots)
    return Diagram(diagram.nodes, diagram.slots[is_live], diagram.roots[is_live])
