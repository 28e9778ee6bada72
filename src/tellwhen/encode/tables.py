"""Arrow -> points: a table of events, column by column.

A column is an attribute; a struct column is attributes with dotted names; a list column has several values. A table
whose only column is a map is read entry by entry. Text in a map of strings is read as what its attribute is compared
with. Structs in a map are unions: the field that is not null is the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.encode.columns import Column, Values, columns, is_string, objects, single_values, whole
from tellwhen.encode.events import entries_of
from tellwhen.kernels import encode as kernels
from tellwhen.kernels.arrays import HIGHEST, I64, Events
from tellwhen.lang.values import reduce
from tellwhen.schema import FAMILIES, Schema, value_from_text

TICKS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def encode_table(table: pa.Table, rows: int, attributes: Attributes, schema: Schema) -> tuple[Events, dict[str, int]]:
    """Arrays for the rows, and how many values of each attribute were of a wrong type."""
    encoder = _TableEncoder(rows, attributes, schema)
    if table.num_columns == 1 and pt.is_map(table.schema.field(0).type):
        encoder.add_map(whole(table.column(0)))
    else:
        for column in columns(table):
            encoder.add_column(column)
    return encoder.finish(), encoder.mismatches


class _TableEncoder:
    def __init__(self, rows: int, attributes: Attributes, schema: Schema) -> None:
        self._rows = rows
        self._attributes = attributes
        self._schema = schema
        self._pieces: list[tuple[I64, Any, I64]] = []  # rows, a domain or a domain each, points
        self._present: dict[str, np.ndarray] = {}
        self.mismatches: dict[str, int] = {}

    def add_column(self, column: Column) -> None:
        attribute = self._attributes.by_name.get(column.name)
        if attribute is not None:
            self._values(attribute, single_values(column.values, np.arange(self._rows), column.valid), False)

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
        is_text = is_string(items.type) or pt.is_string_view(items.type)
        for code, name in enumerate(coded.dictionary.to_pylist()):
            attribute = self._attributes.by_name.get(name)
            if attribute is not None:
                mine = order[begin[code] : begin[code + 1]]
                for values in _alternatives(items.take(pa.array(mine)), rows[mine]):
                    self._values(attribute, values, is_text)

    def _values(self, attribute: Attribute, found: Values, is_text: bool) -> None:
        column, rows = found
        if attribute.presence >= 0:
            present = self._present.setdefault(attribute.name, np.zeros(self._rows, dtype=np.int64))
            present[rows] = 1
        if not len(rows):
            return
        if isinstance(column, list):
            if attribute.families:
                self._coded(attribute, column, np.arange(len(rows)), rows, self._reader(attribute))
        else:
            self._typed(attribute, column, rows, is_text)

    def _reader(self, attribute: Attribute) -> Callable[[Any], list[Any]]:
        return lambda value: [self._schema.read(attribute.name, value)]

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
            self._coded(attribute, *_distinct(column), rows, self._reader(attribute))

    def _text(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        """Text is read as declared, or as every family that the attribute is compared with."""
        declared = self._schema.types.get(attribute.name)
        families = attribute.families if declared is None else {FAMILIES[declared]}
        if families == {"number"} and (numbers := _integers(column)) is not None:
            self._integers(attribute, numbers, rows)
        elif families:
            self._coded(
                attribute, *_distinct(column), rows, lambda text: [value_from_text(text, family) for family in families]
            )

    def _integers(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        raw = column.to_numpy()
        if raw.dtype == np.uint64:
            # Above int64: beyond every constant of an int domain, a double on a float domain.
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

    def _piece(self, domain: int, points: Any, values: np.ndarray, rows: I64) -> None:
        if domain >= 0:
            self._pieces.append((rows, domain, points(np.ascontiguousarray(values))))

    def _coded(self, attribute: Attribute, distinct: list[Any], codes: I64, rows: I64, read: Any) -> None:
        """Each distinct value the slow way, as all that it can be read as; then all of them by their codes."""
        domains: list[int] = []
        points: list[int] = []
        start = [0]
        wrong = np.zeros(len(distinct), dtype=np.int64)
        for i, value in enumerate(distinct):
            known = [reduce(reading) for reading in read(value)]
            fitting = [reading for reading in known if reading is not None and reading.family in attribute.families]
            wrong[i] = not fitting
            for reading in fitting:
                for domain, point in entries_of(attribute, reading):
                    domains.append(domain)
                    points.append(point)
            start.append(len(domains))
        mismatches = int(wrong[codes].sum())
        if mismatches:
            self.mismatches[attribute.name] = self.mismatches.get(attribute.name, 0) + mismatches
        starts = np.array(start, dtype=np.int64)
        total = int(np.diff(starts)[codes].sum())
        out = np.empty(total, np.int64), np.empty(total, np.int32), np.empty(total, np.int64)
        kernels.expand(rows, codes, starts, np.array(domains, np.int32), np.array(points, np.int64), *out)
        if len(rows) > 1 and (np.diff(rows) == 0).any():
            # Several values in a row: the entries of one domain must be neighbours.
            order = np.lexsort((out[1], out[0]))
            out = out[0][order], out[1][order], out[2][order]
        self._pieces.append(out)

    def finish(self) -> Events:
        for name, watched in self._attributes.watched.copy().items():
            present = self._present.get(name)
            points = np.zeros(self._rows, dtype=np.int64) if present is None else present
            self._pieces.append((np.arange(self._rows, dtype=np.int64), watched, points))
        start = np.zeros(self._rows + 1, dtype=np.int64)
        for rows, _, _ in self._pieces:
            kernels.count_rows(rows, start[1:])
        np.cumsum(start, out=start)
        at = start[:-1].copy()
        domain = np.empty(start[-1], dtype=np.int32)
        point = np.empty(start[-1], dtype=np.int64)
        for rows, domains, points in self._pieces:
            place = kernels.place_entries if isinstance(domains, np.ndarray) else kernels.place_column
            place(rows, domains, points, at, domain, point)
        single_valued = np.empty(self._rows, dtype=np.uint8)
        kernels.find_single_valued(start, domain, single_valued)
        return Events(start, domain, point, point, single_valued)


def _integers(column: pa.Array) -> pa.Array | None:
    """Text that is integers throughout, cast in one go; else None."""
    try:
        # Arrow reads hexadecimal, which is not a number here.
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            return None
        return column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _alternatives(items: pa.Array, rows: I64) -> list[Values]:
    """The values of a map; where they are structs, a union by hand: whichever fields are not null."""
    if not pt.is_struct(items.type):
        return [single_values(items, rows)]
    fields = items.flatten()
    there = np.array([field.is_valid().to_numpy(zero_copy_only=False) for field in fields], dtype=bool)
    if there.sum(axis=0).max(initial=0) <= 1:
        return [single_values(field, rows) for field in fields]
    # Several at once are several values, and those of one row must stay together.
    several = [[value for value in (row or {}).values() if value is not None] for row in objects(items)]
    kept = np.repeat(rows, [len(values) for values in several])
    return [Values([value for values in several for value in values], kept)]


def _distinct(column: pa.Array) -> tuple[list[Any], I64]:
    """Distinct values as Python objects, and the code of each element."""
    try:
        if not pt.is_dictionary(column.type):
            column = column.dictionary_encode()
        # Only those in use: a slice keeps the dictionary of the whole.
        used, codes = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return objects(column.dictionary.take(pa.array(used))), codes
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return objects(column), np.arange(len(column))
