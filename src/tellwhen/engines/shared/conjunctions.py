"""Base class of the engines that index conjunctions.

A subscription that is a conjunction is indexed as it is. Any other is translated to its disjunctive normal form, and
all conjunctions of that are indexed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.normal_form import Conjunctions, Translator
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader, Source
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Call, Kernel, Refiner
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, I32, Events, Matches, Snapshot


class ConjunctionEngine(BulkEngine):
    """An engine of conjunctions. A subclass implements `_build` and `_index_reader`."""

    predicates_max: ClassVar[int] = 255
    """The most predicates of a conjunction."""

    goal: ClassVar[int] = ACCEPT
    """The normal form: ACCEPT for conjunctions (disjunctive), REJECT for clauses (conjunctive)."""

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self.translator = Translator(self.predicates_max, goal=self.goal)
        self._build()

    def can_index(self, slots: I32) -> NDArray[np.bool_]:
        return self.translator.find_translatable(self.source.snapshot().subscriptions, slots)

    def insert(self, slots: I32) -> None:
        self.translator.add(self.source.snapshot().subscriptions, slots)
        super().insert(slots)

    def rebuild(self) -> None:
        snapshot = self.source.snapshot()
        self.translator.drop_removed(snapshot.subscriptions.died, snapshot.version)
        super().rebuild()

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | flatten(self.translator.conjunctions, "translated.")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        conjunctions_max = self.translator.conjunctions_max
        self.translator = Translator(self.predicates_max, unflatten(Conjunctions, arrays, "translated."), self.goal)
        self.translator.conjunctions_max = conjunctions_max

    def conjunctions(self, slots: I32 | None = None) -> Conjunctions:
        """Return all conjunctions of some slots, numbered from 0; without `slots`, those of the slots in `_built`."""
        subscriptions = self.source.snapshot().subscriptions
        chosen = self._built if slots is None else slots
        direct = chosen[subscriptions.kind[chosen] == CONJUNCTION]
        first, which = gather(subscriptions.start, direct)
        other = self.translator.conjunctions if slots is None else self.translator.select_conjunctions(slots)
        return Conjunctions(
            np.concatenate([direct, other.slot]),
            np.concatenate([first[:-1], first[-1] + other.start]),
            np.concatenate([subscriptions.code[which], other.predicate]),
        )


class ConjunctionReader(Reader):
    """A reader that runs the kernel of an engine and refines its matches.

    `index` is the kind that the kernel unpacks. `sizes` is its scratch kind with lengths in place of arrays. The
    scratch has a field `effort` of two int64, for candidates and for the predicates tested for them.
    """

    def __init__(self, kernel: Kernel, index: Any, sizes: Any, snapshot: Snapshot, refiner: Refiner) -> None:
        self._call, self._refiner = Call(kernel, index, snapshot, sizes), refiner

    def match(self, events: Events) -> Matches:
        return self._refiner.refine(self._call(events), events)

    def count_candidates(self, events: Events) -> int:
        return self.count_effort(events)[0]

    def count_effort(self, events: Events) -> tuple[int, int]:
        """Count the candidates and, if the engine counts them, the predicates tested for them."""
        candidates, predicates = self._call.count_effort(events)
        return candidates + self._refiner.count_candidates(events), predicates
