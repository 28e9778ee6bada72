"""The default engine beside an engine with a budget, for the expressions over the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.normal_form import OVER_BUDGET
from tellwhen.containers.array_names import select_prefix
from tellwhen.containers.growing import Growing
from tellwhen.engines.auto.engine import Auto
from tellwhen.engines.base import AccessPath, Engine, MatchCounts, Reader, Source, Upkeep
from tellwhen.engines.registry import create
from tellwhen.engines.shared.calls import Union
from tellwhen.kernels.arrays import F64, I32


def create_with_fallback(spec: str, source: Source) -> Engine:
    """Create the engine of a spec. If it has a budget, add the default engine for the expressions over the budget.

    With the option `strict`, add nothing: the engine refuses expressions over its budget.
    """
    engine = create(spec, source)
    is_alone = "expressions" in engine.supports or engine.option["strict"]
    return engine if is_alone else EngineWithFallback(engine)


def explain_refusal(spec: str) -> str:
    """Return why the engine of a spec refuses an expression for which `can_index` is false."""
    return f"too complex for {spec.partition(':')[0]}: {OVER_BUDGET}"


class EngineWithFallback(Engine):
    """A named engine, and the default engine for the expressions that the named engine cannot index."""

    supports = frozenset({"expressions"})

    def __init__(self, named: Engine) -> None:
        super().__init__(named.source)
        self._named, self.other = named, Auto(named.source)
        self.has_match_counts = named.has_match_counts
        self._is_other = Growing(np.uint8)  # by slot: 1 if it is in the default engine

    @property
    def spec(self) -> str:
        return self._named.spec

    @property
    def named_engine(self) -> Engine:
        return self._named

    def __len__(self) -> int:
        return len(self.named_engine) + len(self.other)

    def insert(self, slots: I32) -> None:
        is_named = self.named_engine.can_index(slots)
        known = len(self.source.snapshot().subscriptions.kind)
        self._is_other.extend(np.zeros(known - self._is_other.count, dtype=np.uint8))
        self._is_other.data[slots] = ~is_named
        self.named_engine.insert(slots[is_named])
        self.other.insert(slots[~is_named])

    def delete(self, slots: I32) -> None:
        is_other = self._is_other.data[slots] != 0
        for engine, mine in (self.named_engine, slots[~is_other]), (self.other, slots[is_other]):
            if len(mine):
                engine.delete(mine)

    def update_scores(self, slots: I32, scores: F64, before: int) -> None:
        self.named_engine.update_scores(slots, scores, before)
        self.other.update_scores(slots, scores, before)

    def rebuild(self) -> None:
        self.named_engine.rebuild()
        self.other.rebuild()

    def relabel(self, moves: Sequence[tuple[int, LabelMoves]]) -> None:
        self.named_engine.relabel(moves)
        self.other.relabel(moves)

    def is_due(self) -> bool:
        return self.named_engine.is_due() or self.other.is_due()

    def upkeep(self) -> Upkeep | None:
        return self.named_engine.upkeep() or self.other.upkeep()

    def reader(self) -> Reader:
        readers = [engine.reader() for engine in (self.named_engine, self.other) if len(engine)]
        return readers[0] if len(readers) == 1 else Union(readers)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"is_other": self._is_other.view}
        for place, engine in ("named", self.named_engine), ("other", self.other):
            arrays |= {f"{place}.{name}": array for name, array in engine.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._is_other = Growing(np.uint8, arrays["is_other"])
        self.named_engine.restore(select_prefix(arrays, "named"))
        self.other.restore(select_prefix(arrays, "other"))

    def stats(self) -> dict[str, Any]:
        named, other = self.named_engine.stats(), self.other.stats()
        if not len(self.other):
            return named
        total = {key: named[key] + other[key] for key in ("subscriptions", "removed", "bytes")}
        return named | total | {"over budget": other}

    def list_access_paths(self) -> list[AccessPath]:
        return self.named_engine.list_access_paths()

    def find_always_tested(self) -> I32:
        return np.concatenate([self.named_engine.find_always_tested(), self.other.find_always_tested()])

    def match_counts(self) -> MatchCounts:
        return self.named_engine.match_counts()

    def adapt(self) -> None:
        self.named_engine.adapt()
        self.other.adapt()

    def verify(self) -> None:
        self.named_engine.verify()
        self.other.verify()
