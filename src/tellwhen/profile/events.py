"""A sample of whole events. It shows which values occur together, unlike counts of single attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from tellwhen.kernels.arrays import I64, U64
from tellwhen.profile.sketches import DistinctSample

SAMPLED_EVENTS_MAX, SAMPLED_EVENTS_MIN = 1_000, 64
"""Greatest and least number of sampled events."""

SAMPLED_EVENT_VALUES_MAX = 1 << 16
"""Values of all sampled events together, at most. If events have many values, fewer of them are sampled."""

VALUES_PER_EVENT_MAX = 1_024
"""Values of a sampled event, at most; the rest is dropped."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Event = dict[str, list[str]]
"""By attribute, the texts of its values in order. The text of a value of no family is empty."""


class AttributeCounts(NamedTuple):
    """Counts of one attribute in a batch of events."""

    attribute: str
    events: int  # that have the attribute
    counts: dict[str, int]  # by text of a value; without values of no family
    hashes: dict[str, bytes]  # by text of a value


class Batch(Protocol):
    """Events to be counted, as mappings or as a table."""

    def __len__(self) -> int:
        """Return the number of events."""

    def count_attributes(self) -> Iterator[AttributeCounts]:
        """Yield the counts of every attribute."""

    def get_event_hashes(self) -> tuple[U64, int]:
        """Return the hashes of the events, and the most values of an event, once `count_attributes` is exhausted."""

    def build_events(self, positions: I64) -> list[Event]:
        """Build the events at some positions."""


class EventSample:
    """A bottom-k (KMV) sample of distinct events, with exact counts.

    Distinct events are equally likely to be sampled, so a very frequent event may be missing. Counts of single
    attributes and values do not have this weakness.
    """

    def __init__(self) -> None:
        self._sample = DistinctSample(hash_function=bytes.fromhex)
        self._events: dict[str, Event] = {}  # by hash, in hexadecimal digits
        self._widest = 0  # the most values of an event so far

    def add(self, batch: Batch) -> None:
        """Add the events of a batch. Only sampled events become Python objects."""
        hashes, widest = batch.get_event_hashes()
        self._widest = max(self._widest, widest)
        room = self._compute_room()
        near = np.flatnonzero(hashes <= np.uint64(self._compute_hash_max(room)))
        distinct, first, counts = np.unique(hashes[near], return_index=True, return_counts=True)
        keys = [f"{number:016x}" for number in distinct[:room].tolist()]
        new = [i for i, key in enumerate(keys) if key not in self._events]
        built = batch.build_events(near[first[new]]) if new else []
        self._events.update((keys[i], _truncate(event)) for i, event in zip(new, built, strict=True))
        self._sample.add(dict(zip(keys, counts.tolist(), strict=False)), room)
        self._trim()

    def _compute_hash_max(self, room: int) -> int:
        """Return the greatest hash that an event may have to be sampled."""
        counts = self._sample.counts
        return (1 << 64) - 1 if len(counts) < room else int(max(counts), 16)

    def merge(self, other: EventSample) -> None:
        self._widest = max(self._widest, other._widest)
        self._events |= other._events
        self._sample.add(other._sample.counts, self._compute_room())
        self._trim()

    def _compute_room(self) -> int:
        """Return the room for events. It never grows, so an event that a part has dropped is dropped from the whole."""
        return max(SAMPLED_EVENTS_MIN, min(SAMPLED_EVENTS_MAX, SAMPLED_EVENT_VALUES_MAX // max(1, self._widest)))

    def _trim(self) -> None:
        self._sample.trim(self._compute_room())
        self._events = {key: self._events[key] for key in self._sample.counts}

    def list_events_with_weights(self, total: int) -> list[tuple[Event, float]]:
        """Return the sampled events, each with the number of the `total` events that it represents."""
        counts = self._sample.counts
        # A frequent event represents itself. The others also represent all events outside of the sample.
        light = {key: count for key, count in counts.items() if count * len(counts) <= total}
        rest = total - (sum(counts.values()) - sum(light.values()))
        scale = rest / sum(light.values()) if light else 1.0
        return [(self._events[key], counts[key] * (scale if key in light else 1.0)) for key in sorted(counts)]

    def to_json(self) -> dict[str, Any]:
        events = {key: [count, self._events[key]] for key, count in self._sample.counts.items()}
        return {"widest": self._widest, "events": events}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> EventSample:
        sample = cls()
        sample._widest = form["widest"]
        for key, (count, event) in form["events"].items():
            sample._sample.counts[key] = count
            sample._events[key] = event
        return sample


def _truncate(event: Event) -> Event:
    """Return the event with at most VALUES_PER_EVENT_MAX values, attributes and texts in order."""
    pairs = ((attribute, text) for attribute in sorted(event) for text in sorted(event[attribute]))
    truncated: Event = {}
    for attribute, text in islice(pairs, VALUES_PER_EVENT_MAX):
        truncated.setdefault(attribute, []).append(text)
    return truncated


def hash_pairs(attributes: U64, texts: U64) -> U64:
    """Return the hashes of pairs, given those of their attributes and texts."""
    return _mix(attributes * GOLDEN + texts)


def hash_events(sums: U64) -> U64:
    """Return the hashes of events, given the sums of their pairs' hashes.

    A sum does not depend on the order of the pairs, and can be made column by column for all events at once.
    """
    return _mix(sums)


def _mix(numbers: U64) -> U64:
    """Mix every bit of a number into every bit of the result (splitmix64)."""
    mixed = numbers + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
