"""What do engines of conjunctions have in common? Built in bulk; later subscriptions are pending until merged.

A subscription that is a conjunction is indexed as such; any other is translated to its disjunctive normal form, and all
conjunctions of that are indexed. Subscriptions added to a built index are *pending*, tested one by one, until there are
enough of them to be merged into it. Removed ones are skipped when found, until there are enough to be dropped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.normal_form import Conjunctions, Translator
from tellwhen.containers.csr import gather
from tellwhen.containers.growing import Growing
from tellwhen.containers.named import flatten, unflatten
from tellwhen.engines.base import Engine, Reader, Source
from tellwhen.engines.shared.calls import Call, Kernel, Refiner
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, I32, Events, Matches, Snapshot

PENDING_MIN = 64
"""Merge pending subscriptions once there are more than 64 of them and they are over 1/64 of the index.
Drop removed ones once there are more than 64 of them and they are over a quarter."""


class ConjunctionEngine(Engine):
    """An engine of conjunctions. A subclass says how they are indexed and read."""

    predicates_max: ClassVar[int] = 255
    """Predicates that a conjunction may have."""

    goal: ClassVar[int] = ACCEPT
    """The normal form: ACCEPT for conjunctions (disjunctive), REJECT for clauses (conjunctive)."""

    index_kind: ClassVar[type[Any]]
    """The NamedTuple of arrays that `_build` makes."""

    _index: Any

    def __init__(self, source: Source, **given: int) -> None:
        super().__init__(source, **given)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._pending = Growing(np.int32)  # slots not in it yet
        self._removed = 0
        self._translator = Translator(self.predicates_max, goal=self.goal)
        self._build()

    def __len__(self) -> int:
        return len(self._built) + self._pending.count - self._removed

    def takes(self, slots: I32) -> NDArray[np.bool_]:
        return self._translator.takes(self.source.snapshot().subscriptions, slots)

    def insert(self, slots: I32) -> None:
        self._translator.add(self.source.snapshot().subscriptions, slots)
        self._pending.extend(slots)
        if self._pending.count > max(PENDING_MIN, len(self._built) // 64):
            self.merge()

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)
        if self._removed > max(PENDING_MIN, (len(self._built) + self._pending.count) // 4):
            self.merge()

    def merge(self) -> None:
        """Take pending slots into the index and removed ones out of it. By default all is built again."""
        self.rebuild()

    def rebuild(self) -> None:
        self._built = self._alive(np.concatenate([self._built, self._pending.view]))
        self._pending = Growing(np.int32)
        self._removed = 0
        snapshot = self.source.snapshot()
        self._translator.forget(snapshot.subscriptions.died, snapshot.version)
        self._build()

    def _alive(self, slots: I32) -> I32:
        """Those of the slots that are not removed."""
        snapshot = self.source.snapshot()
        return slots[snapshot.subscriptions.died[slots] > snapshot.version]

    @abstractmethod
    def _build(self) -> None:
        """Make `_index` of the conjunctions of the slots in `_built`."""

    def reader(self) -> Reader:
        pending = Refiner(self._pending.view, self.source.snapshot())
        return self._index_reader(pending) if len(self._built) else pending

    @abstractmethod
    def _index_reader(self, refiner: Refiner) -> Reader:
        """A reader of the index, and of what the refiner knows is pending."""

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "built": self._built,
            "pending": self._pending.view,
            **flatten(self._translator.conjunctions, "translated."),
            **flatten(self._index, "index."),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._pending = Growing(np.int32, arrays["pending"])
        mine = np.concatenate([self._built, self._pending.view])
        self._removed = len(mine) - len(self._alive(mine))
        self._translator = Translator(self.predicates_max, unflatten(Conjunctions, arrays, "translated."), self.goal)
        self._index = unflatten(self.index_kind, arrays, "index.")

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "pending": self._pending.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }

    def conjunctions(self, slots: I32 | None = None) -> Conjunctions:
        """All conjunctions of some slots, of those in `_built` if none are given, numbered from 0."""
        subscriptions = self.source.snapshot().subscriptions
        chosen = self._built if slots is None else slots
        mine = chosen[subscriptions.kind[chosen] == CONJUNCTION]
        first, which = gather(subscriptions.start, mine)
        other = self._translator.conjunctions if slots is None else self._translator.conjunctions_of(slots)
        return Conjunctions(
            np.concatenate([mine, other.slot]),
            np.concatenate([first[:-1], first[-1] + other.start]),
            np.concatenate([subscriptions.code[which], other.predicate]),
        )


class ConjunctionReader(Reader):
    """Runs the kernel of an engine, and refines what it finds.

    `index` is the kind that the kernel unpacks. `sizes` is its scratch kind with lengths in place of arrays; the field
    `effort` of two int64 counts candidates, and the predicates tested for them.
    """

    def __init__(self, kernel: Kernel, index: Any, sizes: Any, snapshot: Snapshot, refiner: Refiner) -> None:
        self._call, self._refiner = Call(kernel, index, snapshot, sizes), refiner

    def match(self, events: Events) -> Matches:
        return self._refiner.exact(self._call(events), events)

    def candidates(self, events: Events) -> int:
        return self.effort(events)[0]

    def effort(self, events: Events) -> tuple[int, int]:
        """The candidates, and the predicates that were tested for them where the engine counts these."""
        candidates, predicates = self._call.effort(events)
        return candidates + self._refiner.candidates(events), predicates
