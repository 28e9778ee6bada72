"""Events as an Arrow table -> points, column by column.

A column is an attribute; a struct or map column is attributes with dotted names; a list column has several values. If
the only column is a map, its entries are the attributes: strings are read as the families that their attribute is
compared with, and of a struct the field that is not null is the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.domains import (
    doubles_towards_zero,
    float_points,
    int_points,
    int_points_of_floats,
    time_points,
)
from tellwhen.containers.batches import find_single_valued
from tellwhen.containers.csr import gather
from tellwhen.encode.columns import Column, Values, columns, holds_text, map_columns, objects, only_map, single_values
from tellwhen.encode.computed import ComputedTable
from tellwhen.encode.events import entries_of
from tellwhen.encode.kernels.points import scatter
from tellwhen.kernels.arrays import HIGHEST, I64, Events
from tellwhen.language.schema import FAMILY_BY_TYPE, Schema, parse_value
from tellwhen.language.terms import is_computed
from tellwhen.language.values import normalize_value

TICKS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
"""By unit of time: a tick in microseconds, as a numerator and a denominator."""


class Entries(NamedTuple):
    """Entries of events: the point of each, its domain (one for all, or one each), and the row it belongs to."""

    rows: I64
    domain: Any
    points: I64


def encode_table(table: pa.Table, rows: int, attributes: Attributes, schema: Schema) -> tuple[Events, dict[str, int]]:
    """The rows as events, and how many values of each attribute were of a wrong type."""
    encoder = _TableEncoder(rows, attributes, schema)
    entries, is_computing = only_map(table), bool(attributes.computed or attributes.brackets)
    if entries is None:
        found, add = columns(table), encoder.add_column
    else:  # all of them, if what nobody compares may be part of what is computed
        found, add = map_columns(entries, None if is_computing else attributes.by_name), encoder.add_entries
    if is_computing:
        found = iter(given := [column for column in found if not is_computed(column.name)])
    for column in found:
        add(column)
    if is_computing:
        is_read = entries is not None and holds_text(entries.values.type.item_type)
        if entries is not None and pt.is_struct(entries.values.type.item_type):  # which stand for unions
            given = [Column(column.name, *values) for column in given for values in _alternatives(column)]
        computed = ComputedTable(given, rows, attributes, schema, is_read)
        for name, values in computed.columns():
            encoder.add_computed(name, values)
        for name, count in computed.mismatches.items():
            encoder.count(name, count)
    return encoder.finish(), encoder.mismatches


class _TableEncoder:
    """Collects entries column by column, for `finish` to group by event."""

    def __init__(self, rows: int, attributes: Attributes, schema: Schema) -> None:
        self._rows = rows
        self._attributes = attributes
        self._schema = schema
        self._entries: list[Entries] = []
        self._present: dict[str, np.ndarray] = {}  # by watched attribute: 1 for the rows that have it
        self.mismatches: dict[str, int] = {}

    def add_column(self, column: Column) -> None:
        attribute = self._attributes.by_name.get(column.name)
        if attribute is not None:
            self._values(attribute, single_values(column), False)

    def add_entries(self, column: Column) -> None:
        """Add the entries of one key of the map that is an event."""
        attribute = self._attributes.by_name.get(column.name)
        is_read = holds_text(column.values.type)
        if attribute is not None:
            for values in _alternatives(column):
                self._values(attribute, values, is_read)

    def add_computed(self, name: str, values: Values) -> None:
        """Add the values of a computed attribute."""
        attribute = self._attributes.by_name.get(name)
        if attribute is not None:
            self._values(attribute, values, False)

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
            self._floats(attribute, column, rows)
        elif pt.is_boolean(kind) and "bool" in families:
            self._add(rows, attribute.bool, column.to_numpy(zero_copy_only=False).astype(np.int64))
        elif (pt.is_timestamp(kind) or pt.is_date(kind)) and "time" in families:
            self._times(attribute, column, rows)
        elif pt.is_null(kind):
            pass
        elif families:
            self._coded(attribute, *_distinct(column), rows, self._reader(attribute))

    def _text(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        """Text is read as declared, or as every family that the attribute is compared with."""
        declared = self._schema.types.get(attribute.name)
        families = attribute.families if declared is None else {FAMILY_BY_TYPE[declared]}
        if families == {"number"} and (numbers := _integers(column)) is not None:
            self._integers(attribute, numbers, rows)
        elif families:
            self._coded(
                attribute, *_distinct(column), rows, lambda text: [parse_value(text, family) for family in families]
            )

    def _integers(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        raw = column.to_numpy()
        is_huge = raw > np.uint64(HIGHEST) if raw.dtype == np.uint64 else None
        values = (raw if is_huge is None else np.minimum(raw, np.uint64(HIGHEST))).astype(np.int64, copy=False)
        whole, real = attribute.int, attribute.float  # each read once: another thread may undo a change
        if whole >= 0:
            self._add(rows, whole, int_points(values))
        if real >= 0:
            doubles = doubles_towards_zero(values)
            if is_huge is not None:
                doubles[is_huge] = raw[is_huge]
            self._add(rows, real, float_points(doubles))

    def _floats(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        values = column.to_numpy()
        whole, real = attribute.int, attribute.float
        if whole >= 0:
            self._add(rows, whole, int_points_of_floats(values))
        if real >= 0:
            self._add(rows, real, float_points(values))

    def _times(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        if pt.is_date32(column.type):
            ticks, (multiply, divide) = column.cast(pa.int32()).cast(pa.int64()), (86_400_000_000, 1)
        else:
            ticks = column.cast(pa.int64())
            multiply, divide = TICKS["ms" if pt.is_date64(column.type) else column.type.unit]
        self._add(rows, attribute.time, time_points(ticks.to_numpy(), multiply, divide))

    def _add(self, rows: I64, domain: Any, points: I64) -> None:
        if not (isinstance(domain, int) and domain < 0):  # dropped just now: another thread has undone a change
            self._entries.append(Entries(rows, domain, points))

    def _coded(self, attribute: Attribute, distinct: list[Any], codes: I64, rows: I64, read: Any) -> None:
        """Encode each distinct value the slow way, with every reading of it; then all values by their codes."""
        domains: list[int] = []
        points: list[int] = []
        start = [0]
        wrong = np.zeros(len(distinct), dtype=np.int64)
        for i, value in enumerate(distinct):
            known = [normalize_value(reading) for reading in read(value)]
            fitting = [reading for reading in known if reading is not None and reading.family in attribute.families]
            wrong[i] = not fitting
            for reading in fitting:
                for domain, point in entries_of(attribute, reading):
                    domains.append(domain)
                    points.append(point)
            start.append(len(domains))
        mismatches = int(wrong[codes].sum())
        if mismatches:
            self.count(attribute.shown, mismatches)
        begin, which = gather(np.array(start, dtype=np.int64), codes)
        owners = np.repeat(rows, np.diff(begin))
        if len(rows) > 1 and (np.diff(rows) == 0).any():
            # Some row has several values: the entries of one domain must be neighbours.
            order = np.lexsort((np.array(domains, np.int32)[which], owners))
            owners, which = owners[order], which[order]
        self._add(owners, np.array(domains, np.int32)[which], np.array(points, np.int64)[which])

    def count(self, name: str, mismatches: int) -> None:
        """Count values of a wrong type."""
        self.mismatches[name] = self.mismatches.get(name, 0) + mismatches

    def finish(self) -> Events:
        """All entries, by event."""
        every_row = np.arange(self._rows, dtype=np.int64)
        for name, watched in self._attributes.watched.copy().items():
            present = self._present.get(name)
            self._add(every_row, watched, np.zeros(self._rows, dtype=np.int64) if present is None else present)
        rows = np.concatenate([every_row[:0], *(entries.rows for entries in self._entries)])
        start = np.zeros(self._rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self._rows), out=start[1:])
        domain, points = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.int64)
        done = 0
        for entries in self._entries:
            domain[done : done + len(entries.rows)] = entries.domain
            points[done : done + len(entries.rows)] = entries.points
            done += len(entries.rows)
        by_event = np.empty_like(domain), np.empty_like(points)
        scatter(rows, domain, points, start[:-1].copy(), *by_event)
        return Events(start, *by_event, by_event[1], find_single_valued(start, by_event[0]))


def _integers(column: pa.Array) -> pa.Array | None:
    """The column as integers, if all of its text is; else None."""
    try:
        # Arrow reads hexadecimal, which is not a number here.
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            return None
        return column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _alternatives(column: Column) -> list[Values]:
    """The values of a map. Structs stand for unions: their values are the fields that are not null."""
    if not pt.is_struct(column.values.type):
        return [single_values(column)]
    fields = column.values.flatten()
    there = np.array([field.is_valid().to_numpy(zero_copy_only=False) for field in fields], dtype=bool)
    if there.sum(axis=0).max(initial=0) <= 1:
        return [single_values(column._replace(values=field)) for field in fields]
    # Several fields are several values, and those of one row must stay together.
    several = [[value for value in (row or {}).values() if value is not None] for row in objects(column.values)]
    kept = np.repeat(column.rows, [len(values) for values in several])
    return [Values([value for values in several for value in values], kept)]


def _distinct(column: pa.Array) -> tuple[list[Any], I64]:
    """Distinct values as Python objects, and the code of each element."""
    try:
        if not pt.is_dictionary(column.type):
            coded = column.dictionary_encode()
            return objects(coded.dictionary), coded.indices.to_numpy().astype(np.int64)
        # Only those in use: a slice keeps the dictionary of the whole.
        used, codes = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return objects(column.dictionary.take(pa.array(used))), codes
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return objects(column), np.arange(len(column))
