"""`translation`: the disjunctive normal form of every expression, in an engine of conjunctions (A-Tree, 2 and 6.4).

All engines of conjunctions translate other expressions (`engines/shared/conjunctions.py`). This engine adds what the
paper measures: any engine of conjunctions may be underneath, the budget is an option, and the cost of translating is
separate from the cost of the index. The paper's Translation is on PSTBloom, and an expression there becomes up to 256
conjunctions.

Deviation: an expression over budget is in the default engine; the paper's Translation runs out of memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.live_slots import select_alive
from tellwhen.engines.base import AccessPath, Engine, Option, Reader, Source
from tellwhen.engines.registry import create
from tellwhen.engines.shared.conjunctions import ConjunctionEngine
from tellwhen.kernels.arrays import I32

BASES = ("pstbloom", "psthash", "betree", "opindex", "kindex", "propagation", "gryphon", "counting")
"""Engines that may hold the conjunctions, by the value of the option `base`."""


class Translation(Engine):
    """Engine that delegates to an engine of conjunctions, and measures what translating costs in time and bytes."""

    name = "translation"
    summary = "disjunctive normal forms in an engine of conjunctions, PSTBloom by default (Translation)"
    options: ClassVar[Mapping[str, Option]] = {
        "base": Option(
            0, 0, len(BASES) - 1, "engine of conjunctions: " + ", ".join(f"{n} {name}" for n, name in enumerate(BASES))
        ),
        "conjunctions": Option(256, 1, 4_096, "conjunctions of an expression, at most; with more it is over budget"),
    }

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        inner = create(BASES[self.option["base"]], source)
        assert isinstance(inner, ConjunctionEngine)
        inner.translator.conjunctions_max = self.option["conjunctions"]
        self.inner = inner
        self._build_seconds = 0.0

    @contextmanager
    def _measure_build(self) -> Iterator[None]:
        """Add the duration of a change, without the time of translating, to the build seconds."""
        begin, translate_seconds = time.perf_counter(), self.inner.translator.seconds
        yield
        self._build_seconds += time.perf_counter() - begin - (self.inner.translator.seconds - translate_seconds)

    def __len__(self) -> int:
        return len(self.inner)

    def can_index(self, slots: I32) -> NDArray[np.bool_]:
        return self.inner.can_index(slots)

    def insert(self, slots: I32) -> None:
        with self._measure_build():
            self.inner.insert(slots)

    def delete(self, slots: I32) -> None:
        with self._measure_build():
            self.inner.delete(slots)

    def rebuild(self) -> None:
        with self._measure_build():
            self.inner.rebuild()

    def relabel(self, moves: Sequence[tuple[int, LabelMoves]]) -> None:
        with self._measure_build():
            self.inner.relabel(moves)

    def adapt(self) -> None:
        with self._measure_build():
            self.inner.adapt()

    def reader(self) -> Reader:
        return self.inner.reader()

    def arrays(self) -> dict[str, np.ndarray]:
        return self.inner.arrays()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.inner.restore(arrays)

    def stats(self) -> dict[str, Any]:
        """Return sizes and times; the paper's TR1 are the bytes of the index, TR2 the translated bytes."""
        translated_bytes = sum(array.nbytes for array in self.inner.translator.conjunctions)
        stats = self.inner.stats()
        return stats | {
            "index bytes": stats["bytes"] - translated_bytes,
            "translated bytes": translated_bytes,
            "build seconds": self._build_seconds,
            "translate seconds": self.inner.translator.seconds,
            "conjunctions per expression": self._count_conjunctions() / max(1, len(self)),
        }

    def _count_conjunctions(self) -> int:
        """Count the conjunctions of all subscriptions; a subscription that is a conjunction has one, not translated."""
        slot = self.inner.translator.conjunctions.slot
        owner = select_alive(self.source.snapshot(), np.where(slot < 0, -1 - slot, slot))
        return len(owner) + len(self) - len(np.unique(owner))

    def list_access_paths(self) -> list[AccessPath]:
        return self.inner.list_access_paths()

    def verify(self) -> None:
        self.inner.verify()
