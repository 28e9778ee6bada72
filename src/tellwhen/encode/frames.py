"""Conversion of events in any form that users may pass to an Arrow table or an iterable of dicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from tellwhen.errors import EventError, describe_value


def to_table_or_dicts(events: Any) -> pa.Table | Iterable[Mapping[str, Any]]:
    """Return events in columns as an Arrow table, and an iterable of dicts unchanged."""
    if isinstance(events, pa.RecordBatchReader):
        return _reject_duplicate_columns(events.read_all())
    if isinstance(events, pa.Table | pa.RecordBatch):
        return _reject_duplicate_columns(pa.table(events))
    if isinstance(events, pa.Array):
        return _reject_duplicate_columns(_convert_column(pa.chunked_array([events])))
    kind = type(events)  # hasattr on the events themselves would make a lazy frame compute its columns
    if hasattr(kind, "columns") and hasattr(events, "__arrow_c_stream__"):
        return _convert_frame(events)
    if hasattr(events, "__arrow_c_stream__"):
        return _reject_duplicate_columns(_convert_stream(events))
    if hasattr(kind, "collect") and hasattr(kind, "columns"):
        raise EventError("a lazy frame has no rows yet: pass what its collect() returns")
    if isinstance(events, Mapping | str | bytes) or not isinstance(events, Iterable):
        hint = ""
        if isinstance(events, Mapping):
            hint = "; put a single event into a list, or use match() or top_k()"
        elif isinstance(events, str):
            hint = "; to read a file, use pyarrow.parquet.read_table"
        raise EventError(f"events must be a list of dicts or a table, not {describe_value(events)}{hint}")
    return events


def _convert_frame(frame: Any) -> pa.Table | list[Mapping[str, Any]]:
    """Convert a frame of pandas or polars, or an object with the same methods."""
    duplicates = [str(name) for name, count in Counter(frame.columns).items() if count > 1]
    if duplicates:
        raise EventError(f"the column {duplicates[0]!r} occurs twice; rename one")
    try:
        return _reject_duplicate_columns(pa.table(frame))
    except EventError:
        raise
    except Exception as error:  # the frame's own code runs here, and may raise anything
        # A column of mixed types, for instance, has no Arrow type: read the rows as dicts.
        if hasattr(frame, "to_dicts"):
            return frame.to_dicts()
        if hasattr(frame, "to_dict"):
            return frame.to_dict("records")
        raise EventError(f"the events cannot be read as a table: {error}") from error


def _convert_stream(events: Any) -> pa.Table:
    """Convert an object with Arrow's stream interface: a table, or a single column of structs or maps."""
    try:
        return pa.table(events)
    except Exception:
        try:
            return _convert_column(pa.chunked_array(events))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise EventError(f"the events cannot be read as a table: {error}") from error


def _convert_column(column: pa.ChunkedArray) -> pa.Table:
    if pt.is_struct(column.type):
        names = [field.name for field in column.type]
        # A null struct is an event without attributes.
        return pa.Table.from_arrays(column.flatten(), names) if names else pa.table({"": column})
    if pt.is_map(column.type):
        return pa.table({"": column})
    raise EventError(f"a column of events holds structs or maps, not {column.type}")


def _reject_duplicate_columns(table: pa.Table) -> pa.Table:
    duplicates = [name for name, count in Counter(table.column_names).items() if count > 1]
    if duplicates:
        raise EventError(f"the column {duplicates[0]!r} occurs twice; rename one")
    return table
