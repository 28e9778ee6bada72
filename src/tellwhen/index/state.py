"""What is in an index, for whoever matches and whoever changes it.

Any number of threads read `state`, which is replaced as a whole at the end of a change: a match sees what was there
before a change or after it, never in between. One thread at a time changes the shard. What can be done in the
background is done by a thread of its own (`background.py`).
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from tellwhen.compile import live_slots
from tellwhen.compile.attributes import Attributes
from tellwhen.compile.extract import find_attribute_names
from tellwhen.engines.base import Reader
from tellwhen.errors import StateError
from tellwhen.index.ids import Id, Ids, IdType, validate_id
from tellwhen.index.maintenance import background
from tellwhen.index.maintenance.compaction import Compaction
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.maintenance.upkeep import ShardUpkeep, engine_upkeep
from tellwhen.index.mismatches import Mismatches
from tellwhen.index.shard import Shard, ShardMark
from tellwhen.index.slots import SlotsById, unknown
from tellwhen.kernels.arrays import I32
from tellwhen.relaxed.index import StoreView

COMPACT_AT_ONCE = 10_000
"""Up to this many subscriptions are compacted within a change; more of them in the background, if there are texts."""

HANDOVER_SECONDS = 0.0005
"""A change sleeps for this long when the background thread waits for the lock. Otherwise a thread that makes one change
after the other would always take the lock again before the background thread gets it."""

TRIES = 2
"""How often it is tried to read while scores change, before it is done while none may change."""

Found = TypeVar("Found")


class State(NamedTuple):
    """All that matching needs, as it was after one change."""

    shard: Shard
    reader: Reader
    attributes: Attributes
    ids: Ids
    id_type: IdType
    length: int
    slots: int
    version: int
    view: StoreView

    @classmethod
    def of(cls, shard: Shard) -> State:
        """As the shard is now."""
        ids, engine, store = shard.ids, shard.engines, shard.store
        facts = ids, ids.type, len(engine), len(store), store.version
        return cls(shard, engine.reader(), store.attributes, *facts, StoreView.from_store(store))

    def most(self, k: int) -> int:
        """How many results there can be, of k that are wanted."""
        return min(k, max(1, self.length))

    def alive(self) -> list[int]:
        """The slots that are not removed."""
        return self.shard.store.find_alive(self.slots, self.version).tolist()

    def iter_listing(self, after: int = -1) -> Iterator[I32]:
        """Yield the live slots with ordinals above `after` in chunks, sorted by ordinal: see `ordinals.py`."""
        snapshot = self.view.snapshot
        return (live_slots.select_alive(snapshot, chunk) for chunk in self.ids.ordinals.iter_slots(self.slots, after))

    def asked(self) -> list[str]:
        """The names of the attributes that they ask for, in the order they came: the store also knows those of removed
        ones."""
        slots = self.shard.store.find_alive(self.slots, self.version)
        found = find_attribute_names(self.view.snapshot, slots, self.attributes)
        return [name for name in list(self.attributes.by_name) if name in found]


class Contents:
    """The shard of an index."""

    def __init__(self, shard: Shard, limit: MemoryLimit) -> None:
        self.limit = limit
        self.mismatches = Mismatches()
        self.state = State.of(shard)
        self._undo: tuple[Shard, ShardMark] | None = None
        self._renew_locks()
        _all.add(self)

    def _renew_locks(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self.upkeep: threading.Thread | None = None  # that works in the background
        self._is_waiting = False  # does it wait for the lock?

    @property
    def shard(self) -> Shard:
        return self.state.shard

    # reading

    def slots(self, shard: Shard) -> SlotsById:
        """The slots by id, of a shard that is or was in here."""
        known = shard.known_slots  # read once: another thread may undo a change
        if known is not None:
            return known
        with self._lock:  # made when first asked for
            return shard.slots

    def located(self, id_: Id) -> tuple[Shard, int]:
        """Where a subscription is; an error if there is none of this id."""
        shard = self.shard
        slot = self.slots(shard).get(validate_id(id_))
        if slot is None:
            raise unknown(id_, self.slots(shard).get)
        return shard, slot

    def at_one_moment(self, run: Callable[[State], Found]) -> tuple[State, Found]:
        """What comes of a state and its scores, if these do not change meanwhile; if they do, once more, while no score
        changes."""
        for _ in range(TRIES):
            scores = self.shard.store.scores
            before = scores.changes
            state = self.state
            if before & 1 or state.shard.store.scores is not scores:
                continue
            found = run(state)
            if scores.changes == before:
                return state, found
        with self._lock:
            return self.state, run(self.state)

    # changing

    @contextmanager
    def changing(self, is_removal: bool = False, rebuilds: bool = False) -> Iterator[Shard]:
        """One change at a time, published at its end; an iterator that changes the index it feeds is refused.

        A removal is never refused for the memory that it takes. With `rebuilds`, everything is built again at its end,
        without what was removed.
        """
        if self._is_waiting:
            time.sleep(HANDOVER_SECONDS)
        with self._lock:
            if self._busy:
                raise StateError("the index is in the middle of a change made by this very thread")
            try:
                self._busy = True
                self._take_back()  # what is left of an earlier change, if an interrupt came while it was taken back
                shard = self.shard
                before = self.limit.taken(shard)
                self._undo = shard, shard.mark()
                yield shard
                is_compacted = shard.is_sparse and (len(shard.engines) <= COMPACT_AT_ONCE or not shard.has_texts)
                is_compacted |= rebuilds and shard.store.removed > 0
                if is_compacted or (not is_removal and self.limit.is_worth_compacting(shard)):
                    shard = shard.copying()()
                if rebuilds:
                    shard.rebuild()
                if not is_removal:
                    self.limit.refuse_growth(shard, before)
                self.state = State.of(shard)
                self._undo = None
            except BaseException:
                self._take_back()
                raise
            finally:
                self._busy = False
            self.keep_up()

    @contextmanager
    def whole(self) -> Iterator[Shard]:
        """The shard, with no change in the middle of it: to be written, copied or counted."""
        with self._lock:
            if self._busy:
                raise StateError("the index is in the middle of a change made by this very thread; wait for its end")
            # An interrupt while a change was taken back, or a fork while another thread made one, may have left it.
            self._take_back()
            yield self.shard

    def _take_back(self) -> None:
        if self._undo is not None:
            shard, mark = self._undo
            shard.rewind(mark)
            self.state = State.of(shard)
            self._undo = None

    # keeping up

    def keep_up(self) -> None:
        """Start the thread if there is something for it to do, unless it is at work. With the lock: else it might end
        before it is noted."""
        if self.upkeep is None or not self.upkeep.is_alive():
            shard = self.shard
            is_due = shard.is_sparse or shard.engines.is_due()
            if is_due and self.limit.has_room_to_build(shard):
                self.upkeep = background.start(self._next_upkeep, self._finish_upkeep)

    def keep_up_unless_busy(self) -> None:
        """The same from a thread that must not wait for a change."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._busy:
                    self.keep_up()
            finally:
                self._lock.release()

    @contextmanager
    def _waiting(self) -> Iterator[Shard]:
        self._is_waiting = True
        with self.whole() as shard:
            self._is_waiting = False
            yield shard

    def _next_upkeep(self) -> ShardUpkeep | None:
        with self._waiting() as shard:
            work: ShardUpkeep | None = None
            if self.limit.has_room_to_build(shard):
                work = Compaction(shard) if shard.is_sparse else engine_upkeep(shard)
            if work is None:
                self.upkeep = None
            return work

    def _finish_upkeep(self, work: ShardUpkeep) -> bool:
        with self._waiting() as shard:
            if work.shard is not shard:
                return True  # another shard has taken its place: the work is useless
            is_done = work.finish()
            if work.result is not None:
                self.state = State.of(work.result)
            return is_done


_all: weakref.WeakSet[Contents] = weakref.WeakSet()


def _renew_locks_in_child() -> None:
    # Another thread may have been in the middle of a change. It is not in the child, and would never let go of the
    # lock; what it left half done is taken back by the next change.
    for contents in _all:
        contents._renew_locks()
        contents.mismatches.renew_lock()
        for name in ("relaxed", "payload_columns"):  # made again: another thread may have held its lock
            contents.shard.__dict__.pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks_in_child)
