"""The contents of an index, and the lock under which they change.

Any number of threads read `state`, which is replaced as a whole at the end of a change: a match sees the index before a
change or after it, never in between. One thread at a time changes the shard. Background work has a thread of its own
(`maintenance/background.py`).
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
from tellwhen.index.limits import INDEX_LIMITS, CompactionLimits
from tellwhen.index.maintenance import background
from tellwhen.index.maintenance.compaction import Compaction
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.maintenance.upkeep import ShardUpkeep, make_engine_upkeep
from tellwhen.index.mismatches import Mismatches
from tellwhen.index.payloads import FilteredReader, SlotFilter, Where, validate_where
from tellwhen.index.shard import Shard, ShardMark
from tellwhen.index.slots import SlotsById, make_unknown_id_error
from tellwhen.kernels.arrays import I32
from tellwhen.relaxed.index import StoreView

HANDOVER_SECONDS = 0.0005
"""Sleep this long before a change if the background thread waits for the lock.

Otherwise a thread that makes one change after the other would always take the lock again before the background thread.
"""

EXIT_POLL_SECONDS = 0.2
"""While upkeep waits for the lock, check every 0.2 seconds whether the process exits."""

LOCK_FREE_ATTEMPTS = 2
"""Read twice without the lock while scores change, then read under the lock."""

Result = TypeVar("Result")


class State(NamedTuple):
    """An index after one change, with everything that matching needs. It never changes, apart from scores."""

    shard: Shard
    reader: Reader
    attributes: Attributes
    ids: Ids
    id_type: IdType
    length: int
    """The number of subscriptions."""
    slot_count: int
    """The number of slots, removed ones included."""
    version: int
    view: StoreView

    @classmethod
    def capture(cls, shard: Shard) -> State:
        """Return the present state of a shard."""
        ids, engine, store = shard.ids, shard.engines, shard.store
        counts = len(engine), len(store), store.version
        return cls(shard, engine.reader(), store.attributes, ids, ids.type, *counts, StoreView.from_store(store))

    def limit_k(self, k: int) -> int:
        """Return k, or the number of subscriptions if that is less. The result is at least 1."""
        return min(k, max(1, self.length))

    def get_reader(self, where: Where) -> Reader:
        """Return a reader of the slots whose payloads satisfy `where`."""
        if where is None:
            return self.reader
        payload_filter = self.make_filter(where)
        return self.reader if payload_filter is None else FilteredReader(self.reader, payload_filter)

    def make_filter(self, where: Where) -> SlotFilter | None:
        """Return a filter of the slots whose payloads satisfy `where`; None if there are no conditions."""
        conditions = validate_where(where)
        return None if conditions is None else self.shard.payload_columns.build_filter(conditions, self.slot_count)

    def list_live_slots(self) -> list[int]:
        """Return the slots that are not removed, ascending."""
        return self.shard.store.find_alive(self.slot_count, self.version).tolist()

    def iter_listing(self, after: int = -1) -> Iterator[I32]:
        """Yield the live slots with ordinals above `after` in chunks, sorted by ordinal: see `ordinals.py`."""
        snapshot = self.view.snapshot
        return (
            live_slots.select_alive(snapshot, chunk) for chunk in self.ids.ordinals.iter_slots(self.slot_count, after)
        )

    def list_needed_attributes(self) -> list[str]:
        """Return the attributes of live subscriptions, in the order in which they were first used.

        Unlike these, `attributes` includes the attributes of removed subscriptions.
        """
        slots = self.shard.store.find_alive(self.slot_count, self.version)
        names = find_attribute_names(self.view.snapshot, slots, self.attributes)
        return [name for name in list(self.attributes.by_name) if name in names]


class Contents:
    """The shard of an index with its lock: changes are made one at a time, and undone if they fail."""

    def __init__(
        self, shard: Shard, limit: MemoryLimit, compaction_limits: CompactionLimits = INDEX_LIMITS.compaction
    ) -> None:
        self.limit, self.compaction_limits = limit, compaction_limits
        self.mismatches = Mismatches()
        self.state = State.capture(shard)
        self._unfinished: tuple[Shard, ShardMark] | None = None  # the shard that is being changed, and its start
        self.reset_locks()
        _all_contents.add(self)

    def reset_locks(self) -> None:
        """Replace the locks, and forget the background thread, which does not exist in a forked process."""
        self._lock = threading.RLock()
        self._is_changing = False
        self.upkeep_thread: threading.Thread | None = None
        self._is_upkeep_waiting = False  # the background thread waits for the lock

    @property
    def shard(self) -> Shard:
        return self.state.shard

    # Reading

    def get_slots(self, shard: Shard) -> SlotsById:
        """Return the slots by id of a shard that is or was the shard of this index."""
        cached = shard.cached_slots  # read once: another thread may undo a change
        if cached is not None:
            return cached
        with self._lock:
            return shard.slots

    def locate(self, id_: Id) -> tuple[Shard, int]:
        """Return the shard and the slot of a subscription; raise UnknownId if no subscription has the id."""
        shard = self.shard
        slot = self.get_slots(shard).get(validate_id(id_))
        if slot is None:
            raise make_unknown_id_error(id_, self.get_slots(shard).get)
        return shard, slot

    def read_with_scores(self, read: Callable[[State], Result]) -> tuple[State, Result]:
        """Call `read` with a state, so that no score changes during the call; return the state and the result.

        Scores change in place. If one changes during the call, the result is dropped and `read` is called again, in the
        end under the lock.
        """
        for _ in range(LOCK_FREE_ATTEMPTS):
            scores = self.shard.store.scores
            changes = scores.changes
            state = self.state
            if changes & 1 or state.shard.store.scores is not scores:
                continue
            result = read(state)
            if scores.changes == changes:
                return state, result
        with self._lock:
            return self.state, read(self.state)

    # Changes

    @contextmanager
    def change(self, is_removal: bool = False, needs_rebuild: bool = False) -> Iterator[Shard]:
        """Yield the shard to be changed; publish the change at the end, or undo it after an error.

        Parameters
        ----------
        is_removal
            Whether to ignore the memory limit: a removal may take memory for a moment.
        needs_rebuild
            Whether to rebuild the engine at the end, without removed subscriptions.

        Raises
        ------
        StateError
            If this thread is already changing the index: an iterator of subscriptions must not change the index.
        """
        if self._is_upkeep_waiting:
            time.sleep(HANDOVER_SECONDS)
        with self._lock:
            if self._is_changing:
                raise StateError(
                    "the index is in the middle of a change made by this thread: subscriptions must not come from an "
                    "iterator that changes the same index"
                )
            try:
                self._is_changing = True
                self._undo_unfinished()  # an interrupt may have stopped the undoing of an earlier change
                shard = self.shard
                bytes_before = self.limit.count_bytes(shard)
                self._unfinished = shard, shard.mark()
                yield shard
                inline_max = self.compaction_limits.inline_subscriptions_max
                is_compacted = self._is_sparse(shard) and len(shard.engines) <= inline_max
                is_compacted |= needs_rebuild and shard.store.removed > 0
                if is_compacted or (not is_removal and self.limit.is_worth_compacting(shard)):
                    shard = shard.prepare_copy()()
                if needs_rebuild:
                    shard.rebuild()
                if not is_removal:
                    self.limit.refuse_growth(shard, bytes_before)
                self.state = State.capture(shard)
                self._unfinished = None
            except BaseException:
                self._undo_unfinished()
                raise
            finally:
                self._is_changing = False
            self.start_due_upkeep()

    @contextmanager
    def lock_shard(self) -> Iterator[Shard]:
        """Yield the shard for reading; no change is under way and none begins.

        Raises
        ------
        StateError
            If this thread is changing the index.
        """
        with self._lock:
            if self._is_changing:
                raise StateError(
                    "the index is in the middle of a change made by this thread: subscriptions must not come from an "
                    "iterator that reads or saves the same index as a whole"
                )
            # A change may be unfinished if an interrupt stopped its undoing, or if the process was forked during it.
            self._undo_unfinished()
            yield self.shard

    def _undo_unfinished(self) -> None:
        if self._unfinished is not None:
            shard, mark = self._unfinished
            shard.rewind(mark)
            self.state = State.capture(shard)
            self._unfinished = None

    # Upkeep

    def _is_sparse(self, shard: Shard) -> bool:
        return shard.is_sparse(self.compaction_limits.removed_slots_min)

    def start_due_upkeep(self) -> None:
        """Start the background thread if there is work and it is not running.

        The caller holds the lock: otherwise the thread might end before `upkeep_thread` is set.
        """
        if self.upkeep_thread is None or not self.upkeep_thread.is_alive():
            shard = self.shard
            is_due = self._is_sparse(shard) or shard.engines.is_due()
            if is_due and self.limit.has_room_to_build(shard):
                self.upkeep_thread = background.start(self._take_upkeep, self._finish_upkeep)

    def try_start_due_upkeep(self) -> None:
        """Start the background thread if there is work, unless the lock is held: never wait for a change."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._is_changing:
                    self.start_due_upkeep()
            finally:
                self._lock.release()

    @contextmanager
    def _lock_shard_for_upkeep(self) -> Iterator[Shard]:
        """Lock the shard; raise ProcessExit if the process exits meanwhile, which must not wait for a long change."""
        self._is_upkeep_waiting = True
        while not self._lock.acquire(timeout=EXIT_POLL_SECONDS):
            background.raise_if_exiting()
        try:
            self._is_upkeep_waiting = False
            with self.lock_shard() as shard:
                yield shard
        finally:
            self._lock.release()

    def _take_upkeep(self) -> ShardUpkeep | None:
        with self._lock_shard_for_upkeep() as shard:
            work: ShardUpkeep | None = None
            if self.limit.has_room_to_build(shard):
                work = Compaction(shard) if self._is_sparse(shard) else make_engine_upkeep(shard)
            if work is None:
                self.upkeep_thread = None
            return work

    def _finish_upkeep(self, work: ShardUpkeep) -> bool:
        with self._lock_shard_for_upkeep() as shard:
            if work.shard is not shard:
                return True  # the shard was replaced, so the work is useless
            is_done = work.finish()
            if work.result is not None:
                self.state = State.capture(work.result)
            return is_done


_all_contents: weakref.WeakSet[Contents] = weakref.WeakSet()


def _reset_locks_in_child() -> None:
    """Replace all locks in a forked process, since the threads that hold them do not exist there.

    A change that another thread had begun is undone before the next one.
    """
    for contents in _all_contents:
        contents.reset_locks()
        contents.mismatches.renew_lock()
        for name in ("relaxed", "weighted", "payload_columns"):  # cached properties with locks; they are made again
            contents.shard.__dict__.pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_locks_in_child)
