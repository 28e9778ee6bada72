"""Many events x an index -> tables of what they match, in batches of bounded size."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tellwhen.containers.batches import slice_events
from tellwhen.encode.batches import encode_batches
from tellwhen.encode.columns import get_only_map
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.threads import count_cores, match_in_threads, run_in_threads
from tellwhen.engines.shared.top_k import Best, join_rankings
from tellwhen.errors import ArgumentError, EventError, abbreviate
from tellwhen.index.payloads import Filtered
from tellwhen.index.state import State
from tellwhen.kernels.arrays import I32, I64, Events, Matches
from tellwhen.language.schema import Schema
from tellwhen.language.values import flatten

PAIRS_AT_ONCE = 1 << 20
"""About how many rows a batch has: by the matches of the last events it is chosen how many come next."""

ROWS_MAX = 1 << 21
"""The most rows of a batch."""

FOUND_MAX = 1 << 27
"""The most matches that memory must hold at once, should every event match every subscription; but never fewer than
1,024 events are matched together."""

FIRST_EVENTS = 1_024
"""Events that are matched before it is known how many matches they have."""

EVENT, SUBSCRIPTION = "event_id", "subscription_id"
"""The columns of results."""

Counting = Callable[[Mapping[str, int], State, Any], None]
"""Notes values of a wrong type, with the state that they were met in, and the events."""


def checked_threads(threads: int | None) -> int:
    """How many threads may match."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads is a whole number from 1 on, not {abbreviate(threads)}")
    return count_cores() if threads is None else threads


class GivenEvents:
    """Events in any form, and what each is called in results: its position, or a value that it has."""

    def __init__(self, events: Any, event_id: str | None = None) -> None:
        if event_id is not None and not isinstance(event_id, str):
            raise ArgumentError(f"event_id names an attribute of the events, not {abbreviate(event_id)}")
        self._name = event_id
        self._called: list[Any] = []  # by event of the current batch, if events are dicts
        self._names: pa.Array | None = None  # the same as a column, once it is asked for
        self._begin = 0  # the first event of that batch
        self._type: pa.DataType | None = None
        self._kinds: set[str | None] = set()  # of what events were called, if they are dicts
        self.all: pa.Table | Iterable[Mapping[str, Any]] = to_table_or_dicts(events)
        self._column: pa.ChunkedArray | None = None  # what events are called, if they are a table
        if event_id is not None and isinstance(self.all, pa.Table):
            self._column = _checked_column(self.all, event_id)
            self._type = self._column.type

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

    def begin(self, first: int, count: int) -> None:
        """The next batch of events has come."""
        self._called, self._names = self._called[-count:], None
        self._begin = first

    def names(self, first: int, numbers: I64) -> pa.Array | pa.ChunkedArray:
        """What events are called, by their numbers from `first` on."""
        if self._name is None:
            return pa.array(numbers + first)
        if self._column is not None:
            found = self._column.take(pa.array(numbers + first))
            return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)
        if self._names is None:
            self._names = self._array()
            self._type = self._names.type
        return self._names.take(pa.array(numbers + (first - self._begin)))

    def _array(self) -> pa.Array:
        """What the events of the current batch are called: all of one type, so that no id becomes another one."""
        kinds = {_kind(one) for one in self._called}
        self._kinds |= kinds
        if len(self._kinds) > 1 or None in kinds:
            told = ", ".join(sorted({type(one).__name__ for one in self._called}))
            raise EventError(
                f"the {self._name} of events are not of one type, or of none that can name them: {told}; "
                "there are int, str, float, bool, bytes, date and datetime"
            )
        try:
            return pa.array(self._called, self._type or (pa.large_string() if kinds == {"str"} else None))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise EventError(f"events cannot be called by these {self._name}: {error}") from None

    def no_names(self) -> pa.Array:
        """A column of none."""
        return pa.array([], pa.int64() if self._name is None else self._type or pa.null())


def _kind(one: Any) -> str | None:
    """The type of an id; None for one that a column cannot keep as it is."""
    if isinstance(one, bool | np.bool_):
        return "bool"
    if isinstance(one, int | np.integer):
        return "int"
    if isinstance(one, float | np.floating):
        return "float" if one == one else None
    if isinstance(one, dt.datetime):
        return f"datetime {one.tzinfo}"
    return next((kind.__name__ for kind in (str, bytes, dt.date) if isinstance(one, kind)), None)


def _checked_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The column that events are called by."""
    if get_only_map(table) is None:
        column, names = _found(table, name), table.column_names
    else:  # an event is a map, and so it is not a column but a key
        entries = table.column(0)
        column = pc.map_lookup(entries, name, "first")
        names = sorted({key for one in entries.slice(0, 100).to_pylist() for key, _ in one or ()})
        if column.null_count == len(column) and len(column):
            column = None
    if column is None:
        names = ", ".join(names[:20]) or "none"
        raise EventError(f"there is no column {name} to call events by; there are {names}")
    if column.null_count:
        position = column.is_null().to_numpy().argmax()
        raise EventError(f"event {position} has no {name} to be called by")
    return column


def _found(table: pa.Table, name: str) -> pa.ChunkedArray | None:
    """A column, or a field of a struct, in a form of which Arrow takes rows; None if there is none of this name."""
    path = [name] if name in table.column_names else name.split(".")
    if path[0] not in table.column_names:
        return None
    column = table.column(path[0])
    try:
        for field in path[1:]:
            column = pc.struct_field(column, field)
        if pt.is_dictionary(column.type):
            column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
        if pt.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        if pt.is_string_view(column.type) or pt.is_binary_view(column.type):
            column = column.cast(pa.large_string() if pt.is_string_view(column.type) else pa.large_binary())
        column.slice(0, 1).take(pa.array([0] if len(column) else [], pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, KeyError):
        return None if len(path) > 1 else _refused(name, column.type)
    return column


def _refused(name: str, kind: pa.DataType) -> NoReturn:
    raise EventError(f"events cannot be called by {name}, which is a column of {kind}; cast it to integers or strings")


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
        for encoded, mismatches in encode_batches(given.stream, self.state.attributes, self.schema):
            if mismatches:
                self.note(mismatches, self.state, given.all)
            count = len(encoded.single_valued)
            given.begin(first, count)
            yield first, encoded
            first += count

    def parts(self, given: GivenEvents, match: Callable[[Events], Matches]) -> Iterator[tuple[int, Matches]]:
        """The matches of a few events after the other, each with the number of the first one."""
        step, most = FIRST_EVENTS, max(FIRST_EVENTS, FOUND_MAX // max(1, self.state.length))
        for first, encoded in self.encoded(given):
            count, at = len(encoded.single_valued), 0
            while at < count:
                end = min(count, at + step)
                some = encoded if end - at == count else slice_events(encoded, at, end)
                found = match_in_threads(match, some, self.threads)
                yield first + at, found
                step = min(most, max(1, PAIRS_AT_ONCE * (end - at) // max(1, len(found.slot))))
                at = end

    def batches(self, given: GivenEvents, payload: tuple[str, ...] | bool) -> Iterator[pa.RecordBatch]:
        """The matches, as tables; at least one, which may be empty."""
        is_empty = True
        kept = self._kept(payload)
        for first, (start, slot) in self.parts(given, self._match_in_order):
            numbers = np.repeat(np.arange(len(start) - 1), np.diff(start))
            for at in range(0, len(slot), ROWS_MAX):
                some = slice(at, at + ROWS_MAX)
                yield self._batch(given.names(first, numbers[some]), slot[some], kept)
                is_empty = False
        if is_empty:
            yield self._batch(given.no_names(), np.zeros(0, dtype=np.int32), kept)

    def _match_in_order(self, events: Events) -> Matches:
        """Match events; sort the slots of each event, which is the order in which subscriptions were added."""
        start, slot = self.reader.match(events)
        for begin, end in itertools.pairwise(start.tolist()):
            if end - begin > 1:
                slot[begin:end].sort()
        return Matches(start, slot)

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
            for _, (_, slot) in self.parts(given, self.reader.match):
                total += np.bincount(slot, minlength=state.slots)
            alive = np.array(state.alive(), dtype=np.int32)
            if isinstance(self.reader, Filtered):
                alive = alive[self.reader.filter.keeps(alive)]
            return pa.table({SUBSCRIPTION: state.ids.column(alive, state.id_type), "count": total[alive]})
        names, found = [], []
        for first, (start, _) in self.parts(given, self.reader.match):
            names.append(given.names(first, np.arange(len(start) - 1)))
            found.append(pa.array(np.diff(start)))
        columns = [names or [given.no_names()], found or [pa.array([], pa.int64())]]
        return pa.table([pa.chunked_array(column) for column in columns], names=[EVENT, "count"])

    def ranked(self, given: GivenEvents, run: Callable[[Events], Best]) -> pa.Table:
        """The best of each event."""
        state, parts = self.state, []
        for first, encoded in self.encoded(given):
            found = join_rankings(run_in_threads(run, encoded, self.threads))
            number = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
            rank = np.arange(1, len(number) + 1) - found.start[number]
            parts.append((given.names(first, number), rank, state.ids.column(found.slot, state.id_type), found.score))
        nothing = np.zeros(0, dtype=np.int64)
        empty = given.no_names(), nothing, state.ids.column(nothing.astype(np.int32), state.id_type), np.zeros(0)
        whole = [[one if isinstance(one, pa.Array) else pa.array(one) for one in part] for part in parts or [empty]]
        columns = [pa.chunked_array([part[column] for part in whole]) for column in range(4)]
        return pa.table(columns, names=[EVENT, "rank", SUBSCRIPTION, "score"])


def checked_payload(payload: Any) -> tuple[str, ...] | bool:
    """What is wanted of the payloads: nothing, all of each, or some names."""
    if isinstance(payload, bool):
        return payload
    names = tuple(payload) if isinstance(payload, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"payload is True, or a list of the names that are wanted, not {abbreviate(payload)}")
    taken = [name for name in names if name in (EVENT, SUBSCRIPTION)]
    if taken or len(set(names)) < len(names):
        raise ArgumentError(f"payload cannot give two columns of one name: {', '.join([EVENT, SUBSCRIPTION, *names])}")
    return names
