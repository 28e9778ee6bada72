"""The engine contract: an engine indexes slots of a store, and its readers find the slots that events satisfy.

One thread at a time changes an engine. Matching goes through a `Reader`, taken after a change. A reader sees the engine
as it was then, and any number of threads may use it while the engine changes further. So an engine never alters arrays
that a reader can see: it appends behind their ends, or writes new arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.scores import Scores
from tellwhen.containers.batches import EncodedSample
from tellwhen.kernels.arrays import F64, I32, U8, Events, Matches, Snapshot

INDEX_AT_ONCE = 10_000
"""Batches of at least 10,000 subscriptions are indexed immediately; smaller ones may stay pending."""

Capability = Literal["expressions"]

CAPABILITIES: dict[Capability, str] = {
    "expressions": "indexes any expression; other engines index a normal form, if it is within a budget",
}


class Source(Protocol):
    """The store that an engine indexes, as the engine sees it."""

    def snapshot(self) -> Snapshot:
        """Return the predicates and subscriptions as they are now."""

    def typical(self) -> EncodedSample:
        """Return typical events. They decide in which order engines test, and never what matches."""

    def is_presence(self) -> NDArray[np.bool_]:
        """Return for each domain whether it is a presence domain, which tells only if an event has the attribute."""

    def is_string(self) -> NDArray[np.bool_]:
        """Return for each domain whether its points are strings, or strings that are reversed."""

    @property
    def scores(self) -> Scores:
        """Scores of the subscriptions."""


class Option(NamedTuple):
    """A number that a user may pass to an engine, as in `tw.Index("betree", max_cap=5)`."""

    default: int
    least: int
    most: int
    meaning: str


STRICT = Option(0, 0, 1, "1 refuses an expression that is over budget; 0 gives it to the default engine")
"""An option of every engine without the capability "expressions"."""

NO_BITS = np.zeros(0, dtype=np.uint8)


class Tier(NamedTuple):
    """Some slots of a reader, with a bound for their ranks.

    No slot of the tier has a better rank than (`score`, `slot`), except those with a bit in `elsewhere`, which are in
    another tier too.
    """

    reader: Reader
    score: float
    slot: int
    elsewhere: U8 = NO_BITS


class Reader(ABC):
    """An engine at one moment. Any number of threads may use it."""

    @abstractmethod
    def match(self, events: Events) -> Matches:
        """Return exactly the slots that each event satisfies."""

    @abstractmethod
    def count_candidates(self, events: Events) -> int:
        """Count the subscriptions that matching tests, summed over the events. Slow, for benchmarks.

        This is the measure of the papers.
        """

    def list_tiers(self, changes: int) -> list[Tier]:
        """Return disjoint tiers of the slots, the best first.

        Parameters
        ----------
        changes
            The number of changes of scores until now. A reader may know only the bounds of an earlier moment; then it
            returns a single tier.
        """
        return [Tier(self, np.inf, 0)]


class AccessPath(NamedTuple):
    """One way in which an engine finds subscriptions, with the number of subscriptions that it finds so."""

    subscriptions: int
    how: str
    domain: int = -1
    """The domain whose name is appended to the text in `how`, or -1."""


class MatchCounts:
    """Counts of matched events and of their candidates. Several threads may count; a few lost counts do not matter."""

    __slots__ = ("candidates", "events")

    def __init__(self) -> None:
        self.events = self.candidates = 0


Undo = Callable[[], None]
"""Undoes the changes to an engine, wherever they stopped. No reader may have seen any of them."""


class Upkeep(ABC):
    """A piece of background work on an engine, while other threads match with the engine and change it."""

    @abstractmethod
    def run(self) -> None:
        """Run the long part of the work, in any thread; it reads only arrays that never change."""

    @abstractmethod
    def finish(self) -> bool:
        """Adopt the result while no thread changes the engine; return False if a change has made it useless."""


class Engine(ABC):
    """Base class of all engines.

    A subclass with a `name` registers itself, and the conformance suite finds it. A new engine implements `__len__`,
    `insert`, `delete`, `rebuild`, `reader`, `arrays`, `restore` and `stats`; everything else has a default.

    Parameters
    ----------
    source
        The store to index.
    **options
        Options by name. Options that are not given have their defaults.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    supports: ClassVar[frozenset[Capability]] = frozenset()
    options: ClassVar[Mapping[str, Option]] = {}
    has_match_counts: bool = False
    """Whether `match_counts` counts."""
    adapts_while_matching: bool = False
    """Whether matched events alone can make upkeep due."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            REGISTRY[cls.name] = cls
            if "expressions" not in cls.supports:
                cls.options = {**cls.options, "strict": STRICT}

    def __init__(self, source: Source, **options: int) -> None:
        self.source = source
        self.given_options = options
        self.option = {name: options.get(name, option.default) for name, option in self.options.items()}

    @property
    def spec(self) -> str:
        """Name and given options in one string, from which `create` makes an equal engine."""
        text = ",".join(f"{name}={value}" for name, value in self.given_options.items())
        return f"{self.name}:{text}" if text else self.name

    @property
    def named_engine(self) -> Engine:
        """The engine that `spec` names, if this engine adds a second engine to it; else this engine."""
        return self

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of indexed subscriptions that are not removed."""

    def can_index(self, slots: I32) -> NDArray[np.bool_]:
        """Return for each slot whether the engine can index it."""
        return np.ones(len(slots), dtype=np.bool_)

    @abstractmethod
    def insert(self, slots: I32) -> None:
        """Index slots that are new in the store, and for which `can_index` is true."""

    @abstractmethod
    def delete(self, slots: I32) -> None:
        """Remove slots that the store has just marked as removed."""

    def update_scores(self, slots: I32, scores: F64, before: int) -> None:  # noqa: B027  most engines know no scores
        """Take over scores that the store has just changed.

        Parameters
        ----------
        slots, scores
            The changed slots and their new scores.
        before
            The value of `source.scores.changes` before this change.
        """

    @abstractmethod
    def rebuild(self) -> None:
        """Index all live slots again, for other typical events or at the user's request."""

    def relabel(self, moves: Sequence[tuple[int, LabelMoves]]) -> None:
        """Replace the points of some domains by new ones, because labels were added between old ones.

        Apply the moves in their order; each has the number of a domain.
        """
        self.rebuild()

    def is_due(self) -> bool:
        """Return whether `upkeep` has work to do."""
        return False

    def upkeep(self) -> Upkeep | None:
        """Return the next piece of background work, or None."""
        return None

    def run_upkeep(self) -> None:
        """Run all pending background work in this thread."""
        while (work := self.upkeep()) is not None:
            work.run()
            work.finish()

    def mark(self) -> Undo | None:
        """Return a function that undoes all later changes; None if the engine must be built again instead."""
        return None

    @abstractmethod
    def reader(self) -> Reader:
        """Return a reader of the engine as it is now."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the index as named arrays, to be saved."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over saved arrays."""

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Return sizes and counts. `bytes` is what the engine needs besides the store."""

    def list_access_paths(self) -> list[AccessPath]:
        """Return the ways in which events find subscriptions, each with its number of subscriptions."""
        return [AccessPath(len(self), "are indexed")]

    def list_bands(self) -> list[tuple[int, float]]:
        """Return (size, highest score) of each band, in the order in which `top_k` searches the bands."""
        return []

    def find_always_tested(self) -> I32:
        """Return the slots that are tested on every event, because no index can rule them out."""
        return np.zeros(0, dtype=np.int32)

    def match_counts(self) -> MatchCounts:
        """Return the counts since the index was built; zeros if the engine does not count."""
        return MatchCounts()

    def adapt(self) -> None:
        """Optimise for new typical events: rebuild now or, in engines that can, later in the background."""
        self.rebuild()

    def verify(self) -> None:  # noqa: B027  an engine without a structure has nothing to check
        """Check the invariants of the whole structure; raise AssertionError if one is broken. Slow, for tests."""


REGISTRY: dict[str, type[Engine]] = {}
