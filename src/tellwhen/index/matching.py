"""Matching of many events: encode them block by block, match, and return tables in batches of bounded size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen.containers.batches import slice_events
from tellwhen.encode.batches import encode_block, iter_blocks
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.threads import count_cores, match_in_threads, run_in_threads
from tellwhen.engines.shared.top_k import Best, join_rankings
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.event_ids import EventIds, make_event_ids, validate_event_id
from tellwhen.index.limits import INDEX_LIMITS, BatchLimits
from tellwhen.index.payloads import FilteredReader
from tellwhen.index.state import State
from tellwhen.kernels.arrays import F64, I32, I64, Events, Matches
from tellwhen.language.schema import Schema

EVENT_COLUMN, SUBSCRIPTION_COLUMN = "event_id", "subscription_id"

CountMismatches = Callable[[Mapping[str, int], State, Any], None]
"""Counts values of a wrong type. The arguments are counts by attribute, the state, and events to find an example in."""


class EventInput(NamedTuple):
    """Events from a user as a table or as dicts, and their ids in results."""

    events: pa.Table | Iterable[Mapping[str, Any]]
    ids: EventIds

    @classmethod
    def read(cls, events: Any, event_id: str | None = None) -> EventInput:
        """Convert events in any form; raise an error if the attribute `event_id` cannot identify them."""
        validate_event_id(event_id)
        converted = to_table_or_dicts(events)
        return cls(converted, make_event_ids(converted, event_id))


class Matching(NamedTuple):
    """Matching with the index at one moment."""

    state: State
    reader: Reader
    schema: Schema
    threads: int
    count_mismatches: CountMismatches
    limits: BatchLimits = INDEX_LIMITS.batches

    def iter_batches(self, source: EventInput, payload: tuple[str, ...] | bool) -> Iterator[pa.RecordBatch]:
        """Yield a row for each match, in batches; at least one batch, which may be empty."""
        is_empty = True
        payload_columns = self._make_payload_columns(payload)
        for first, (start, slot) in self._iter_matches(source, self._match_in_order):
            positions = np.repeat(np.arange(first, first + len(start) - 1), np.diff(start))
            for begin in range(0, len(slot), self.limits.rows_per_batch_max):
                rows = slice(begin, begin + self.limits.rows_per_batch_max)
                yield self._make_batch(source.ids.take(positions[rows]), slot[rows], payload_columns)
                is_empty = False
        if is_empty:
            yield self._make_batch(source.ids.make_empty(), np.zeros(0, dtype=np.int32), payload_columns)

    def count_by_event(self, source: EventInput) -> pa.Table:
        """Count the matches of each event."""
        ids, counts = [], []
        for first, (start, _) in self._iter_matches(source, self.reader.match):
            ids.append(source.ids.take(np.arange(first, first + len(start) - 1)))
            counts.append(pa.array(np.diff(start)))
        columns = [ids or [source.ids.make_empty()], counts or [pa.array([], pa.int64())]]
        return pa.table([pa.chunked_array(column) for column in columns], names=[EVENT_COLUMN, "count"])

    def count_by_subscription(self, source: EventInput) -> pa.Table:
        """Count the matches of each live subscription that the reader can find."""
        state = self.state
        counts = np.zeros(state.slot_count, dtype=np.int64)
        for _, (_, slot) in self._iter_matches(source, self.reader.match):
            counts += np.bincount(slot, minlength=state.slot_count)
        slots = np.array(state.list_live_slots(), dtype=np.int32)
        if isinstance(self.reader, FilteredReader):
            slots = slots[self.reader.filter.mask_slots(slots)]
        return pa.table({SUBSCRIPTION_COLUMN: state.ids.to_arrow(slots, state.id_type), "count": counts[slots]})

    def rank(self, source: EventInput, rank: Callable[[Events], Best]) -> pa.Table:
        """Return the best subscriptions of each event, as `rank` finds them, with their ranks and scores."""
        parts = []
        for first, encoded in self._encode(source):
            best = join_rankings(run_in_threads(rank, encoded, self.threads))
            event = np.repeat(np.arange(len(best.start) - 1), np.diff(best.start))
            ranks = np.arange(1, len(event) + 1) - best.start[event]
            parts.append(self._make_ranking(source.ids.take(first + event), ranks, best.slot, best.score))
        if not parts:
            no_slots = np.zeros(0, dtype=np.int32)
            parts.append(self._make_ranking(source.ids.make_empty(), no_slots.astype(np.int64), no_slots, np.zeros(0)))
        return pa.Table.from_batches(parts)

    def _make_ranking(self, event_ids: pa.Array, ranks: I64, slot: I32, scores: F64) -> pa.RecordBatch:
        subscription_ids = self.state.ids.to_arrow(slot, self.state.id_type)
        columns = [event_ids, pa.array(ranks), subscription_ids, pa.array(scores)]
        return pa.RecordBatch.from_arrays(columns, [EVENT_COLUMN, "rank", SUBSCRIPTION_COLUMN, "score"])

    def _encode(self, source: EventInput) -> Iterator[tuple[int, Events]]:
        """Yield encoded blocks of events, each with the position of its first event."""
        for block in iter_blocks(source.events, self.limits.events_per_block):
            source.ids.start_block(block)
            encoded, mismatches = encode_block(block, self.state.attributes, self.schema)
            if mismatches:
                self.count_mismatches(mismatches, self.state, source.events)
            yield block.first, encoded

    def _iter_matches(self, source: EventInput, match: Callable[[Events], Matches]) -> Iterator[tuple[int, Matches]]:
        """Yield the matches of successive groups of events, each with the position of its first event."""
        limits = self.limits
        group_size = limits.first_events
        group_size_max = max(limits.first_events, limits.possible_matches_max // max(1, self.state.length))
        for first, encoded in self._encode(source):
            count, begin = len(encoded.single_valued), 0
            while begin < count:
                end = min(count, begin + group_size)
                group = encoded if end - begin == count else slice_events(encoded, begin, end)
                matches = match_in_threads(match, group, self.threads)
                yield first + begin, matches
                next_size = limits.rows_per_batch * (end - begin) // max(1, len(matches.slot))
                group_size = min(group_size_max, max(1, next_size))
                begin = end

    def _match_in_order(self, events: Events) -> Matches:
        """Match events; sort the slots of each event, which is the order in which subscriptions were added."""
        start, slot = self.reader.match(events)
        for begin, end in itertools.pairwise(start.tolist()):
            if end - begin > 1:
                slot[begin:end].sort()
        return Matches(start, slot)

    def _make_batch(
        self, event_ids: pa.Array, slot: I32, payload_columns: Mapping[str, Callable[[I32], pa.Array]]
    ) -> pa.RecordBatch:
        columns = {EVENT_COLUMN: event_ids, SUBSCRIPTION_COLUMN: self.state.ids.to_arrow(slot, self.state.id_type)}
        columns |= {name: make_column(slot) for name, make_column in payload_columns.items()}
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def _make_payload_columns(self, payload: tuple[str, ...] | bool) -> dict[str, Callable[[I32], pa.Array]]:
        """Return by column name a function that makes the column for some slots."""
        shard = self.state.shard
        if payload is True:
            get_text = shard.payloads.get_text
            return {
                "payload": lambda slots: pa.array(
                    [get_text(slot) or "{}" for slot in slots.tolist()], pa.large_string()
                )
            }
        columns = {name: shard.payload_columns.read_column(name, self.state.slot_count) for name in payload or ()}
        return {
            name: lambda slots, values=values, numbers=numbers: values.take(pa.array(numbers[slots]))  # type: ignore[misc]
            for name, (values, numbers) in columns.items()
        }


def validate_threads(threads: int | None) -> int:
    """Return the maximum number of threads, by default the number of cores; raise ArgumentError if it is below 1."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads must be a whole number of at least 1, not {abbreviate(threads)}")
    return count_cores() if threads is None else threads


def validate_payload(payload: Any) -> tuple[str, ...] | bool:
    """Return whether payloads are added to a table: False, True for a JSON column, or the names of the columns."""
    if isinstance(payload, bool):
        return payload
    names = tuple(payload) if isinstance(payload, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"payload must be True, False or a list of payload keys, not {abbreviate(payload)}")
    columns = [EVENT_COLUMN, SUBSCRIPTION_COLUMN, *names]
    if len(set(columns)) < len(columns):
        raise ArgumentError(f"payload would give the table two columns of one name: {', '.join(columns)}")
    return names
