"""Events in any form that a user may give them -> an Arrow table, or an iterable of dicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from tellwhen.errors import EventError


def as_table_or_dicts(events: Any) -> pa.Table | Iterable[Mapping[str, Any]]:
    """Events in columns as an Arrow table; an iterable of dicts as it is."""
    if isinstance(events, pa.RecordBatchReader):
        return _checked(events.read_all())
    if isinstance(events, pa.Table | pa.RecordBatch):
        return _checked(pa.table(events))
    if isinstance(events, pa.Array):
        return _checked(_from_column(pa.chunked_array([events])))
    kind = type(events)  # not the thing itself: a lazy frame would find out its columns
    if hasattr(kind, "columns") and hasattr(events, "__arrow_c_stream__"):
        return _from_frame(events)
    if hasattr(events, "__arrow_c_stream__"):
        return _checked(_from_stream(events))
    if hasattr(kind, "collect") and hasattr(kind, "columns"):
        raise EventError("a lazy frame has no rows yet: pass what its collect() returns")
    if isinstance(events, Mapping | str | bytes) or not isinstance(events, Iterable):
        raise EventError(
            "events are a list of dicts or a table; put a single event into a list, or use match() or top_k()"
        )
    return events


def _from_frame(frame: Any) -> pa.Table | list[Mapping[str, Any]]:
    """pandas or polars, or what looks like them."""
    twice = [str(name) for name, count in Counter(frame.columns).items() if count > 1]
    if twice:
        raise EventError(f"the column {twice[0]!r} occurs twice; rename one")
    try:
        return _checked(pa.table(frame))
    except EventError:
        raise
    except Exception as error:  # the frame's own code runs here, and may raise anything
        # A column of mixed types, for instance, has no Arrow type: read the rows as dicts.
        if hasattr(frame, "to_dicts"):
            return frame.to_dicts()
        if hasattr(frame, "to_dict"):
            return frame.to_dict("records")
        raise EventError(f"the events cannot be read as a table: {error}") from error


def _from_stream(events: Any) -> pa.Table:
    """Anything with Arrow's stream interface: a table, or a single column of structs or maps."""
    try:
        return pa.table(events)
    except Exception:
        try:
            return _from_column(pa.chunked_array(events))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise EventError(f"the events cannot be read as a table: {error}") from error


def _from_column(column: pa.ChunkedArray) -> pa.Table:
    if pt.is_struct(column.type):
        names = [field.name for field in column.type]
        # A null struct is an event without attributes.
        return pa.Table.from_arrays(column.flatten(), names) if names else pa.table({"": column})
    if pt.is_map(column.type):
        return pa.table({"": column})
    raise EventError(f"a column of events holds structs or maps, not {column.type}")


def _checked(table: pa.Table) -> pa.Table:
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise EventError(f"the column {twice[0]!r} occurs twice; rename one")
    return table
