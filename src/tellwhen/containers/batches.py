"""Batches of events: slices and joins of them, and statistics of the events to expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import F64, I32, I64, U8, Events

NO_EVENTS = Events(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)
)


class Marginals(NamedTuple):
    """The share of the events at each point of each domain, independent of the other domains."""

    carried: F64  # |0.9|0.2|           by domain: the share of the events that have an entry on it
    start: I64  # |0|2|5|             the points of domain d are point[start[d]:start[d+1]], ascending
    point: I64  # |4 8|1 2 6|
    share: F64  # |0.3 0.6|0.1 ...    of the events that have this point


class EncodedSample:
    """A weighted sample of the events to expect, with the frequency of each point in it."""

    def __init__(self, events: Events = NO_EVENTS, weight: F64 | None = None) -> None:
        self._events = events
        self._weight = np.ones(len(events.single_valued)) if weight is None else weight

    @property
    def has_sample(self) -> bool:
        """Whether the sample has events, so that frequencies are known."""
        return len(self._weight) > 0

    @property
    def events(self) -> Events:
        """The sampled events, which show the values that occur together; see `marginals` for single values."""
        return self._events

    @property
    def weight(self) -> F64:
        """The number of events that each sampled event stands for."""
        return self._weight

    def marginals(self, domains: int) -> Marginals:
        """Compute the share of the events at each point of the first `domains` domains."""
        owner = np.repeat(np.arange(len(self._weight)), np.diff(self._events.start))
        is_first = np.ones(len(owner), dtype=bool)  # of its domain, in its event
        is_first[1:] = (owner[1:] != owner[:-1]) | (self._events.domain[1:] != self._events.domain[:-1])
        share = self._weight[owner] / max(1.0, self._weight.sum())
        known = self._events.domain < domains
        carried = np.bincount(self._events.domain[known & is_first], share[known & is_first], domains).astype(
            np.float64
        )
        return Marginals(
            carried, *sort_by_domain(self._events.domain[known], self._events.low[known], share[known], domains)
        )

    def marginals_if_known(self, domains: int) -> Marginals | None:
        """Return `marginals(domains)`, or None if the sample is empty."""
        return self.marginals(domains) if self.has_sample else None


def sort_by_domain(domain: I32, point: I64, share: F64, domains: int) -> tuple[I64, I64, F64]:
    """Sort points by domain. Return the offset of each domain, the points and their shares."""
    order = np.lexsort((point, domain))
    return np.searchsorted(domain[order], np.arange(domains + 1)), point[order], share[order]


def select_events(events: Events, positions: I64) -> Events:
    start, which = gather(events.start, positions)
    low = events.low[which]
    high = low if events.high is events.low else events.high[which]
    return Events(start, events.domain[which], low, high, events.single_valued[positions])


def take_first(events: Events, count: int) -> Events:
    """Return the first `count` events, without a copy."""
    return slice_events(events, 0, count)


def slice_events(events: Events, begin: int, end: int) -> Events:
    """Return the events begin:end, without a copy of their values."""
    start = events.start[begin : end + 1]
    mine = slice(start[0], start[-1])
    low = events.low[mine]
    high = low if events.high is events.low else events.high[mine]
    return Events(start - start[0], events.domain[mine], low, high, events.single_valued[begin:end])


def concatenate_events(batches: list[Events]) -> Events:
    starts = [np.zeros(1, np.int64)]
    for batch in batches:
        starts.append(starts[-1][-1] + batch.start[1:])
    parts = ([batch[field] for batch in [NO_EVENTS, *batches]] for field in range(1, 5))
    return Events(np.concatenate(starts), *(np.concatenate(part) for part in parts))


def find_single_valued(start: I64, domain: I32) -> U8:
    """Compute `Events.single_valued` of events without intervals: 1 where no domain repeats.

    Entries of one domain must be neighbors.
    """
    found = np.ones(len(start) - 1, dtype=np.uint8)
    repeats = np.flatnonzero(domain[1:] == domain[:-1]) + 1
    events = np.searchsorted(start, repeats, side="right") - 1
    found[events[start[events] < repeats]] = 0  # else the neighbour belongs to the event before
    return found


def split_events(events: Events) -> Iterator[Events]:
    """Yield a batch with one event for every event."""
    for e in range(len(events.start) - 1):
        yield select_events(events, np.array([e]))
