"""Batches of events: a part of one, several as one, and the weighted sample of typical events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import F64, I32, I64, U8, Events

NO_EVENTS = Events(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)
)


class Typical(NamedTuple):
    """Typical events: a weighted sample of the events to expect. Empty when nothing is known."""

    events: Events
    weight: F64  # of each event: how many it stands for


NOT_KNOWN = Typical(NO_EVENTS, np.zeros(0, np.float64))


def chosen(events: Events, positions: I64) -> Events:
    """The events at these positions."""
    start, which = gather(events.start, positions)
    low = events.low[which]
    high = low if events.high is events.low else events.high[which]
    return Events(start, events.domain[which], low, high, events.single_valued[positions])


def first(events: Events, count: int) -> Events:
    """The first `count` events, without copying."""
    end = events.start[count]
    return Events(
        events.start[: count + 1],
        events.domain[:end],
        events.low[:end],
        events.high[:end],
        events.single_valued[:count],
    )


def thinned(events: Events, most: int) -> Events:
    """At most `most` of the events, evenly spread."""
    count = len(events.single_valued)
    return events if count <= most else chosen(events, np.linspace(0, count - 1, most).astype(np.int64))


def joined(batches: list[Events]) -> Events:
    """Several batches as one."""
    starts = [np.zeros(1, np.int64)]
    for batch in batches:
        starts.append(starts[-1][-1] + batch.start[1:])
    parts = ([batch[field] for batch in [NO_EVENTS, *batches]] for field in range(1, 5))
    return Events(np.concatenate(starts), *(np.concatenate(part) for part in parts))


def single_valued(start: I64, domain: I32) -> U8:
    """`Events.single_valued` of events without intervals: 1 where no domain repeats. Repeated ones are neighbours."""
    found = np.ones(len(start) - 1, dtype=np.uint8)
    repeats = np.flatnonzero(domain[1:] == domain[:-1]) + 1
    events = np.searchsorted(start, repeats, side="right") - 1
    found[events[start[events] < repeats]] = 0  # else the neighbour belongs to the event before
    return found


def one_by_one(events: Events) -> Iterator[Events]:
    """Batches of one event each."""
    for e in range(len(events.start) - 1):
        yield chosen(events, np.array([e]))
