"""Calls of matching kernels: with packed arrays, scratch from a pool, and an output that grows until all matches fit.

All matching kernels have one form: `kernel(index, snapshot, scratch, events, out, event)`. The first three arguments
are packed (`kernels/handover.py`). The kernel fills `out` from `event` on, and returns the first event whose matches
did not fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.batches import split_events
from tellwhen.engines.base import MatchCounts, Reader
from tellwhen.engines.shared.kernels.refine import RefineIndex, RefineScratch, refine
from tellwhen.kernels.arrays import I32, I64, Events, Matches, Snapshot
from tellwhen.kernels.handover import allocate_arrays, pack

MATCHES_MIN = 1_024
"""Every output has room for at least 1,024 matches."""

INITIAL_MATCHES_MAX = 1 << 24
"""A new output has room for at most 16 Mi more matches. Pages that are not written take no memory."""

Kernel = Callable[..., int]

_matches_per_event: dict[Kernel, int] = {}  # a decaying maximum


class Scratch:
    """A set of working arrays for one kind of kernel, with their packed addresses."""

    __slots__ = ("arrays", "fits", "packed")

    def __init__(self, sizes: Any) -> None:
        self.arrays = allocate_arrays(sizes)
        self.packed = pack(self.arrays)
        self.fits = sizes  # the last sizes for which the arrays were found large enough

    def renew(self, name: str, length: int) -> None:
        """Replace one array by zeros, for tests: no array may depend on the history of another one."""
        named = flatten(self.arrays)
        named[name] = np.zeros(length, dtype=named[name].dtype)
        self.arrays = unflatten(type(self.arrays), named)
        self.packed = pack(self.arrays)


def make_sizes(kind: Any, **lengths: Any) -> Any:
    """Return a scratch kind with lengths in place of arrays: the sizes that the arrays of a set must have."""
    return kind(**lengths)


_pools: defaultdict[type, list[Scratch]] = defaultdict(list)
"""Sets that no thread uses now, by kind. All indexes share them: to allocate would cost more than most matches."""


poison: Callable[[Scratch], None] | None = None
"""Called with every set that is taken, for tests: arrays that a kind does not keep may hold anything."""


def take_scratch(sizes: Any) -> Scratch:
    """Take working arrays of at least these sizes from the pool; no other thread uses them until they are given back.

    New arrays are zero. A kernel leaves the arrays that its kind `keeps` in the state in which it expects them. If one
    array of a set is too small, the whole set is renewed, so that all arrays of a set have the same history.
    """
    scratch = _take_from_pool(sizes)
    if poison is not None:
        poison(scratch)
    return scratch


def _take_from_pool(sizes: Any) -> Scratch:
    try:
        scratch = _pools[type(sizes)].pop()
    except IndexError:
        return Scratch(sizes)
    if scratch.fits is not sizes:
        if not _is_enough(scratch.arrays, sizes):
            return Scratch(sizes)
        scratch.fits = sizes
    return scratch


def release_memory(scratch: Scratch) -> None:
    """Give a set back to the pool, unless a kernel failed with it: a dirty set is never used again."""
    _pools[type(scratch.fits)].append(scratch)


def drain_pools() -> list[Scratch]:
    """Remove all scratch from the pools and return it, for tests."""
    drained = []
    for pool in list(_pools.values()):
        while pool:
            drained.append(pool.pop())
    return drained


def _is_enough(arrays: Any, sizes: Any) -> bool:
    return all(
        _is_enough(array, size) if isinstance(size, tuple) else len(array) >= size
        for array, size in zip(arrays, sizes, strict=True)
    )


def measure_longest_event(events: Events) -> int:
    """Return the entries of the longest event, rounded up so that few different sizes occur."""
    if len(events.single_valued) == 1:
        entries = len(events.domain)
    else:
        entries = int(np.diff(events.start).max(initial=0))
    return max(64, 1 << entries.bit_length())


class Packed:
    """Arrays that kernels read, with their addresses, which are computed on first use, since many are never used."""

    __slots__ = ("_addresses", "arrays")

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays  # keeps them alive, which addresses do not
        self._addresses: I64 | None = None

    @classmethod
    def wrap(cls, arrays: Any) -> Packed:
        """Return the arrays packed; packed arrays are returned unchanged, so that calls may share them."""
        return arrays if isinstance(arrays, Packed) else cls(arrays)

    @property
    def addresses(self) -> I64:
        """The packed addresses of the arrays, which kernels take as their argument."""
        if self._addresses is None:
            self._addresses = pack(self.arrays)
        return self._addresses


class Call:
    """A kernel with the index and the snapshot that it reads, packed or not.

    Parameters
    ----------
    kernel, index, snapshot
        The kernel and its first two arguments.
    sizes
        The sizes of its scratch, or a function that returns them for the entries of the longest event.
    match_counts
        If given, matched events and candidates are added to it. The kernel must then always count candidates.
    """

    def __init__(
        self,
        kernel: Kernel,
        index: Any,
        snapshot: Snapshot | Packed,
        sizes: Any,
        match_counts: MatchCounts | None = None,
    ) -> None:
        self._kernel, self._sizes, self._match_counts = kernel, sizes, match_counts
        self.index, self._snapshot = Packed.wrap(index), Packed.wrap(snapshot)

    def with_index(self, index: Any) -> Call:
        """Return the same call on another index."""
        return Call(self._kernel, index, self._snapshot, self._sizes)

    def __call__(self, events: Events) -> Matches:
        scratch = self.take(events)
        if self._match_counts is not None:
            scratch.arrays.effort[0] = 0  # the last user may have counted too
        matches = self._fill(scratch, events)
        if self._match_counts is not None:
            self._match_counts.candidates += int(scratch.arrays.effort[0])
        release_memory(scratch)
        return matches

    def take(self, events: Events) -> Scratch:
        """Take working arrays that are large enough for these events."""
        return take_scratch(self._sizes(measure_longest_event(events)) if callable(self._sizes) else self._sizes)

    def _fill(self, scratch: Scratch, events: Events) -> Matches:
        kernel, count = self._kernel, len(events.single_valued)
        arguments = self.index.addresses, self._snapshot.addresses, scratch.packed, tuple(events)
        start = np.zeros(count + 1, dtype=np.int64)
        # Somewhat more than was needed lately, because an event that does not fit is matched again.
        expected = _matches_per_event.get(kernel, 0)
        out = np.empty(MATCHES_MIN + min(count * (4 + expected), INITIAL_MATCHES_MAX), dtype=np.int32)
        done = kernel(*arguments, (start, out), 0)
        while done < count:
            grown = np.empty(4 * len(out), dtype=np.int32)
            grown[: start[done]] = out[: start[done]]
            out = grown
            done = kernel(*arguments, (start, out), done)
        total = int(start[count])
        if count:
            _matches_per_event[kernel] = max(total * 5 // (4 * count), expected - expected // 8 - 1)
        return Matches(start, out[:total])

    def count_effort(self, events: Events) -> tuple[int, int]:
        """Run the kernel on each event; return its counts of candidates and of the predicates tested for them.

        The kernel counts in `scratch.effort`.

        A kernel that is slowed down by counting counts only if it finds a 1 in effort[0].
        """
        candidates = predicates = 0
        scratch = self.take(events)
        effort = scratch.arrays.effort
        for event in split_events(events):  # a kernel with a full output starts again, and only the last run counts
            room, done = 64, 0
            while not done:
                effort[:2] = 1, 0
                start, out = np.zeros(2, dtype=np.int64), np.empty(room, dtype=np.int32)
                arguments = self.index.addresses, self._snapshot.addresses, scratch.packed, tuple(event)
                done = self._kernel(*arguments, (start, out), 0)
                room *= 4
            candidates += int(effort[0]) - 1
            predicates += int(effort[1])
        effort[:] = 0
        release_memory(scratch)
        return candidates, predicates


class CallReader(Reader):
    """A reader of one kernel, which counts its candidates in effort[0]."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def count_candidates(self, events: Events) -> int:
        return self._call.count_effort(events)[0]


class Refiner(Reader):
    """The second step of filter and refine: makes the matches of an index exact.

    An index need not have all slots, and may find too many for events with several values or intervals. The refiner
    tests pending slots, and the matches of such events, one by one. Alone, it is the reader of an index that has only
    pending slots.
    """

    def __init__(self, pending: I32, snapshot: Snapshot | Packed) -> None:
        self._pending = pending
        packed = Packed.wrap(snapshot)
        known: Snapshot = packed.arrays
        sizes = make_sizes(
            RefineScratch,
            first_entry=known.domains,
            truth=len(known.predicates.domain) // 64 + 1,
            registers=known.registers,
        )
        self._call = Call(refine, RefineIndex(NOTHING_FOUND, pending), packed, sizes)

    def refine(self, found: Matches, events: Events) -> Matches:
        """Return the exact matches, including those of the pending slots."""
        # Bytes, because all() of a short array costs a microsecond.
        if not len(self._pending) and b"\0" not in events.single_valued.tobytes():
            return found
        return self._call.with_index(RefineIndex(found, self._pending))(events)

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def count_candidates(self, events: Events) -> int:
        return len(self._pending) * len(events.single_valued)


NOTHING_FOUND = Matches(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))


class Union(Reader):
    """A reader that joins several readers of disjoint slots."""

    def __init__(self, readers: list[Reader]) -> None:
        self._readers = readers

    def match(self, events: Events) -> Matches:
        count = len(events.start) - 1
        found = [reader.match(events) for reader in self._readers]
        if not found:
            return make_empty_matches(count)
        if count == 1:  # in a tenth of the time
            slots = np.concatenate([matches.slot for matches in found])
            return Matches(np.array([0, len(slots)]), slots)
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

    def count_candidates(self, events: Events) -> int:
        return sum(reader.count_candidates(events) for reader in self._readers)


def make_empty_matches(events: int) -> Matches:
    """Return the matches of events that satisfy no subscription."""
    return Matches(np.zeros(events + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
