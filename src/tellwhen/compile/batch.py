"""Some events of a batch, as a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.kernels.arrays import I64, Events


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


def one_by_one(events: Events) -> Iterator[Events]:
    """Batches of one event each."""
    for e in range(len(events.start) - 1):
        yield chosen(events, np.array([e]))
