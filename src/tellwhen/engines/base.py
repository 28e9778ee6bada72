"""What is an engine? It indexes slots of a store, and answers which of them a batch of events satisfies.

One thread at a time changes an engine. Matching goes through a `Reader`, taken after a change: it sees the engine as it
was then, for ever, and any number of threads may use it while the engine goes on changing. So an engine never alters
arrays that a reader can see: it writes behind their ends, or into new ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import Moved
from tellwhen.compile.scores import Scores
from tellwhen.containers.batches import Typical
from tellwhen.kernels.arrays import F64, I32, U8, Events, Matches, Snapshot

INDEX_AT_ONCE = 10_000
"""Batches of at least this many subscriptions are indexed immediately; smaller ones may stay pending."""

Capability = Literal["expressions"]

CAPABILITIES: dict[Capability, str] = {
    "expressions": "takes any expression as it is; other engines take a normal form of it, within a budget",
}


class Source(Protocol):
    """What an engine sees of the store that it indexes."""

    def snapshot(self) -> Snapshot:
        """The predicates and subscriptions as they are now."""

    def typical(self) -> Typical:
        """The events to expect. What is tested first is chosen by them; answers never depend on them."""

    def is_presence(self) -> NDArray[np.bool_]:
        """By domain: does it tell only whether an attribute is there?"""

    @property
    def scores(self) -> Scores:
        """What the subscriptions are worth."""


class Option(NamedTuple):
    """A number that an engine takes: `tw.Index("betree", max_cap=5)`."""

    default: int
    least: int
    most: int
    meaning: str


STRICT = Option(0, 0, 1, "1 refuses an expression that is over budget; 0 gives it to the default engine")
"""An option of every engine that does not take any expression."""


NO_BITS = np.zeros(0, dtype=np.uint8)


class Tier(NamedTuple):
    """Some of the slots of a reader. None of them has a better rank than this score and slot, except for those that
    have a bit in `elsewhere`: these are in another tier, too."""

    reader: Reader
    score: float
    slot: int
    elsewhere: U8 = NO_BITS


class Reader(ABC):
    """An engine at one moment."""

    @abstractmethod
    def match(self, events: Events) -> Matches:
        """All slots that each event satisfies, exactly."""

    @abstractmethod
    def count_candidates(self, events: Events) -> int:
        """Subscriptions that matching tests, summed over the events: the papers' measure. Slow, for benchmarks."""

    def list_tiers(self, changes: int) -> list[Tier]:
        """The same in tiers of slots by what they are worth, the best first. `changes` is how often scores
        have changed so far: a reader may know bounds from before."""
        return [Tier(self, np.inf, 0)]


class Share(NamedTuple):
    """Some subscriptions, and how the engine finds them."""

    subscriptions: int
    how: str
    domain: int = -1
    """By which domain, if the words end with it."""


class MatchCounts:
    """What matching has met so far. Several threads may count at once: a few more or less do not matter."""

    __slots__ = ("candidates", "events")

    def __init__(self) -> None:
        self.events = self.candidates = 0


Undo = Callable[[], None]
"""Undoes the changes to an engine, wherever they stopped. No reader may have seen any of them."""


class Upkeep(ABC):
    """Background work on an engine, while others match with it and change it."""

    @abstractmethod
    def run(self) -> None:
        """The long part, in any thread: it reads only what never changes."""

    @abstractmethod
    def finish(self) -> bool:
        """The short part, while nobody changes the engine. False if a change has made the work useless."""


class Engine(ABC):
    """Base of all engines. A subclass with a `name` registers itself, and the conformance suite finds it."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    supports: ClassVar[frozenset[Capability]] = frozenset()
    options: ClassVar[Mapping[str, Option]] = {}
    has_match_counts: bool = False
    """Does `counted` tell what matching has met?"""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            REGISTRY[cls.name] = cls
            if "expressions" not in cls.supports:
                cls.options = {**cls.options, "strict": STRICT}

    def __init__(self, source: Source, **given: int) -> None:
        self.source = source
        self.given = given
        self.option = {name: given.get(name, option.default) for name, option in self.options.items()}

    @property
    def spec(self) -> str:
        """The name and the given options in one string, from which `create` makes an equal engine."""
        given = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.name}:{given}" if given else self.name

    @abstractmethod
    def __len__(self) -> int:
        """Subscriptions indexed and not removed."""

    def can_index(self, slots: I32) -> NDArray[np.bool_]:
        """Which of the slots can it index?"""
        return np.ones(len(slots), dtype=np.bool_)

    @abstractmethod
    def insert(self, slots: I32) -> None:
        """Index slots that are new in the store, and that it takes."""

    @abstractmethod
    def delete(self, slots: I32) -> None:
        """Forget slots that the store has just marked as removed."""

    def update_scores(self, slots: I32, scores: F64, before: int) -> None:  # noqa: B027  most engines know no scores
        """The store has just changed the scores of these slots; `before` is what its `changes` was until then."""

    @abstractmethod
    def rebuild(self) -> None:
        """Index all live slots again: there are other typical events, or the user asks."""

    def move(self, moves: Sequence[tuple[int, Moved]]) -> None:
        """Stored points of some domains have moved, one relabelling after the other."""
        self.rebuild()

    def is_due(self) -> bool:
        """Is there work to do in the background?"""
        return False

    def upkeep(self) -> Upkeep | None:
        """The next piece of background work, if there is any."""
        return None

    def run_upkeep(self) -> None:
        """Do all background work now."""
        while (work := self.upkeep()) is not None:
            work.run()
            work.finish()

    def mark(self) -> Undo | None:
        """What undoes all changes from now on; None if the engine would have to be built again."""
        return None

    @abstractmethod
    def reader(self) -> Reader:
        """The engine as it is now, for matching."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The index as named arrays, to be saved."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over saved arrays."""

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Sizes and counts; `bytes` is what the engine needs besides the store."""

    def list_shares(self) -> list[Share]:
        """What is chosen for how many subscriptions."""
        return [Share(len(self), "are indexed")]

    def bands(self) -> list[tuple[int, float]]:
        """The sets of slots in which the best k are looked for one after the other: sizes and highest scores."""
        return []

    def find_always_tested(self) -> I32:
        """The slots that every event must be tested against, because no index can rule them out."""
        return np.zeros(0, dtype=np.int32)

    def match_counts(self) -> MatchCounts:
        """What matching has met so far; nothing if the engine does not count."""
        return MatchCounts()

    def adapt(self) -> None:
        """Optimize for new typical events: rebuild now or, in engines that can, later in the background."""
        self.rebuild()

    def verify(self) -> None:  # noqa: B027  an engine without a structure has nothing to check
        """Check the invariants of the whole structure; raises AssertionError. Slow, for tests."""


REGISTRY: dict[str, type[Engine]] = {}
