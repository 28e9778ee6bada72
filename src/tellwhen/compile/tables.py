"""Arrow -> points: a table of events, column by column.

A column is an attribute; a struct column is attributes with dotted names; a list column has several values. A table
whose only column is a map is read entry by entry. Text in a map of strings is read as what its attribute is compared
with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.events import entries_of
from tellwhen.kernels import encode as kernels
from tellwhen.kernels.arrays import HIGHEST, I64, Events
from tellwhen.lang.values import reduce
from tellwhen.schema import FAMILIES, Schema, value_from_text

TICKS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def encode_table(table: pa.Table, rows: int, attributes: Attributes, schema: Schema) -> tuple[Events, dict[str, int]]:
    """Arrays for the rows, and how many values of each attribute were of a wrong type."""
    encoder = _TableEncoder(rows, attributes, schema)
    if table.num_columns == 1 and pt.is_map(table.schema.field(0).type):
        encoder.add_map(_whole(table.column(0)))
    else:
        for name, column in _columns(table):
            encoder.add_column(name, column)
    return encoder.finish(), encoder.mismatches


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    """Columns by dotted name; a name written out in full wins over a nested one, as for dicts."""
    waiting = [(name, _whole(table.column(i))) for i, name in enumerate(table.column_names)]
    seen = set()
    while waiting:
        deeper = []
        for name, column in waiting:
            if pt.is_struct(column.type):
                fields = [f"{name}.{field.name}" for field in column.type]
                deeper += list(zip(fields, column.flatten(), strict=True))
            elif name not in seen:
                seen.add(name)
                yield name, column
        waiting = deeper


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


class _TableEncoder:
    def __init__(self, rows: int, attributes: Attributes, schema: Schema) -> None:
        self._rows = rows
        self._attributes = attributes
        self._schema = schema
        self._pieces: list[tuple[I64, Any, I64]] = []  # rows, a line or a line each, points
        self._present: dict[str, np.ndarray] = {}
        self.mismatches: dict[str, int] = {}

    def add_column(self, name: str, column: pa.Array) -> None:
        attribute = self._attributes.by_name.get(name)
        if attribute is not None:
            self._values(attribute, column, np.arange(self._rows, dtype=np.int64))

    def add_map(self, column: pa.MapArray) -> None:
        lengths = np.diff(column.offsets.to_numpy(zero_copy_only=False))
        # A null map may still own entries in the child arrays: give it none.
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(self._rows, dtype=np.int64), lengths)
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        keys, items = column.keys[first:last], column.items[first:last]
        if not valid.all():
            kept = pa.array(valid[rows])
            keys, items, rows = keys.filter(kept), items.filter(kept), rows[valid[rows]]
        coded = keys.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        begin = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
        is_text = _is_string(items.type)
        for code, name in enumerate(coded.dictionary.to_pylist()):
            attribute = self._attributes.by_name.get(name)
            if attribute is not None:
                mine = order[begin[code] : begin[code + 1]]
                self._values(attribute, items.take(pa.array(mine)), rows[mine], is_text)

    def _values(
        self, attribute: Attribute, column: pa.Array, rows: I64, is_text: bool = False, inside: bool = False
    ) -> None:
        """Entries for values that belong to the given rows; `inside` a list, where a list is no value."""
        column = _plain(column)
        if column.null_count:
            # Before lists are flattened: a null list may still own values.
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            column, rows = column.drop_null(), rows[valid]
        if _is_list(column.type) and not inside:
            parents = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
            self._values(attribute, pc.list_flatten(column), rows[parents], is_text, inside=True)
            return
        if pt.is_floating(column.type):
            doubles = column.to_numpy(zero_copy_only=False).astype(np.float64)
            known = doubles == doubles
            if not known.all():
                doubles, rows = doubles[known], rows[known]
            column = pa.array(doubles)
        if attribute.presence >= 0:
            present = self._present.setdefault(attribute.name, np.zeros(self._rows, dtype=np.int64))
            present[rows] = 1
        if len(rows):
            self._typed(attribute, column, rows, is_text)

    def _typed(self, attribute: Attribute, column: pa.Array, rows: I64, is_text: bool) -> None:
        kind = column.type
        families = attribute.families
        if is_text:
            self._text(attribute, column, rows)
        elif pt.is_integer(kind) and "number" in families:
            self._integers(attribute, column, rows)
        elif pt.is_floating(kind) and "number" in families:
            values = column.to_numpy()
            self._piece(attribute.int, kernels.int_points_of_floats, values, rows)
            self._piece(attribute.float, kernels.float_points, values, rows)
        elif pt.is_boolean(kind) and "bool" in families:
            self._pieces.append((rows, attribute.bool, column.to_numpy(zero_copy_only=False).astype(np.int64)))
        elif (pt.is_timestamp(kind) or pt.is_date(kind)) and "time" in families:
            self._times(attribute, column, rows)
        elif pt.is_null(kind):
            pass
        elif families:
            self._coded(attribute, column, rows, lambda value: [self._schema.read(attribute.name, value)])

    def _text(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        """Text is read as declared, or as every family that the attribute is compared with."""
        declared = self._schema.types.get(attribute.name)
        families = attribute.families if declared is None else {FAMILIES[declared]}
        if families == {"number"} and (numbers := _integers(column)) is not None:
            self._integers(attribute, numbers, rows)
        elif families:
            self._coded(attribute, column, rows, lambda text: [value_from_text(text, family) for family in families])

    def _integers(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        raw = column.to_numpy()
        if raw.dtype == np.uint64:
            # Above int64: beyond every constant of an int line, a double on a float line.
            values = np.minimum(raw, np.uint64(HIGHEST)).astype(np.int64)
            doubles = np.where(raw > np.uint64(HIGHEST), raw.astype(np.float64), kernels.doubles_towards_zero(values))
        else:
            values = raw.astype(np.int64, copy=False)
            doubles = kernels.doubles_towards_zero(values) if attribute.float >= 0 else values
        self._piece(attribute.int, kernels.int_points, values, rows)
        self._piece(attribute.float, kernels.float_points, doubles, rows)

    def _times(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        if pt.is_date32(column.type):
            ticks, (multiply, divide) = column.cast(pa.int32()).cast(pa.int64()), (86_400_000_000, 1)
        else:
            ticks = column.cast(pa.int64())
            multiply, divide = TICKS["ms" if pt.is_date64(column.type) else column.type.unit]
        self._pieces.append((rows, attribute.time, kernels.time_points(ticks.to_numpy(), multiply, divide)))

    def _piece(self, line: int, points: Any, values: np.ndarray, rows: I64) -> None:
        if line >= 0:
            self._pieces.append((rows, line, points(np.ascontiguousarray(values))))

    def _coded(self, attribute: Attribute, column: pa.Array, rows: I64, read: Any) -> None:
        """Each distinct value the slow way, as all that it can be read as; then all of them by their codes."""
        distinct, codes = _distinct(column)
        lines: list[int] = []
        points: list[int] = []
        start = [0]
        wrong = np.zeros(len(distinct), dtype=np.int64)
        for i, value in enumerate(distinct):
            known = [reduce(reading) for reading in read(value)]
            fitting = [reading for reading in known if reading is not None and reading.family in attribute.families]
            wrong[i] = not fitting
            for reading in fitting:
                for line, point in entries_of(attribute, reading):
                    lines.append(line)
                    points.append(point)
            start.append(len(lines))
        mismatches = int(wrong[codes].sum())
        if mismatches:
            self.mismatches[attribute.name] = self.mismatches.get(attribute.name, 0) + mismatches
        starts = np.array(start, dtype=np.int64)
        total = int(np.diff(starts)[codes].sum())
        out = np.empty(total, np.int64), np.empty(total, np.int32), np.empty(total, np.int64)
        kernels.expand(rows, codes, starts, np.array(lines, np.int32), np.array(points, np.int64), *out)
        if len(rows) > 1 and (np.diff(rows) == 0).any():
            # Several values in a row: the entries of one line must be neighbours.
            order = np.lexsort((out[1], out[0]))
            out = out[0][order], out[1][order], out[2][order]
        self._pieces.append(out)

    def finish(self) -> Events:
        for attribute in self._attributes.watched:
            present = self._present.get(attribute.name)
            points = np.zeros(self._rows, dtype=np.int64) if present is None else present
            self._pieces.append((np.arange(self._rows, dtype=np.int64), attribute.presence, points))
        start = np.zeros(self._rows + 1, dtype=np.int64)
        for rows, _, _ in self._pieces:
            kernels.count_rows(rows, start[1:])
        np.cumsum(start, out=start)
        at = start[:-1].copy()
        line = np.empty(start[-1], dtype=np.int32)
        point = np.empty(start[-1], dtype=np.int64)
        for rows, lines, points in self._pieces:
            place = kernels.place_entries if isinstance(lines, np.ndarray) else kernels.place_column
            place(rows, lines, points, at, line, point)
        plain = np.empty(self._rows, dtype=np.uint8)
        kernels.find_plain(start, line, plain)
        return Events(start, line, point, point, plain)


def _is_string(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind)


def _plain(column: pa.Array) -> pa.Array:
    """The same values in an encoding that Arrow can compute with, and whose nulls can be counted."""
    kind = column.type
    if pt.is_string_view(kind):
        return column.cast(pa.large_string())
    if pt.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(column))
    if pt.is_dictionary(kind) and (not _is_string(kind.value_type) or column.dictionary.null_count):
        return _plain(column.dictionary_decode())
    if isinstance(kind, pa.ListViewType | pa.LargeListViewType | pa.BaseExtensionType) or pt.is_union(kind):
        # Rare: through Python, as lists where they are lists; values of several types have no array of their own.
        return column.cast(pa.large_list(kind.value_type)) if hasattr(kind, "value_type") else column
    return column


def _integers(column: pa.Array) -> pa.Array | None:
    """Text that is integers throughout, cast in one go; else None."""
    try:
        # Arrow reads hexadecimal, which is not a number here.
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            return None
        return column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _distinct(column: pa.Array) -> tuple[list[Any], np.ndarray]:
    """Distinct values as Python objects, and the code of each element."""
    try:
        if not pt.is_dictionary(column.type):
            column = column.dictionary_encode()
        # Only those in use: a slice keeps the dictionary of the whole.
        used, codes = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return _python(column.dictionary.take(pa.array(used))), codes
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return _python(column), np.arange(len(column))


def _python(column: pa.Array) -> list[Any]:
    """As Python objects; None for what has no Python form (such as text that is not valid UTF-8)."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):
        values = []
        for value in column:
            try:
                values.append(value.as_py())
            except (ValueError, OverflowError):
                values.append(None)
        return values
