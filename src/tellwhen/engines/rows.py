"""What have engines of conjunctions in common? They are built in bulk; what comes later waits, what goes is forgotten.

An engine indexes *rows*. A subscription that is a conjunction is one row; another expression is as many as its
disjunctive form has conjunctions. Subscriptions added to a built index are *loose*, looked at one by one, until there
are enough of them to build again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.batch import one_by_one
from tellwhen.compile.csr import gather
from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store
from tellwhen.compile.translate import Rows, Translator
from tellwhen.engines.base import (
    Capability,
    Completion,
    Engine,
    Reader,
    Scratch,
    Sizes,
    fill,
    prefixed,
    unprefixed,
)
from tellwhen.kernels.arrays import ACCEPT, I32, ROW, Events, Matches

LOOSE = 64
"""So many subscriptions, or a sixty-fourth, may wait to be built in, and so many, or a quarter, to be forgotten."""


class RowEngine(Engine):
    """An engine of conjunctions. A subclass says how rows are built and read."""

    supports: ClassVar[frozenset[Capability]] = frozenset({"delete", "interval_events"})
    longest: ClassVar[int] = 255
    """Predicates that a row may have."""

    goal: ClassVar[int] = ACCEPT
    """What other expressions are translated to: conjunctions, or with REJECT clauses."""

    scratch: ClassVar[Scratch]
    """Of all indexes of one engine: a kernel call uses a set of it at a time."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.scratch = Scratch()

    def __init__(self, store: Store, **given: int) -> None:
        super().__init__(store, **given)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._loose = Growing(np.int32)  # slots not in it
        self._dead = 0
        self._translator = Translator(self.longest, goal=self.goal)
        self._build()

    def __len__(self) -> int:
        return len(self._built) + self._loose.count - self._dead

    def takes(self, slots: I32) -> NDArray[np.bool_]:
        return self._translator.takes(self.store.view().subscriptions, slots)

    def insert(self, slots: I32) -> None:
        self._translator.add(self.store.view().subscriptions, slots)
        self._loose.extend(slots)
        if self._loose.count > max(LOOSE, len(self._built) // 64):
            self.settle()

    def delete(self, slots: I32) -> None:
        self._dead += len(slots)
        if self._dead > max(LOOSE, (len(self._built) + self._loose.count) // 4):
            self.settle()

    def settle(self) -> None:
        """Take into the index what is loose, and out of it what is dead; an engine that can leaves the rest alone."""
        self.rebuild()

    def rebuild(self) -> None:
        mine = np.concatenate([self._built, self._loose.view])
        self._built = mine[self.store.died[mine] > self.store.version]
        self._loose = Growing(np.int32)
        self._dead = 0
        self._translator.forget(self.store.died, self.store.version)
        self._build()

    @abstractmethod
    def _build(self) -> None:
        """Index the rows of the slots in `_built`."""

    @abstractmethod
    def _index_arrays(self) -> dict[str, np.ndarray]:
        """What `_build` made, as named arrays."""

    @abstractmethod
    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take it over again."""

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"built": self._built, "loose": self._loose.view, **self._index_arrays()}
        return named | prefixed("rows", self._translator.rows)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._loose = Growing(np.int32, arrays["loose"])
        mine = np.concatenate([self._built, self._loose.view])
        self._dead = int(np.count_nonzero(self.store.died[mine] <= self.store.version))
        self._translator = Translator(self.longest, unprefixed("rows", Rows, arrays), self.goal)
        self._restore_index(arrays)

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._dead,
            "loose": self._loose.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }

    def rows(self, slots: I32 | None = None) -> Rows:
        """All rows of some slots, those in `_built` if none are given, numbered from 0."""
        kind, start, code, _ = self.store.view().subscriptions
        chosen = self._built if slots is None else slots
        mine = chosen[kind[chosen] == ROW]
        first, which = gather(start, mine)
        other = self._translator.rows if slots is None else self._translator.rows_of(slots)
        return Rows(
            np.concatenate([mine, other.slot]),
            np.concatenate([first[:-1], first[-1] + other.start]),
            np.concatenate([code[which], other.predicate]),
        )


class RowReader(Reader):
    """Runs an engine's kernel, and makes what it finds exact.

    The kernel takes the index, who has died, scratch arrays of the given sizes, `tail`, and the events. The last two of
    the scratch are the same for all: `stamps` for slots of several rows, and `looked`, which counts candidates, and the
    predicates tested for them; where counting costs time a kernel does it only if it finds a 1 there.
    """

    def __init__(
        self,
        engine: RowEngine,
        kernel: Callable[..., int],
        index: tuple[np.ndarray, ...],
        sizes: Sizes = (),
        tail: tuple[np.ndarray, ...] = (),
        aside: I32 | None = None,
    ) -> None:
        view = engine.store.view()
        self._kernel, self._scratch, self._tail = kernel, engine.scratch, tail
        self._arguments = *index, view.subscriptions.died, view.version, view.removed
        self._sizes = *sizes, ("stamps", len(view.subscriptions.kind) + 1, np.int64), ("looked", 2, np.int64)
        loose = engine._loose.view if aside is None else np.concatenate([engine._loose.view, aside])
        self._completion, self._loose = Completion(loose, view), len(loose)

    def match(self, events: Events) -> Matches:
        arrays = self._scratch.take(self._sizes)
        matches = fill(self._kernel, events, *self._arguments, *arrays.values(), *self._tail)
        self._scratch.give(arrays)
        return self._completion(matches, events)

    def candidates(self, events: Events) -> int:
        return self.effort(events)[0]

    def effort(self, events: Events) -> tuple[int, int]:
        """The candidates, and how many predicates were tested for them, if the engine counts these."""
        arrays = self._scratch.take(self._sizes)
        found, tested = self._loose * (len(events.start) - 1), 0
        for event in one_by_one(events):  # a kernel whose output is full looks again: what counts is the last time
            done = 0
            out = np.empty(64, dtype=np.int32)
            while not done:
                arrays["looked"][:2] = 1, 0
                start, out = np.zeros(2, dtype=np.int64), np.empty(2 * len(out), dtype=np.int32)
                done = self._kernel(*self._arguments, *arrays.values(), *self._tail, *event, 0, start, out)
            found += int(arrays["looked"][0]) - 1
            tested += int(arrays["looked"][1])
        arrays["looked"][:] = 0
        self._scratch.give(arrays)
        return found, tested
