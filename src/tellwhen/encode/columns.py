"""Extraction of values from Arrow columns in any encoding: single values without nulls, each with its row."""

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
    """A named column: its values, and the row of each.

    `valid` is False for values inside a null struct, which do not count; None if there are none.
    """

    name: str
    values: pa.Array | pa.ChunkedArray
    rows: I64
    valid: NDArray[np.bool_] | None = None


class Values(NamedTuple):
    """Values that are not null, and the row of each. They are Python objects if Arrow cannot compute with them."""

    values: pa.Array | list[Any]
    rows: I64


def flatten_columns(table: pa.Table) -> Iterator[Column]:
    """Yield all columns, and in place of structs and maps the columns inside, with dotted names.

    If a row has a value in several columns of one name, the one that is nested least counts, as in dicts.
    """
    if _is_one_map(table):
        return _flatten([*split_map(_get_column(table, 0, ""))])
    return _flatten([_get_column(table, i, name) for i, name in enumerate(table.column_names)])


def _get_column(table: pa.Table, number: int, name: str) -> Column:
    return Column(name, combine_chunks(table.column(number)), np.arange(table.num_rows))


def _flatten(columns: list[Column]) -> Iterator[Column]:
    """Yield columns, and in place of structs and maps the columns inside, level by level."""
    seen: dict[str, list[Column]] = {}
    while columns:
        nested: list[Column] = []
        for column in columns:
            if pt.is_struct(column.values.type):
                nested += _split_struct(column)
            elif pt.is_map(column.values.type):
                nested += split_map(column)
            else:
                earlier = seen.setdefault(column.name, [])
                remaining = _drop_known_rows(column, earlier) if earlier else column
                earlier.append(column)
                if len(remaining.rows):
                    yield remaining
        columns = nested


def _drop_known_rows(column: Column, earlier: list[Column]) -> Column:
    """Return a column without the rows that earlier columns of the same name have."""
    known = np.concatenate([rows if valid is None else rows[valid] for _, _, rows, valid in earlier])
    is_new = ~np.isin(column.rows, known)
    if column.valid is not None:
        is_new &= column.valid
    return Column(column.name, _take(combine_chunks(column.values), np.flatnonzero(is_new)), column.rows[is_new])


def _split_struct(column: Column) -> list[Column]:
    name, _, rows, valid = column
    struct = combine_chunks(column.values)
    if struct.null_count:
        # Validity is passed separately, since not every encoding of a field has nulls.
        own = struct.is_valid().to_numpy(zero_copy_only=False)
        valid = own if valid is None else own & valid
    return [Column(f"{name}.{field.name}", struct.field(i), rows, valid) for i, field in enumerate(struct.type)]


def _is_one_map(table: pa.Table) -> bool:
    """Return whether the only column is a map. Its entries are the attributes of the events."""
    return table.num_columns == 1 and pt.is_map(table.schema.field(0).type)


def get_only_map(table: pa.Table) -> Column | None:
    """Return the only column if it is a map of single values, or of structs that stand for unions; else None."""
    if not _is_one_map(table) or pt.is_map(table.schema.field(0).type.item_type):
        return None
    return _get_column(table, 0, "")


def split_map(column: Column, names: Container[str] | None = None) -> Iterator[Column]:
    """Yield a column for each key of a map, with the rows that have the key.

    With `names`, yield only columns with these names.
    """
    prefix = column.name + "." if column.name else ""
    entries = combine_chunks(column.values)
    key = entries.type.key_type.value_type if pt.is_dictionary(entries.type.key_type) else entries.type.key_type
    if not is_text(key):
        where = f"in the column {column.name!r}" if column.name else "in a column of events"
        raise EventError(f"the name of an attribute is a string: the keys of maps {where} are {entries.type.key_type}")
    # A null map may still have entries in the child arrays. They do not count, like those of null structs.
    is_valid = entries.is_valid().to_numpy(zero_copy_only=False)
    if column.valid is not None:
        is_valid = is_valid & column.valid
    owner = np.repeat(np.arange(len(entries)), np.diff(entries.offsets.to_numpy(zero_copy_only=False)))
    first, last = entries.offsets[0].as_py(), entries.offsets[-1].as_py()
    keys, items = entries.keys[first:last].cast(pa.large_string()).dictionary_encode(), entries.items[first:last]
    codes = np.where(is_valid[owner], keys.indices.to_numpy(zero_copy_only=False), -1)
    order = np.argsort(codes, kind="stable")
    begin = np.searchsorted(codes[order], np.arange(len(keys.dictionary) + 1))
    for code, key in enumerate(keys.dictionary.to_pylist()):
        positions = order[begin[code] : begin[code + 1]]
        if len(positions) and (names is None or prefix + key in names):
            yield Column(prefix + key, _take(items, positions), column.rows[owner[positions]])


def _take(column: pa.Array | pa.ChunkedArray, positions: I64) -> pa.Array | pa.ChunkedArray:
    """Return the values at some positions, also from encodings of which Arrow cannot take values."""
    try:
        if isinstance(column, pa.Array) and (decoded := _decode(column)) is not None:
            column = decoded
        return column.take(pa.array(positions))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.chunked_array([column.slice(position, 1) for position in positions.tolist()], column.type)


def combine_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the column as one array, or unchanged if Arrow cannot combine its chunks."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return column


def extract_values(column: Column) -> Values:
    """Return the single values of a column. Replace lists by their members; leave out nulls and NaN."""
    try:
        found = _extract_by_arrow(column)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        found = None
    return _extract_by_python(column) if found is None else found


def _extract_by_arrow(column: Column) -> Values | None:
    """Extract values with Arrow. Return None if Arrow cannot compute with their encoding."""
    _, values, rows, valid = column
    if isinstance(values, pa.ChunkedArray):
        return None
    values = _decode(values)
    if values is None:
        return None
    if valid is not None:
        values, rows = values.filter(pa.array(valid)), rows[valid]
    if pt.is_list(values.type) or pt.is_large_list(values.type) or pt.is_fixed_size_list(values.type):
        # A null list may still have values; flattening skips them.
        lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        rows = np.repeat(rows, lengths)
        values = _decode(pc.list_flatten(values))
        if values is None:
            return None
    if values.null_count:
        rows = rows[values.is_valid().to_numpy(zero_copy_only=False)]
        values = values.drop_null()
    if pt.is_floating(values.type):
        doubles = values.to_numpy(zero_copy_only=False).astype(np.float64)
        is_number = doubles == doubles  # not NaN
        if not is_number.all():
            doubles, rows = doubles[is_number], rows[is_number]
        values = pa.array(doubles)
    return Values(values, rows)


def cast_view(column: Any) -> Any:
    """Convert an array or a chunked array of views, of strings or of bytes, to the large type without views."""
    target = pa.large_string() if pt.is_string_view(column.type) else pa.large_binary()
    try:
        return column.cast(target)
    except pa.ArrowNotImplementedError:  # before PyArrow 24
        if isinstance(column, pa.ChunkedArray):
            return pa.chunked_array([pa.array(chunk.to_pylist(), target) for chunk in column.chunks], target)
        return pa.array(column.to_pylist(), target)


def _decode(column: pa.Array) -> pa.Array | None:
    """Return the values in an encoding whose nulls Arrow can count and drop, or None if there is no such encoding."""
    kind = column.type
    if pt.is_string_view(kind) or pt.is_binary_view(kind):
        return cast_view(column)
    if pt.is_run_end_encoded(kind):
        return _decode(pc.run_end_decode(column))
    if pt.is_dictionary(kind) and (not is_string(kind.value_type) or column.dictionary.null_count):
        return _decode(column.dictionary_decode())
    views = pa.ListViewType | pa.LargeListViewType
    if isinstance(kind, views | pa.BaseExtensionType) or pt.is_union(kind) or pt.is_map(kind):
        return None
    return column


def is_string(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is a string in any layout, also one that Arrow cannot compute with."""
    return is_string(kind) or pt.is_string_view(kind)


def _extract_by_python(column: Column) -> Values:
    """Extract values as Python objects, which is slow, for rare encodings."""
    _, values, rows, valid = column
    found, found_rows = [], []
    all_valid = np.ones(len(rows), dtype=bool) if valid is None else valid
    for value, row, is_valid in zip(to_objects(values), rows.tolist(), all_valid.tolist(), strict=True):
        if is_valid:
            present = [member for member in iter_members(value) if not is_missing(member)]
            found += present
            found_rows += [row] * len(present)
    return Values(found, np.array(found_rows, dtype=np.int64))


def to_objects(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values as Python objects. A value without one, such as a time in an unknown zone, is `Unreadable`."""
    try:
        return column.to_pylist()
    except Exception:  # from zoneinfo, codecs, or the modules of extension types
        return [_to_object(value) for value in column]


def _to_object(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except Exception:
        return Unreadable


class Unreadable:
    """Stand-in for a value that is present but has no Python object. It is of no family."""
