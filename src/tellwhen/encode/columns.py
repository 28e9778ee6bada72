"""An Arrow column in any encoding -> its values without nulls, each with the row that it belongs to."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from tellwhen.errors import EventError
from tellwhen.kernels.arrays import I64
from tellwhen.language.values import is_missing, iter_members


class Column(NamedTuple):
    """A named column: its values, and the row of each. `valid` tells which count, if a struct around some is null."""

    name: str
    values: pa.Array | pa.ChunkedArray
    rows: I64
    valid: NDArray[np.bool_] | None = None


class Values(NamedTuple):
    """Single values, none of them null: Arrow's, or Python objects where Arrow cannot compute with them."""

    values: pa.Array | list[Any]
    rows: I64


def columns(table: pa.Table) -> Iterator[Column]:
    """All columns, those of structs and maps with dotted names. A name that is written in full wins, as for dicts."""
    if _is_one_map(table):
        return _flattened([*map_columns(_column(table, 0, ""))])
    return _flattened([_column(table, i, name) for i, name in enumerate(table.column_names)])


def _column(table: pa.Table, number: int, name: str) -> Column:
    return Column(name, whole(table.column(number)), np.arange(table.num_rows))


def _flattened(waiting: list[Column]) -> Iterator[Column]:
    """Columns, and in place of structs and maps the columns inside, level by level."""
    seen: dict[str, list[Column]] = {}
    while waiting:
        deeper: list[Column] = []
        for column in waiting:
            if pt.is_struct(column.values.type):
                deeper += _fields(column)
            elif pt.is_map(column.values.type):
                deeper += map_columns(column)
            else:
                before = seen.setdefault(column.name, [])
                remaining = _without(column, before) if before else column
                before.append(column)
                if len(remaining.rows):
                    yield remaining
        waiting = deeper


def _without(column: Column, before: list[Column]) -> Column:
    """What is left of a column, where columns of the same name came before it: the rows that these do not have."""
    known = np.concatenate([rows if valid is None else rows[valid] for _, _, rows, valid in before])
    is_left = ~np.isin(column.rows, known)
    if column.valid is not None:
        is_left &= column.valid
    return Column(column.name, _taken(whole(column.values), np.flatnonzero(is_left)), column.rows[is_left])


def _fields(column: Column) -> list[Column]:
    name, _, rows, valid = column
    struct = whole(column.values)
    if struct.null_count:
        # Kept apart: not every encoding of a field has nulls.
        own = struct.is_valid().to_numpy(zero_copy_only=False)
        valid = own if valid is None else own & valid
    return [Column(f"{name}.{field.name}", struct.field(i), rows, valid) for i, field in enumerate(struct.type)]


def _is_one_map(table: pa.Table) -> bool:
    """Is there one column, a map? Its entries are the events' own, not those of a nested object."""
    return table.num_columns == 1 and pt.is_map(table.schema.field(0).type)


def only_map(table: pa.Table) -> Column | None:
    """The one column of a table, if it is a map of single values, or of structs that stand for unions."""
    if not _is_one_map(table) or pt.is_map(table.schema.field(0).type.item_type):
        return None
    return _column(table, 0, "")


def map_columns(column: Column, wanted: Container[str] | None = None) -> Iterator[Column]:
    """The entries of a map as a column for each key, only those `wanted`. Its rows are the maps that have the key."""
    prefix = column.name + "." if column.name else ""
    entries = whole(column.values)
    key = entries.type.key_type.value_type if pt.is_dictionary(entries.type.key_type) else entries.type.key_type
    if not holds_text(key):
        where = f"in the column {column.name!r}" if column.name else "in a column of events"
        raise EventError(f"the name of an attribute is a string: the keys of maps {where} are {entries.type.key_type}")
    # A null map may still have entries in the child arrays: leave them out, like those of null structs.
    there = entries.is_valid().to_numpy(zero_copy_only=False)
    if column.valid is not None:
        there = there & column.valid
    owner = np.repeat(np.arange(len(entries)), np.diff(entries.offsets.to_numpy(zero_copy_only=False)))
    first, last = entries.offsets[0].as_py(), entries.offsets[-1].as_py()
    keys, items = entries.keys[first:last].cast(pa.large_string()).dictionary_encode(), entries.items[first:last]
    codes = np.where(there[owner], keys.indices.to_numpy(zero_copy_only=False), -1)
    order = np.argsort(codes, kind="stable")
    begin = np.searchsorted(codes[order], np.arange(len(keys.dictionary) + 1))
    for code, key in enumerate(keys.dictionary.to_pylist()):
        mine = order[begin[code] : begin[code + 1]]
        if len(mine) and (wanted is None or prefix + key in wanted):
            yield Column(prefix + key, _taken(items, mine), column.rows[owner[mine]])


def _taken(column: pa.Array | pa.ChunkedArray, positions: I64) -> pa.Array | pa.ChunkedArray:
    """Some values of a column. Arrow cannot take them from every encoding."""
    try:
        if isinstance(column, pa.Array) and (decoded := _decoded(column)) is not None:
            column = decoded
        return column.take(pa.array(positions))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.chunked_array([column.slice(position, 1) for position in positions.tolist()], column.type)


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column in one piece, unless Arrow cannot join its chunks."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return column


def single_values(column: Column) -> Values:
    """The values of a column: lists become their members; nulls and NaN are left out."""
    try:
        found = _by_arrow(column)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        found = None
    return _by_python(column) if found is None else found


def _by_arrow(column: Column) -> Values | None:
    """The values, if Arrow can compute with them."""
    _, values, rows, valid = column
    if isinstance(values, pa.ChunkedArray):
        return None
    values = _decoded(values)
    if values is None:
        return None
    if valid is not None:
        values, rows = values.filter(pa.array(valid)), rows[valid]
    if pt.is_list(values.type) or pt.is_large_list(values.type) or pt.is_fixed_size_list(values.type):
        # A null list may still have values; flattening skips them.
        lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        rows = np.repeat(rows, lengths)
        values = _decoded(pc.list_flatten(values))
        if values is None:
            return None
    if values.null_count:
        rows = rows[values.is_valid().to_numpy(zero_copy_only=False)]
        values = values.drop_null()
    if pt.is_floating(values.type):
        doubles = values.to_numpy(zero_copy_only=False).astype(np.float64)
        known = doubles == doubles
        if not known.all():
            doubles, rows = doubles[known], rows[known]
        values = pa.array(doubles)
    return Values(values, rows)


def _decoded(column: pa.Array) -> pa.Array | None:
    """The same values in an encoding whose nulls Arrow can count and drop; None if Arrow has none."""
    kind = column.type
    if pt.is_string_view(kind):
        return column.cast(pa.large_string())
    if pt.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pt.is_run_end_encoded(kind):
        return _decoded(pc.run_end_decode(column))
    if pt.is_dictionary(kind) and (not is_string(kind.value_type) or column.dictionary.null_count):
        return _decoded(column.dictionary_decode())
    views = pa.ListViewType | pa.LargeListViewType
    if isinstance(kind, views | pa.BaseExtensionType) or pt.is_union(kind) or pt.is_map(kind):
        return None
    return column


def is_string(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind)


def holds_text(kind: pa.DataType) -> bool:
    """Strings in any layout, also one that Arrow cannot compute with."""
    return is_string(kind) or pt.is_string_view(kind)


def _by_python(column: Column) -> Values:
    """The slow path, for rare encodings."""
    _, values, rows, valid = column
    found, kept = [], []
    has = np.ones(len(rows), dtype=bool) if valid is None else valid
    for value, row, there in zip(objects(values), rows.tolist(), has.tolist(), strict=True):
        if there:
            for member in iter_members(value):
                if not is_missing(member):
                    found.append(member)
                    kept.append(row)
    return Values(found, np.array(kept, dtype=np.int64))


def objects(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values as Python objects; one that has none, such as a time in an unknown zone, becomes `Unreadable`."""
    try:
        return column.to_pylist()
    except Exception:  # from zoneinfo, codecs, or the modules of extension types
        return [_object(value) for value in column]


def _object(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except Exception:
        return Unreadable


class Unreadable:
    """A value that is present, and of no family."""
