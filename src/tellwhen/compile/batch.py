"""Some events of a batch, as a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.kernels.arrays import I32, I64, Events

NO_EVENTS = Events(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)
)


def chosen(events: Events, positions: I64) -> Events:
    """The events at these positions."""
    start, which = gather(events.start, positions)
    low = events.low[which]
    high = low if events.high is events.low else events.high[which]
    return Events(start, events.line[which], low, high, events.plain[positions])


def first(events: Events, count: int) -> Events:
    """So many from the beginning; nothing is copied."""
    end = events.start[count]
    return Events(
        events.start[: count + 1], events.line[:end], events.low[:end], events.high[:end], events.plain[:count]
    )


def thinned(events: Events, most: int) -> Events:
    """So many of them, evenly spread, if there are more."""
    count = len(events.plain)
    return events if count <= most else chosen(events, np.linspace(0, count - 1, most).astype(np.int64))


def joined(batches: list[Events]) -> Events:
    """Several batches as one."""
    starts = [np.zeros(1, np.int64)]
    for batch in batches:
        starts.append(starts[-1][-1] + batch.start[1:])
    parts = ([batch[field] for batch in [NO_EVENTS, *batches]] for field in range(1, 5))
    return Events(np.concatenate(starts), *(np.concatenate(part) for part in parts))


def on_lines(events: Events, used: I32) -> Events:
    """What the events carry on the used lines, ascending, which are numbered anew from 0."""
    kept = np.isin(events.line, used)
    start = np.concatenate([[0], np.cumsum(kept)])[events.start]
    line = np.searchsorted(used, events.line[kept]).astype(np.int32)
    return Events(start, line, events.low[kept], events.high[kept], events.plain)


def one_by_one(events: Events) -> Iterator[Events]:
    """Batches of one event each."""
    for e in range(len(events.start) - 1):
        yield chosen(events, np.array([e]))
