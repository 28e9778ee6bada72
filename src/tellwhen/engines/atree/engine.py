"""`atree`: one graph of all expressions, matched from its predicates upwards (A-Tree)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import is_alive
from tellwhen.containers.growing import Growing
from tellwhen.engines.atree.arrays import EDGES, NODES, ATreeIndex
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.plant import ADJUSTED, APART
from tellwhen.engines.atree.layout import Switches, lay_out_index
from tellwhen.engines.atree.reader import make_reader
from tellwhen.engines.atree.verify import check_forest, check_index
from tellwhen.engines.base import Option, Reader, Source
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Packed, Refiner, Union
from tellwhen.engines.shared.selectivity import estimate_chances


class ATree(BulkEngine):
    """Engine that keeps a forest, in which equal parts are one node, and lays out from it the index for matching."""

    name = "atree"
    summary = "one graph of all expressions, in which equal parts are one node (A-Tree)"
    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "share": Option(
            ADJUSTED,
            APART,
            ADJUSTED,
            "0 shares predicates, 1 equal parts too, 2 reorganizes new expressions, 3 adjusts earlier ones too",
        ),
        "binary": Option(0, 0, 1, "1 joins two parts at a time"),
        "zero": Option(1, 0, 1, "0 propagates false results too: no zero suppression"),
        "demand": Option(1, 0, 1, "0 propagates to an AND from all of its children: not on demand"),
        "access": Option(0, 0, 1, "the child that leads to an AND: 0 the least probable, 1 a random one"),
        "stab": Option(
            0,
            0,
            1,
            "how values find the ranges that contain them: 0 sorted ends and segment trees, 1 only segment trees",
        ),
    }
    index_kind = ATreeIndex

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._forest: ForestBuilder | None = None
        self._roots = np.zeros(0, dtype=np.int32)  # by built slot: its node in the forest

    def merge(self) -> None:
        if self._forest is None or self._forest.is_wasteful:
            self.rebuild()
            return
        snapshot = self.source.snapshot()
        pending = self._select_alive(self._pending.view)
        self._roots = np.concatenate([self._roots, self._forest.add(snapshot, pending)])
        self._built = np.concatenate([self._built, pending])
        is_kept = is_alive(snapshot, self._built)
        self._forest.remove(self._roots[~is_kept])
        self._built, self._roots = self._built[is_kept], self._roots[is_kept]
        self._pending = Growing(np.int32)
        self._removed = 0
        self._lay_out()

    def _build(self) -> None:
        self._forest = ForestBuilder(self.option["share"], bool(self.option["binary"]))
        self._roots = self._forest.add(self.source.snapshot(), self._built)
        self._lay_out()

    def _lay_out(self) -> None:
        assert self._forest is not None
        snapshot, option = self.source.snapshot(), self.option
        marginals = self.source.typical().marginals_if_known(snapshot.domains)
        switches = Switches(bool(option["zero"]), bool(option["demand"]), bool(option["access"]), bool(option["stab"]))
        chance = estimate_chances(snapshot.predicates, marginals)
        self._index = lay_out_index(self._forest, snapshot, self._built, self._roots, chance, switches)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        self._forest = None  # the next merge builds it again

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot = Packed(self.source.snapshot())
        found = make_reader(Packed(self._index), snapshot, is_three_valued=not self.option["zero"])
        return Union([found, refiner]) if self._pending.count else found

    def stats(self) -> dict[str, Any]:
        found = super().stats()
        if self._forest is not None:
            counters = self._forest.forest.counters
            found |= {"nodes": int(counters[NODES]), "edges": int(counters[EDGES])}
        return found

    def verify(self) -> None:
        if self._index is not None:
            check_index(self._index, self._built, self.source.snapshot())
        if self._forest is not None:
            check_forest(self._forest, self._built, self._roots, self.source.snapshot())
