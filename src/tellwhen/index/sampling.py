"""Which events were matched recently? A sample of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import pyarrow as pa

from tellwhen.encode.names import iterate_attribute_names
from tellwhen.language.values import is_list_like
from tellwhen.profile import Profile

MOST = 1_024
"""Events kept, besides those of tables."""

FIRST_LOOK = 1_000
"""After so many events, and then after ten times as many, and so on, somebody looks what they lack."""

EVERY = 64
"""After the first 1,024, one event in 64 is kept, in place of the oldest."""

ROWS, TABLES = 128, 32
"""The first 128 events of each of the last 32 tables are kept."""

TABLE_BYTES = 1 << 20
"""Of a table with larger events, fewer are kept."""

TEXT_MAX, MEMBERS_MAX, VALUES_MAX, DEPTH_MAX = 1_000, 64, 1_000, 32
"""Characters of a text, members of a list, and values in all that are kept of an event, and how deep: it is a sample,
and not an archive."""


class Recent:
    """A sample of the events that were matched."""

    def __init__(self) -> None:
        self._count = 0  # several threads may count: a few more or less do not matter
        self._next_look = FIRST_LOOK
        self._kept: deque[Mapping[str, Any]] = deque(maxlen=MOST)
        self._tables: deque[pa.Buffer] = deque(maxlen=TABLES)

    def note(self, event: Mapping[str, Any]) -> None:
        """An event was matched."""
        self._count += 1
        if self._count <= MOST or self._count % EVERY == 0:
            self._kept.append(_copy(event))  # the user may go on changing it

    def note_many(self, events: Any) -> None:
        """A list of events, or a table, was matched."""
        if isinstance(events, pa.Table):
            self._count += events.num_rows
            with suppress(pa.ArrowNotImplementedError):  # a column of a rare type
                few = events.slice(0, ROWS)
                self._tables.append(_written(few.slice(0, ROWS * TABLE_BYTES // max(TABLE_BYTES, few.nbytes))))
        elif isinstance(events, list | tuple):
            self._count += len(events)
            some = events[:: 1 + len(events) // MOST]
            self._kept.extend(_copy(event) for event in some if isinstance(event, Mapping))

    @property
    def is_due(self) -> bool:
        """Have enough events come, since somebody looked, to look again what they lack?"""
        if self._count < self._next_look:
            return False
        self._next_look = max(10 * self._next_look, self._count + 1)
        return True

    def carried(self) -> set[str]:
        """The attributes that some of the kept events have."""
        return {name for events in (list(self._kept), *self._read()) for name in iterate_attribute_names(events)}

    def _read(self) -> list[pa.Table]:
        return [pa.ipc.open_stream(table).read_all() for table in list(self._tables)]

    def profile(self) -> Profile:
        """The profile of the events that are kept."""
        return Profile.merge([Profile.from_events(list(self._kept)), *map(Profile.from_events, self._read())])


def _copy(event: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, in which what is large is cut."""
    left = VALUES_MAX

    def copied(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if isinstance(value, str | bytes):
            return value[:TEXT_MAX]
        if depth > DEPTH_MAX:
            return None
        if isinstance(value, Mapping):
            return {name: copied(one, depth + 1) for name, one in value.items() if left > 0}
        if is_list_like(value):
            return [copied(one, depth + 1) for one in islice(value, MEMBERS_MAX) if left > 0]
        return value

    return {name: copied(value, 0) for name, value in event.items() if left > 0}


def _written(table: pa.Table) -> pa.Buffer:
    """A copy: a slice would keep the whole table alive."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
