"""What is an engine? It indexes slots of a store, and answers which of them a batch of events satisfies.

An engine changes only in one thread. Matching goes through a `Reader`, taken after a change: it sees the engine as it
was then, for ever, and may be used from any number of threads while the engine goes on changing. So an engine must
never alter arrays that a reader can see: it writes behind their ends, or into new ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.subscriptions import Store, View
from tellwhen.errors import EngineError
from tellwhen.kernels.arrays import I32, Events, Matches
from tellwhen.kernels.evaluate import complete

Capability = Literal["delete", "interval_events", "expressions"]

CAPABILITIES: dict[Capability, str] = {
    "delete": "removes subscriptions at any time",
    "interval_events": "events may carry intervals and several values per attribute",
    "expressions": "takes any expression as it is; other engines take a normal form of it, within a budget",
}


class Option(NamedTuple):
    """A number that an engine may be given behind its name, as in `betree:max_cap=5`."""

    default: int
    least: int
    most: int
    meaning: str


class EngineInfo(NamedTuple):
    """What `tellwhen.engines()` lists."""

    name: str
    summary: str
    supports: frozenset[Capability]
    options: Mapping[str, Option]


class Reader(ABC):
    """An engine at one moment."""

    @abstractmethod
    def match(self, events: Events) -> Matches:
        """All slots that each event satisfies, exactly."""

    @abstractmethod
    def candidates(self, events: Events) -> int:
        """How many subscriptions matching looks at, all events together: the measure of the papers. Not fast."""


class Engine(ABC):
    """Base of all engines. A subclass with a `name` registers itself and is found by the conformance suite."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    supports: ClassVar[frozenset[Capability]] = frozenset()
    options: ClassVar[Mapping[str, Option]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            REGISTRY[cls.name] = cls

    def __init__(self, store: Store, **given: int) -> None:
        self.store = store
        self.given = given
        self.option = {name: given.get(name, option.default) for name, option in self.options.items()}

    @property
    def spec(self) -> str:
        """What `create` makes an engine like this one of: its name, and the options it was given."""
        given = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.name}:{given}" if given else self.name

    @abstractmethod
    def __len__(self) -> int:
        """Subscriptions indexed and not removed."""

    def takes(self, slots: I32) -> NDArray[np.bool_]:
        """Which of the slots can it index?"""
        return np.ones(len(slots), dtype=np.bool_)

    @abstractmethod
    def insert(self, slots: I32) -> None:
        """Index slots that the store has just got, and that it takes."""

    @abstractmethod
    def delete(self, slots: I32) -> None:
        """Forget slots that the store has just marked as removed."""

    @abstractmethod
    def rebuild(self) -> None:
        """Index the live slots anew, all of them: their points have moved, or the user wants it done now."""

    @abstractmethod
    def reader(self) -> Reader:
        """What matching needs, frozen."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The index as named arrays, to be saved."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over saved arrays."""

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Sizes and counts; `bytes` is what the engine needs besides the store."""

    def verify(self) -> None:  # noqa: B027  an engine without a structure has nothing to look at
        """Look at the whole structure; raises AssertionError where something is not as it must be. Not fast."""

    @classmethod
    def require(cls, capability: Capability) -> None:
        """Raises EngineError, naming the engines that can, when this one cannot."""
        if capability not in cls.supports:
            raise EngineError(
                f"{cls.name} lacks {capability} ({CAPABILITIES[capability]}); "
                f"engines that have it: {', '.join(able(capability))}"
            )


REGISTRY: dict[str, type[Engine]] = {}


def able(capability: Capability) -> list[str]:
    """The engines that have it."""
    return sorted(name for name, engine in REGISTRY.items() if capability in engine.supports)


ROOM = 1 << 22
"""Matches, at most, that an output has room for before any is known."""

_room: dict[Callable[..., int], int] = {}  # by kernel: matches per event, as they were lately


def fill(kernel: Callable[..., int], events: Events, *args: Any) -> Matches:
    """Run a kernel that fills an output of unknown size: it stops when full, the output grows, it goes on.

    Arrays go to a kernel one by one: in a NamedTuple each costs three times as much to hand over.
    """
    count = len(events.start) - 1
    start = np.zeros(count + 1, dtype=np.int64)
    # As much as the last batch needed, and some more: an event that does not fit is matched again.
    out = np.empty(64 + count * 4 + min(count * _room.get(kernel, 0), ROOM), dtype=np.int32)
    done = kernel(*args, *events, 0, start, out)
    while done < count:
        grown = np.empty(4 * len(out), dtype=np.int32)
        grown[: start[done]] = out[: start[done]]
        out = grown
        done = kernel(*args, *events, done, start, out)
    if count:
        _room[kernel] = int(start[count]) * 5 // (4 * count)
    return Matches(start, out[: start[count]])


Sizes = tuple[tuple[str, int, Any], ...]


class Scratch:
    """Working arrays that kernels leave as they need them. Allocating them would cost more than a match."""

    def __init__(self) -> None:
        self._pool: list[dict[str, np.ndarray]] = []

    def take(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Arrays of at least these sizes, zero when new, in their order, that no other thread uses until given back."""
        try:
            arrays = self._pool.pop()
        except IndexError:
            arrays = {}
        for name, size, dtype in sizes:
            if name not in arrays or len(arrays[name]) < size:
                arrays[name] = np.zeros(size * 5 // 4 + 1, dtype=dtype)
        return arrays

    def give(self, arrays: dict[str, np.ndarray]) -> None:
        """Back to the pool. Not called when a kernel failed: a dirty set is never used again."""
        self._pool.append(arrays)


class Completion:
    """Makes matches exact, for engines that index most of their slots, and answer for single values."""

    _scratch = Scratch()

    def __init__(self, loose: I32, view: View) -> None:
        self._loose, self._view = loose, view

    def __call__(self, found: Matches, events: Events) -> Matches:
        """Look again at the matches of events with several values or intervals, and at all loose slots."""
        # Bytes, because all() of a short array costs a microsecond.
        if not len(self._loose) and b"\0" not in events.plain.tobytes():
            return found
        view = self._view
        arrays = self._scratch.take(
            (
                ("first", view.lines, np.int32),
                ("truth", len(view.predicates.line) // 64 + 1, np.uint64),
                ("registers", view.registers, np.uint8),
            )
        )
        matches = fill(
            complete, events, *found, self._loose, view.version, *arrays.values(), *view.predicates, *view.subscriptions
        )
        self._scratch.give(arrays)
        return matches


class Union(Reader):
    """Several readers over disjoint slots."""

    def __init__(self, readers: list[Reader]) -> None:
        self._readers = readers

    def match(self, events: Events) -> Matches:
        count = len(events.start) - 1
        if not self._readers:
            return Matches(np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        found = [reader.match(events) for reader in self._readers]
        lengths = [np.diff(matches.start) for matches in found]
        start = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(sum(lengths), out=start[1:])
        slot = np.empty(start[-1], dtype=np.int32)
        at = start[:-1].copy()
        for matches, length in zip(found, lengths, strict=True):
            where = np.repeat(at - matches.start[:-1], length) + np.arange(len(matches.slot))
            slot[where] = matches.slot
            at += length
        return Matches(start, slot)

    def candidates(self, events: Events) -> int:
        return sum(reader.candidates(events) for reader in self._readers)


def prefixed(prefix: str, arrays: Any) -> dict[str, np.ndarray]:
    """A NamedTuple of arrays as named arrays, to be saved beside others."""
    return {f"{prefix}.{name}": array for name, array in arrays._asdict().items()}


def unprefixed(prefix: str, kind: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The NamedTuple back."""
    return kind(*(arrays[f"{prefix}.{name}"] for name in kind._fields))
