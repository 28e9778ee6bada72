"""Encoding of an Arrow table of events into points, column by column.

A column is an attribute. A column of structs or maps is several attributes with dotted names. A column of lists has
several values per event. If the only column is a map, its entries are the attributes: a string is parsed as every
family that subscriptions compare the attribute with, and the value of a struct is its field that is not null.
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
    round_towards_zero,
    to_float_points,
    to_int_points,
    to_int_points_of_floats,
    to_time_points,
)
from tellwhen.containers.batches import find_single_valued
from tellwhen.containers.csr import gather
from tellwhen.encode.columns import (
    Column,
    Values,
    extract_values,
    flatten_columns,
    get_only_map,
    is_text,
    split_map,
    to_objects,
)
from tellwhen.encode.computed import ComputedColumns
from tellwhen.encode.events import find_points
from tellwhen.encode.kernels.points import scatter
from tellwhen.kernels.arrays import HIGHEST, I64, Events
from tellwhen.language.schema import FAMILY_BY_TYPE, Schema, parse_value
from tellwhen.language.terms import is_computed
from tellwhen.language.values import normalize_value

TICKS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
"""Length of a tick in microseconds by unit of time, as numerator and denominator."""


class Entries(NamedTuple):
    """Entries of events: the row, the domain and the point of each. `domain` is an array, or one number for all."""

    rows: I64
    domain: Any
    points: I64


def encode_table(table: pa.Table, rows: int, attributes: Attributes, schema: Schema) -> tuple[Events, dict[str, int]]:
    """Encode the rows of a table as events.

    Parameters
    ----------
    rows
        The number of rows, which a slice of a table without columns does not know.

    Returns
    -------
    Events
        The events as arrays.
    dict
        By attribute, how many values were of a wrong type.
    """
    encoder = _TableEncoder(rows, attributes, schema)
    entries, is_computing = get_only_map(table), bool(attributes.computed_by_operand or attributes.brackets_by_list)
    if entries is None:
        columns, add = flatten_columns(table), encoder.add_column
    else:  # with computed attributes all entries, since a term may use attributes that no predicate uses
        columns, add = split_map(entries, None if is_computing else attributes.by_name), encoder.add_entries
    if is_computing:
        columns = iter(operands := [column for column in columns if not is_computed(column.name)])
    for column in columns:
        add(column)
    if is_computing:
        has_text = entries is not None and is_text(entries.values.type.item_type)
        if entries is not None and pt.is_struct(entries.values.type.item_type):  # structs stand for unions
            operands = [Column(column.name, *values) for column in operands for values in _split_alternatives(column)]
        computed = ComputedColumns(operands, rows, attributes, schema, has_text)
        for name, values in computed.compute():
            encoder.add_computed(name, values)
        for name, count in computed.mismatches.items():
            encoder.count_mismatches(name, count)
    return encoder.finish(), encoder.mismatches


class _TableEncoder:
    """Encoder of a table: collects entries column by column, and groups them by event at the end."""

    def __init__(self, rows: int, attributes: Attributes, schema: Schema) -> None:
        self._rows = rows
        self._attributes = attributes
        self._schema = schema
        self._entries: list[Entries] = []
        self._presence: dict[str, np.ndarray] = {}  # by attribute with a presence domain: 1 for the rows that have it
        self.mismatches: dict[str, int] = {}

    def add_column(self, column: Column) -> None:
        attribute = self._attributes.by_name.get(column.name)
        if attribute is not None:
            self._add_values(attribute, extract_values(column), False)

    def add_entries(self, column: Column) -> None:
        """Add the entries of one key, if events are maps."""
        attribute = self._attributes.by_name.get(column.name)
        has_text = is_text(column.values.type)
        if attribute is not None:
            for values in _split_alternatives(column):
                self._add_values(attribute, values, has_text)

    def add_computed(self, name: str, values: Values) -> None:
        """Add the values of a computed attribute."""
        attribute = self._attributes.by_name.get(name)
        if attribute is not None:
            self._add_values(attribute, values, False)

    def _add_values(self, attribute: Attribute, values: Values, has_text: bool) -> None:
        column, rows = values
        if attribute.presence >= 0:
            present = self._presence.setdefault(attribute.name, np.zeros(self._rows, dtype=np.int64))
            present[rows] = 1
        if not len(rows):
            return
        if isinstance(column, list):
            if attribute.families:
                self._add_distinct(attribute, column, np.arange(len(rows)), rows, self._make_reader(attribute))
        else:
            self._add_arrow_values(attribute, column, rows, has_text)

    def _make_reader(self, attribute: Attribute) -> Callable[[Any], list[Any]]:
        """Return a function that reads a value as the schema declares it, in a list of one."""
        return lambda value: [self._schema.read(attribute.name, value)]

    def _add_arrow_values(self, attribute: Attribute, column: pa.Array, rows: I64, has_text: bool) -> None:
        kind = column.type
        families = attribute.families
        if has_text:
            self._add_text(attribute, column, rows)
        elif pt.is_integer(kind) and "number" in families:
            self._add_integers(attribute, column, rows)
        elif pt.is_floating(kind) and "number" in families:
            self._add_floats(attribute, column, rows)
        elif pt.is_boolean(kind) and "bool" in families:
            self._add(rows, attribute.bool, column.to_numpy(zero_copy_only=False).astype(np.int64))
        elif (pt.is_timestamp(kind) or pt.is_date(kind)) and "time" in families:
            self._add_times(attribute, column, rows)
        elif pt.is_null(kind):
            pass
        elif families:
            self._add_distinct(attribute, *_find_distinct(column), rows, self._make_reader(attribute))

    def _add_text(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        """Add texts, parsed as declared, or as every family that subscriptions compare the attribute with."""
        declared = self._schema.types.get(attribute.name)
        families = attribute.families if declared is None else {FAMILY_BY_TYPE[declared]}
        if families == {"number"} and (numbers := _parse_integers(column)) is not None:
            self._add_integers(attribute, numbers, rows)
        elif families:

            def parse_by_family(text: Any) -> list[Any]:
                return [parse_value(text, family) for family in families]

            self._add_distinct(attribute, *_find_distinct(column), rows, parse_by_family)

    def _add_integers(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        raw = column.to_numpy()
        is_huge = raw > np.uint64(HIGHEST) if raw.dtype == np.uint64 else None
        values = (raw if is_huge is None else np.minimum(raw, np.uint64(HIGHEST))).astype(np.int64, copy=False)
        int_domain, float_domain = attribute.int, attribute.float  # read once, since another thread may undo a change
        if int_domain >= 0:
            self._add(rows, int_domain, to_int_points(values))
        if float_domain >= 0:
            doubles = round_towards_zero(values)
            if is_huge is not None:
                doubles[is_huge] = raw[is_huge]
            self._add(rows, float_domain, to_float_points(doubles))

    def _add_floats(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        values = column.to_numpy()
        int_domain, float_domain = attribute.int, attribute.float
        if int_domain >= 0:
            self._add(rows, int_domain, to_int_points_of_floats(values))
        if float_domain >= 0:
            self._add(rows, float_domain, to_float_points(values))

    def _add_times(self, attribute: Attribute, column: pa.Array, rows: I64) -> None:
        if pt.is_date32(column.type):
            ticks, (multiply, divide) = column.cast(pa.int32()).cast(pa.int64()), (86_400_000_000, 1)
        else:
            ticks = column.cast(pa.int64())
            multiply, divide = TICKS["ms" if pt.is_date64(column.type) else column.type.unit]
        self._add(rows, attribute.time, to_time_points(ticks.to_numpy(), multiply, divide))

    def _add(self, rows: I64, domain: Any, points: I64) -> None:
        if not (isinstance(domain, int) and domain < 0):  # -1 if another thread has just undone a change
            self._entries.append(Entries(rows, domain, points))

    def _add_distinct(self, attribute: Attribute, distinct: list[Any], codes: I64, rows: I64, read: Any) -> None:
        """Add the values distinct[codes[i]] of the rows, encoding each distinct value once.

        `read` returns the values to which a distinct value is parsed; each that fits the attribute is encoded.
        """
        domains: list[int] = []
        points: list[int] = []
        start = [0]
        is_wrong = np.zeros(len(distinct), dtype=np.int64)
        for i, value in enumerate(distinct):
            readings = [normalize_value(reading) for reading in read(value)]
            fitting = [reading for reading in readings if reading is not None and reading.family in attribute.families]
            is_wrong[i] = not fitting
            for reading in fitting:
                for domain, point in find_points(attribute, reading):
                    domains.append(domain)
                    points.append(point)
            start.append(len(domains))
        mismatches = int(is_wrong[codes].sum())
        if mismatches:
            self.count_mismatches(attribute.display_name, mismatches)
        begin, entries = gather(np.array(start, dtype=np.int64), codes)
        owners = np.repeat(rows, np.diff(begin))
        if len(rows) > 1 and (np.diff(rows) == 0).any():
            # Some row has several values, and entries of one domain must be adjacent.
            order = np.lexsort((np.array(domains, np.int32)[entries], owners))
            owners, entries = owners[order], entries[order]
        self._add(owners, np.array(domains, np.int32)[entries], np.array(points, np.int64)[entries])

    def count_mismatches(self, name: str, count: int) -> None:
        """Add `count` values of a wrong type to those of an attribute."""
        self.mismatches[name] = self.mismatches.get(name, 0) + count

    def finish(self) -> Events:
        """Return all entries grouped by event."""
        every_row = np.arange(self._rows, dtype=np.int64)
        for name, presence_domain in self._attributes.presence_domains.copy().items():
            present = self._presence.get(name)
            self._add(every_row, presence_domain, np.zeros(self._rows, dtype=np.int64) if present is None else present)
        rows = np.concatenate([every_row[:0], *(entries.rows for entries in self._entries)])
        start = np.zeros(self._rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self._rows), out=start[1:])
        domain, points = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.int64)
        count = 0
        for entries in self._entries:
            domain[count : count + len(entries.rows)] = entries.domain
            points[count : count + len(entries.rows)] = entries.points
            count += len(entries.rows)
        by_event = np.empty_like(domain), np.empty_like(points)
        scatter(rows, domain, points, start[:-1].copy(), *by_event)
        return Events(start, *by_event, by_event[1], find_single_valued(start, by_event[0]))


def _parse_integers(column: pa.Array) -> pa.Array | None:
    """Return texts as integers, or None if some text is no integer."""
    try:
        # Arrow parses hexadecimal digits, which are not a number here.
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            return None
        return column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _split_alternatives(column: Column) -> list[Values]:
    """Return the values of a map, by type. Structs stand for unions: their values are the fields that are not null."""
    if not pt.is_struct(column.values.type):
        return [extract_values(column)]
    fields = column.values.flatten()
    is_valid = np.array([field.is_valid().to_numpy(zero_copy_only=False) for field in fields], dtype=bool)
    if is_valid.sum(axis=0).max(initial=0) <= 1:
        return [extract_values(column._replace(values=field)) for field in fields]
    # Several fields are several values, and those of one row must stay together.
    several = [[value for value in (row or {}).values() if value is not None] for row in to_objects(column.values)]
    rows = np.repeat(column.rows, [len(values) for values in several])
    return [Values([value for values in several for value in values], rows)]


def _find_distinct(column: pa.Array) -> tuple[list[Any], I64]:
    """Return the distinct values as Python objects, and the position of each element among them."""
    try:
        if not pt.is_dictionary(column.type):
            coded = column.dictionary_encode()
            return to_objects(coded.dictionary), coded.indices.to_numpy().astype(np.int64)
        # Only the used ones, since a slice keeps the dictionary of the whole column.
        used, codes = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return to_objects(column.dictionary.take(pa.array(used))), codes
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return to_objects(column), np.arange(len(column))
