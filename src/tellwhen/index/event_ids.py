"""Ids of events in results: positions, or the values of an attribute."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tellwhen.encode.batches import EventBlock
from tellwhen.encode.columns import cast_view, get_only_map
from tellwhen.errors import ArgumentError, EventError, abbreviate
from tellwhen.kernels.arrays import I64
from tellwhen.language.values import flatten

LISTED_ROWS = 100
"""List the keys of the first 100 rows if the events are maps that lack the key."""

LISTED_NAMES_MAX = 20


class EventIds(ABC):
    """The ids of events by position."""

    @abstractmethod
    def start_block(self, block: EventBlock) -> None:
        """Read the ids of a block; `take` is then called with positions in this block only."""

    @abstractmethod
    def take(self, positions: I64) -> pa.Array:
        """Return the ids of the events at these positions."""

    @abstractmethod
    def make_empty(self) -> pa.Array:
        """Return a column without rows, of the type of the ids."""


def make_event_ids(events: pa.Table | Iterable[Mapping[str, Any]], attribute: str | None) -> EventIds:
    """Return ids that are the values of an attribute, or positions if `attribute` is None.

    Raises
    ------
    EventError
        If the events are a table without the column, or the column has nulls or cannot identify events.
    """
    if attribute is None:
        return PositionIds()
    return ColumnIds(events, attribute) if isinstance(events, pa.Table) else AttributeIds(attribute)


def validate_event_id(event_id: Any) -> None:
    """Raise ArgumentError if `event_id` is not the name of an attribute."""
    if event_id is not None and not isinstance(event_id, str):
        raise ArgumentError(f"event_id must be the name of an attribute of the events, not {abbreviate(event_id)}")


class PositionIds(EventIds):
    """Positions as ids."""

    def start_block(self, block: EventBlock) -> None:
        pass

    def take(self, positions: I64) -> pa.Array:
        return pa.array(positions)

    def make_empty(self) -> pa.Array:
        return pa.array([], pa.int64())


class ColumnIds(EventIds):
    """The values of a column of a table as ids."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self._column = _read_id_column(table, name)

    def start_block(self, block: EventBlock) -> None:
        pass

    def take(self, positions: I64) -> pa.Array:
        ids = self._column.take(pa.array(positions))
        return ids.combine_chunks() if ids.num_chunks != 1 else ids.chunk(0)

    def make_empty(self) -> pa.Array:
        return pa.array([], self._column.type)


class AttributeIds(EventIds):
    """The values of an attribute of dicts as ids. All must have one type, so that no id is converted to another one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._first = 0  # the position of the first event of the block
        self._values: list[Any] = []
        self._array: pa.Array | None = None  # the values of the block, made at the first use
        self._type: pa.DataType | None = None
        self._type_names: set[str | None] = set()  # of all blocks so far

    def start_block(self, block: EventBlock) -> None:
        self._first, self._array = block.first, None
        self._values = [
            self._read_id(position, event)
            for position, event in enumerate(block.events, block.first)
            if isinstance(event, Mapping)  # the encoder raises an error for any other
        ]

    def _read_id(self, position: int, event: Mapping[str, Any]) -> Any:
        value = event[self._name] if self._name in event else flatten(event).get(self._name)
        if value is None:
            _raise_missing_id(position, self._name)
        return value

    def take(self, positions: I64) -> pa.Array:
        if self._array is None:
            self._array = self._make_array()
            self._type = self._array.type
        return self._array.take(pa.array(positions - self._first))

    def make_empty(self) -> pa.Array:
        return pa.array([], self._type or pa.null())

    def _make_array(self) -> pa.Array:
        names = {_name_id_type(value) for value in self._values}
        self._type_names |= names
        if len(self._type_names) > 1 or None in names:
            types = ", ".join(sorted({type(value).__name__ for value in self._values}))
            raise EventError(
                f"event_id: the values of {self._name} must have one type, of int, str, float, bool, bytes, date and "
                f"datetime, and not be NaN; found {types}"
            )
        try:
            return pa.array(self._values, self._type or (pa.large_string() if names == {"str"} else None))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise EventError(f"event_id: the values of {self._name} do not fit into one column: {error}") from None


def _name_id_type(value: Any) -> str | None:
    """Return the type of an id; None if a column cannot store the value unchanged."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float" if value == value else None
    if isinstance(value, dt.datetime):
        return f"datetime {value.tzinfo}"
    return next((kind.__name__ for kind in (str, bytes, dt.date) if isinstance(value, kind)), None)


def _read_id_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the column with the ids of the events; raise EventError if it does not identify all events."""
    if get_only_map(table) is None:
        column, names = _find_column(table, name), table.column_names
    else:  # each event is a map, and the ids are the values of a key
        entries = table.column(0)
        column = pc.map_lookup(entries, name, "first")
        names = sorted({key for row in entries.slice(0, LISTED_ROWS).to_pylist() for key, _ in row or ()})
        if column.null_count == len(column) and len(column):
            column = None
    if column is None:
        listed = ", ".join(names[:LISTED_NAMES_MAX]) or "none"
        if get_only_map(table) is None:
            raise EventError(f"event_id={name!r} is not a column of the table; its columns are: {listed}")
        raise EventError(f"event_id={name!r} is not an attribute of any event; their attributes are: {listed}")
    if column.null_count:
        _raise_missing_id(column.is_null().to_numpy().argmax(), name)
    return column


def _find_column(table: pa.Table, name: str) -> pa.ChunkedArray | None:
    """Return a column, or a field of a struct column, decoded to a type that Arrow can `take` from; None if unknown."""
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
            column = cast_view(column)
        column.slice(0, 1).take(pa.array([0] if len(column) else [], pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, KeyError):
        return None if len(path) > 1 else _raise_unusable_column(name, column.type)
    return column


def _raise_missing_id(position: int, name: str) -> NoReturn:
    raise EventError(f"event {position} has no value of {name!r}, the attribute named by event_id")


def _raise_unusable_column(name: str, column_type: pa.DataType) -> NoReturn:
    raise EventError(
        f"event_id: the column {name} of type {column_type} cannot identify events; cast it to integers or strings"
    )
