"""Which values come together? A sample of whole events, for the frequencies that single attributes cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from tellwhen.kernels.arrays import I64, U64
from tellwhen.profile.sketches import Sample

EVENTS_MOST, EVENTS_LEAST = 1_000, 64
"""Distinct events sampled, at most and at least."""

VALUES_SAMPLED = 1 << 16
"""Values of all sampled events together: the wider the widest event, the fewer events are sampled."""

VALUES_MOST = 1_024
"""Values kept of one event."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Event = dict[str, list[str]]
"""By attribute: the texts of its values, in order. The text of a value of no family is empty."""


class Carried(NamedTuple):
    """One attribute in a batch of events."""

    attribute: str
    events: int  # that carry it
    counts: dict[str, int]  # of the texts of its values, those of no family left out
    hashes: dict[str, bytes]  # of these texts


class Batch(Protocol):
    """Events to be counted: as mappings, or as a table."""

    def __len__(self) -> int:
        """The number of events."""

    def carried(self) -> Iterator[Carried]:
        """Attribute by attribute."""

    def hashed(self) -> tuple[U64, int]:
        """The hashes of the events, and the number of values of the widest one. Known after `carried` has ended."""

    def events(self, positions: I64) -> list[Event]:
        """The events at these positions."""


class EventSample:
    """A bottom-k (KMV) sample of distinct events, with exact counts.

    An event that repeats very often may be missing from it, since distinct events are equally likely to be sampled. The
    counts of single attributes and values do not have this weakness; the sample is for what they cannot tell.
    """

    def __init__(self) -> None:
        self._sample = Sample(hashed=bytes.fromhex)
        self._events: dict[str, Event] = {}  # by hash, in hexadecimal digits
        self._widest = 0  # values of the widest event that came

    def add(self, batch: Batch) -> None:
        """Add the events of a batch. Only those that are sampled become Python objects."""
        hashes, widest = batch.hashed()
        self._widest = max(self._widest, widest)
        room = self._room()
        near = np.flatnonzero(hashes <= np.uint64(self._limit(room)))
        found, first, counts = np.unique(hashes[near], return_index=True, return_counts=True)
        keys = [f"{number:016x}" for number in found[:room].tolist()]
        new = [i for i, key in enumerate(keys) if key not in self._events]
        made = batch.events(near[first[new]]) if new else []
        self._events.update((keys[i], _cut(event)) for i, event in zip(new, made, strict=True))
        self._sample.add(dict(zip(keys, counts.tolist(), strict=False)), room)
        self._trim()

    def _limit(self, room: int) -> int:
        """Events with a greater hash are not sampled."""
        counts = self._sample.counts
        return (1 << 64) - 1 if len(counts) < room else int(max(counts), 16)

    def merge(self, other: EventSample) -> None:
        self._widest = max(self._widest, other._widest)
        self._events |= other._events
        self._sample.add(other._sample.counts, self._room())
        self._trim()

    def _room(self) -> int:
        """It never grows, so an event that a part has dropped is dropped from the whole, too."""
        return max(EVENTS_LEAST, min(EVENTS_MOST, VALUES_SAMPLED // max(1, self._widest)))

    def _trim(self) -> None:
        self._sample.cut(self._room())
        self._events = {key: self._events[key] for key in self._sample.counts}

    def weighted(self, total: int) -> list[tuple[Event, float]]:
        """The sampled events, each with the number of events, of `total`, that it stands for."""
        counts = self._sample.counts
        # A frequent event stands for itself. The others also stand for all that are not in the sample.
        light = {key: count for key, count in counts.items() if count * len(counts) <= total}
        rest = total - (sum(counts.values()) - sum(light.values()))
        scale = rest / sum(light.values()) if light else 1.0
        return [(self._events[key], counts[key] * (scale if key in light else 1.0)) for key in sorted(counts)]

    def to_json(self) -> dict[str, Any]:
        events = {key: [count, self._events[key]] for key, count in self._sample.counts.items()}
        return {"widest": self._widest, "events": events}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> EventSample:
        found = cls()
        found._widest = form["widest"]
        for key, (count, event) in form["events"].items():
            found._sample.counts[key] = count
            found._events[key] = event
        return found


def _cut(event: Event) -> Event:
    """At most VALUES_MOST values, attributes and texts in order."""
    pairs = ((attribute, text) for attribute in sorted(event) for text in sorted(event[attribute]))
    kept: Event = {}
    for attribute, text in islice(pairs, VALUES_MOST):
        kept.setdefault(attribute, []).append(text)
    return kept


def pair_hashes(attributes: U64, texts: U64) -> U64:
    """The hashes of pairs, from those of their attributes and texts."""
    return _mixed(attributes * GOLDEN + texts)


def event_hashes(sums: U64) -> U64:
    """The hashes of events, from the sums of their pairs' hashes.

    A sum does not depend on the order of the pairs, and can be made column by column for all events at once.
    """
    return _mixed(sums)


def _mixed(numbers: U64) -> U64:
    """Every bit of the result depends on every bit of a number (splitmix64)."""
    mixed = numbers + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
