"""Many events x an index -> tables of what they match, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from tellwhen.containers.batches import between
from tellwhen.contents import State
from tellwhen.encode.batches import encoded_batches
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.threads import cores, in_threads
from tellwhen.engines.shared.threads import match as match_in_threads
from tellwhen.errors import ArgumentError, EventError, shown
from tellwhen.kernels.arrays import I32, I64, Events, Matches
from tellwhen.lang.values import flatten
from tellwhen.payloads import Filtered
from tellwhen.ranking import Best, joined
from tellwhen.schema import Schema

PAIRS_AT_ONCE = 1 << 20
"""Rows of a batch, about: the next events are as many as would have so many matches."""

FIRST_EVENTS = 1_024
"""Events that are matched before it is known how many matches they have."""

EVENT, SUBSCRIPTION = "event_id", "subscription_id"
"""The columns of results."""

Counting = Callable[[Mapping[str, int], State, Any], None]
"""Notes values of a wrong type, with the state that they were met in, and the events."""


def checked_threads(threads: int | None) -> int:
    """How many threads may match."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads is a whole number from 1 on, not {shown(threads)}")
    return cores() if threads is None else threads


class GivenEvents:
    """Events in any form, and what each is called in results: its position, or a value that it has."""

    def __init__(self, events: Any, event_id: str | None = None) -> None:
        if event_id is not None and not isinstance(event_id, str):
            raise ArgumentError(f"event_id names an attribute of the events, not {shown(event_id)}")
        self._name = event_id
        self._called: list[Any] = []  # by event of the current batch, if events are dicts
        self._begin = 0  # the first event of that batch
        self._type: pa.DataType | None = None
        self.all: pa.Table | Iterable[Mapping[str, Any]] = as_table_or_dicts(events)
        if event_id is not None and isinstance(self.all, pa.Table):
            self._type = self._column().type

    @property
    def stream(self) -> pa.Table | Iterable[Mapping[str, Any]]:
        """The events, to be gone through once."""
        if self._name is None or isinstance(self.all, pa.Table):
            return self.all
        return self._noting(self.all, self._name)

    def _noting(self, events: Iterable[Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
        for position, event in enumerate(events):
            if isinstance(event, Mapping):  # if it is none, whoever encodes it says so
                called = event[name] if name in event else flatten(event).get(name)
                if called is None:
                    raise EventError(f"event {position} has no {name} to be called by")
                self._called.append(called)
            yield event

    def _column(self) -> pa.ChunkedArray:
        table = self.all
        assert isinstance(table, pa.Table)
        if self._name not in table.column_names:
            names = ", ".join(table.column_names[:20]) or "none"
            raise EventError(f"there is no column {self._name} to call events by; there are {names}")
        column = table.column(self._name)
        if column.null_count:
            position = column.is_null().to_numpy().argmax()
            raise EventError(f"event {position} has no {self._name} to be called by")
        if pt.is_string_view(column.type):
            column = column.cast(pa.large_string())  # Arrow takes no rows of views
        return column

    def begin(self, first: int, count: int) -> None:
        """The next batch of events has come."""
        self._called = self._called[-count:]
        self._begin = first

    def names(self, first: int, numbers: I64) -> pa.Array | pa.ChunkedArray:
        """What events are called, by their numbers from `first` on."""
        if self._name is None:
            return pa.array(numbers + first)
        if isinstance(self.all, pa.Table):
            found = self._column().take(pa.array(numbers + first))
            return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)
        try:
            called = pa.array(self._called, self._type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise EventError(f"the {self._name} of events are of several types: {error}") from None
        self._type = called.type
        return called.take(pa.array(numbers + (first - self._begin)))

    def no_names(self) -> pa.Array:
        """A column of none."""
        return pa.array([], pa.int64() if self._name is None else self._type or pa.null())


class Matching(NamedTuple):
    """What matches events: an index at one moment."""

    state: State
    reader: Reader
    schema: Schema
    threads: int
    note: Counting

    def encoded(self, given: GivenEvents) -> Iterator[tuple[int, Events]]:
        """Batches of events, each with the number of its first one."""
        first = 0
        for encoded, mismatches in encoded_batches(given.stream, self.state.attributes, self.schema):
            if mismatches:
                self.note(mismatches, self.state, given.all)
            count = len(encoded.single_valued)
            given.begin(first, count)
            yield first, encoded
            first += count

    def parts(self, given: GivenEvents) -> Iterator[tuple[int, Matches]]:
        """The matches of a few events after the other, each with the number of the first one."""
        step = FIRST_EVENTS
        for first, encoded in self.encoded(given):
            count, at = len(encoded.single_valued), 0
            while at < count:
                end = min(count, at + step)
                some = encoded if end - at == count else between(encoded, at, end)
                found = match_in_threads(self.reader, some, self.threads)
                yield first + at, found
                step = max(1, PAIRS_AT_ONCE * (end - at) // max(1, len(found.slot)))
                at = end

    def batches(self, given: GivenEvents, payload: tuple[str, ...] | bool) -> Iterator[pa.RecordBatch]:
        """The matches, as tables; at least one, which may be empty."""
        is_empty = True
        kept = self._kept(payload)
        for first, (start, slot) in self.parts(given):
            if len(slot):
                numbers = np.repeat(np.arange(len(start) - 1), np.diff(start))
                yield self._batch(given.names(first, numbers), slot, kept)
                is_empty = False
        if is_empty:
            yield self._batch(given.no_names(), np.zeros(0, dtype=np.int32), kept)

    def _kept(self, payload: tuple[str, ...] | bool) -> dict[str, Callable[[I32], pa.Array]]:
        """By column of payloads: what gives it for some slots."""
        shard = self.state.shard
        if payload is True:
            text = shard.payloads.text
            return {"payload": lambda slot: pa.array([text(one) or "{}" for one in slot.tolist()], pa.large_string())}
        found = {name: shard.payload_columns.values(name, self.state.slots) for name in payload or ()}
        return {
            name: lambda slot, values=values, number=number: values.take(pa.array(number[slot]))  # type: ignore[misc]
            for name, (values, number) in found.items()
        }

    def _batch(self, names: pa.Array, slot: I32, kept: Mapping[str, Callable[[I32], pa.Array]]) -> pa.RecordBatch:
        columns = {EVENT: names, SUBSCRIPTION: self.state.ids.column(slot, self.state.id_type)}
        columns |= {name: column(slot) for name, column in kept.items()}
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def counts(self, given: GivenEvents, by: Literal["event", "subscription"]) -> pa.Table:
        """How many matches each event has, or each subscription."""
        state = self.state
        if by == "subscription":
            total = np.zeros(state.slots, dtype=np.int64)
            for _, (_, slot) in self.parts(given):
                total += np.bincount(slot, minlength=state.slots)
            alive = np.array(state.alive(), dtype=np.int32)
            if isinstance(self.reader, Filtered):
                alive = alive[self.reader.filter.keeps(alive)]
            return pa.table({SUBSCRIPTION: state.ids.column(alive, state.id_type), "count": total[alive]})
        names, found = [], []
        for first, (start, _) in self.parts(given):
            names.append(given.names(first, np.arange(len(start) - 1)))
            found.append(pa.array(np.diff(start)))
        columns = [names or [given.no_names()], found or [pa.array([], pa.int64())]]
        return pa.table([pa.chunked_array(column) for column in columns], names=[EVENT, "count"])

    def ranked(self, given: GivenEvents, run: Callable[[Events], Best]) -> pa.Table:
        """The best of each event."""
        state, parts = self.state, []
        for first, encoded in self.encoded(given):
            found = joined(in_threads(run, encoded, self.threads))
            number = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
            rank = np.arange(1, len(number) + 1) - found.start[number]
            parts.append((given.names(first, number), rank, state.ids.column(found.slot, state.id_type), found.score))
        nothing = np.zeros(0, dtype=np.int64)
        empty = given.no_names(), nothing, state.ids.column(nothing.astype(np.int32), state.id_type), np.zeros(0)
        columns = [pa.chunked_array([pa.array(part[column]) for part in parts or [empty]]) for column in range(4)]
        return pa.table(columns, names=[EVENT, "rank", SUBSCRIPTION, "score"])


def checked_payload(payload: Any) -> tuple[str, ...] | bool:
    """What is wanted of the payloads: nothing, all of each, or some names."""
    if isinstance(payload, bool):
        return payload
    names = tuple(payload) if isinstance(payload, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"payload is True, or a list of the names that are wanted, not {shown(payload)}")
    taken = [name for name in names if name in (EVENT, SUBSCRIPTION)]
    if taken or len(set(names)) < len(names):
        raise ArgumentError(f"payload cannot give two columns of one name: {', '.join([EVENT, SUBSCRIPTION, *names])}")
    return names
