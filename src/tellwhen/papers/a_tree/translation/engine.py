"""`translation`: the disjunctive normal form of every expression, in an engine of conjunctions (A-Tree, 2 and 6.4).

All engines of conjunctions translate what is no conjunction (`engines/shared/conjunctions.py`). This one adds what the
paper measures: any of them may be underneath, the budget is an option, and the cost of translating is told apart from
the cost of the index. The paper puts its Translation on PSTBloom, where an expression becomes up to 256 conjunctions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import Moved
from tellwhen.compile.live_slots import alive
from tellwhen.engines.base import Engine, Option, Reader, Share, Source
from tellwhen.engines.registry import create
from tellwhen.engines.shared.conjunctions import ConjunctionEngine
from tellwhen.kernels.arrays import I32

BASES = ("pstbloom", "psthash", "betree", "opindex", "kindex", "propagation", "gryphon", "counting")
"""The engines that conjunctions may go to, by the number of the option `base`."""


class Translation(Engine):
    """Gives all work to the engine of conjunctions, and says what of it was translating."""

    name = "translation"
    summary = "disjunctive normal forms in an engine of conjunctions, PSTBloom by default (Translation)"
    options: ClassVar[Mapping[str, Option]] = {
        "base": Option(
            0, 0, len(BASES) - 1, "engine of conjunctions: " + ", ".join(f"{n} {name}" for n, name in enumerate(BASES))
        ),
        "conjunctions": Option(256, 1, 4_096, "conjunctions of an expression; with more it is over budget"),
    }

    def __init__(self, source: Source, **given: int) -> None:
        super().__init__(source, **given)
        inner = create(BASES[self.option["base"]], source)
        assert isinstance(inner, ConjunctionEngine)
        inner.translator.conjunctions_max = self.option["conjunctions"]
        self.inner = inner
        self._build_seconds = 0.0

    @contextmanager
    def _building(self) -> Iterator[None]:
        """Adds up the time that a change takes, without that of translating."""
        begin, translated = time.perf_counter(), self.inner.translator.seconds
        yield
        self._build_seconds += time.perf_counter() - begin - (self.inner.translator.seconds - translated)

    def __len__(self) -> int:
        return len(self.inner)

    def takes(self, slots: I32) -> NDArray[np.bool_]:
        return self.inner.takes(slots)

    def insert(self, slots: I32) -> None:
        with self._building():
            self.inner.insert(slots)

    def delete(self, slots: I32) -> None:
        with self._building():
            self.inner.delete(slots)

    def rebuild(self) -> None:
        with self._building():
            self.inner.rebuild()

    def move(self, moves: Sequence[tuple[int, Moved]]) -> None:
        with self._building():
            self.inner.move(moves)

    def adapt(self) -> None:
        with self._building():
            self.inner.adapt()

    def reader(self) -> Reader:
        return self.inner.reader()

    def arrays(self) -> dict[str, np.ndarray]:
        return self.inner.arrays()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.inner.restore(arrays)

    def stats(self) -> dict[str, Any]:
        """As the paper's table and figures tell them apart: TR1 are the bytes of the index, TR2 those translated."""
        translated = sum(array.nbytes for array in self.inner.translator.conjunctions)
        found = self.inner.stats()
        return found | {
            "index bytes": found["bytes"] - translated,
            "translated bytes": translated,
            "build seconds": self._build_seconds,
            "translate seconds": self.inner.translator.seconds,
            "conjunctions per expression": self._conjunctions() / max(1, len(self)),
        }

    def _conjunctions(self) -> int:
        """Conjunctions of all subscriptions; one that is a conjunction itself is not translated."""
        slot = self.inner.translator.conjunctions.slot
        owner = alive(self.source.snapshot(), np.where(slot < 0, -1 - slot, slot))
        return len(owner) + len(self) - len(np.unique(owner))

    def shares(self) -> list[Share]:
        return self.inner.shares()

    def verify(self) -> None:
        self.inner.verify()
