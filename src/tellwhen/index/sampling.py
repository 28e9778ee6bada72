"""A bounded sample of recently matched events."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import pyarrow as pa

from tellwhen.encode.names import iterate_attribute_names
from tellwhen.index.limits import INDEX_LIMITS
from tellwhen.language.values import is_list_like
from tellwhen.profile import Profile

SAMPLED_EVENTS_MAX = 1_024

SAMPLING_INTERVAL = 64
"""Once the sample is full, record every 64th event and drop the oldest."""

ROWS_PER_TABLE = 128
"""Record the first 128 events of a table."""

TABLES_MAX = 32

BYTES_PER_TABLE_MAX = 1 << 20
"""Record fewer events of a table if they are larger."""

TEXT_LENGTH_MAX, LIST_LENGTH_MAX, VALUES_PER_EVENT_MAX, NESTING_MAX = 1_000, 64, 1_000, 32
"""Limits of a recorded event: characters of a text, members of a list, values in total, and levels of nesting."""


class MatchedEventSample:
    """Thread-tolerant sample of matched events. Counts may be off by a few under concurrency."""

    def __init__(self, first_coverage_check: int = INDEX_LIMITS.first_coverage_check) -> None:
        self._count = 0
        self._next_coverage_check = first_coverage_check
        self._events: deque[Mapping[str, Any]] = deque(maxlen=SAMPLED_EVENTS_MAX)
        self._tables: deque[pa.Buffer] = deque(maxlen=TABLES_MAX)

    def record(self, event: Mapping[str, Any]) -> bool:
        """Count an event, and keep a truncated copy if it is due for sampling. Return whether it was due."""
        self._count += 1
        if self._count <= SAMPLED_EVENTS_MAX or self._count % SAMPLING_INTERVAL == 0:
            self._events.append(_copy_truncated(event))  # the caller may change the event later
            return True
        return False

    def record_many(self, events: Any) -> None:
        """Count the events of a list or a table, and keep copies of some. Ignore an iterator, since it is consumed."""
        if isinstance(events, pa.Table):
            self._count += events.num_rows
            # A column of a rare type; before PyArrow 24, also a string view.
            with suppress(pa.ArrowNotImplementedError, pa.ArrowTypeError):
                rows = events.slice(0, ROWS_PER_TABLE)
                row_count = ROWS_PER_TABLE * BYTES_PER_TABLE_MAX // max(BYTES_PER_TABLE_MAX, rows.nbytes)
                self._tables.append(_copy_as_ipc(rows.slice(0, row_count)))
        elif isinstance(events, list | tuple):
            self._count += len(events)
            sampled = events[:: 1 + len(events) // SAMPLED_EVENTS_MAX]
            self._events.extend(_copy_truncated(event) for event in sampled if isinstance(event, Mapping))

    def claim_coverage_check(self) -> bool:
        """Return True once per threshold, when the sample should be checked for missing attributes."""
        if self._count < self._next_coverage_check:
            return False
        self._next_coverage_check = max(10 * self._next_coverage_check, self._count + 1)
        return True

    def collect_attribute_names(self) -> set[str]:
        """Return the attributes that occur in the sample."""
        return {
            name for events in (list(self._events), *self._read_tables()) for name in iterate_attribute_names(events)
        }

    def _read_tables(self) -> list[pa.Table]:
        return [pa.ipc.open_stream(table).read_all() for table in list(self._tables)]

    def build_profile(self) -> Profile:
        """Build a profile of the sampled events."""
        return Profile.merge([Profile.from_events(list(self._events)), *map(Profile.from_events, self._read_tables())])


def _copy_truncated(event: Mapping[str, Any]) -> dict[str, Any]:
    """Copy an event; cut long texts and lists, deep nesting and surplus values."""
    values_left = VALUES_PER_EVENT_MAX

    def copy_value(value: Any, depth: int) -> Any:
        nonlocal values_left
        values_left -= 1
        if isinstance(value, str | bytes):
            return value[:TEXT_LENGTH_MAX]
        if depth > NESTING_MAX:
            return None
        if isinstance(value, Mapping):
            return {name: copy_value(field, depth + 1) for name, field in value.items() if values_left > 0}
        if is_list_like(value):
            return [copy_value(member, depth + 1) for member in islice(value, LIST_LENGTH_MAX) if values_left > 0]
        return value

    return {name: copy_value(value, 0) for name, value in event.items() if values_left > 0}


def _copy_as_ipc(table: pa.Table) -> pa.Buffer:
    """Copy into an IPC buffer; a slice would keep the parent table alive."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
