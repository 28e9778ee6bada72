"""Batches of events that are rows of an Arrow table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from tellwhen.encode.columns import (
    Column,
    Values,
    extract_values,
    flatten_columns,
    get_only_map,
    is_string,
    split_map,
    to_objects,
)
from tellwhen.encode.tables import TICKS
from tellwhen.kernels.arrays import I64, U64
from tellwhen.language import limits
from tellwhen.profile.events import AttributeCounts, Event, hash_events, hash_pairs
from tellwhen.profile.values import convert_hashes, encode_value, hash_text


class TableBatch:
    """A batch of the rows of a table, read column by column."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._sums = np.zeros(len(table), dtype=np.uint64)  # by row: the sum of the hashes of its values
        self._widths = np.zeros(len(table), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._table)

    def count_attributes(self) -> Iterator[AttributeCounts]:
        for attribute, texts, codes, rows in _encode_columns(self._table):
            counts = dict(zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True))
            counts.pop("", None)
            hashes = {text: hash_text(text) for text in texts}
            yield AttributeCounts(attribute, self._add_hashes(attribute, hashes, codes, rows), counts, hashes)

    def _add_hashes(self, attribute: str, hashes: dict[str, bytes], codes: I64, rows: I64) -> int:
        """Add the hashes of a column to those of its rows; return how many rows have a value."""
        mixed = hash_pairs(convert_hashes([hash_text(attribute)]), convert_hashes(hashes.values()))
        if (rows[1:] > rows[:-1]).all():
            self._sums[rows] += mixed[codes]
            self._widths[rows] += 1
            return len(rows)
        # A row has several values: each counts once.
        pairs = np.sort(rows * len(hashes) + codes)
        rows, codes = np.divmod(pairs[np.append(True, pairs[1:] != pairs[:-1])], len(hashes))
        np.add.at(self._sums, rows, mixed[codes])
        np.add.at(self._widths, rows, 1)
        return 1 + int(np.count_nonzero(rows[1:] != rows[:-1]))

    def get_event_hashes(self) -> tuple[U64, int]:
        return hash_events(self._sums), int(self._widths.max(initial=0))

    def build_events(self, positions: I64) -> list[Event]:
        events: list[Event] = [{} for _ in positions]
        for attribute, texts, codes, rows in _encode_columns(_take_rows(self._table, positions)):
            for row, code in sorted({*zip(rows.tolist(), codes.tolist(), strict=True)}):
                events[row].setdefault(attribute, []).append(texts[code])
        return events


def _take_rows(table: pa.Table, positions: I64) -> pa.Table:
    try:
        return table.take(pa.array(positions))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # take() does not support every type
        return pa.concat_tables(table.slice(position, 1) for position in positions.tolist())


class _EncodedColumn(NamedTuple):
    """The values of an attribute: the distinct texts, and by value the code of its text and its row."""

    attribute: str
    texts: list[str]  # "" for values of no family
    codes: I64
    rows: I64


def _encode_columns(table: pa.Table) -> Iterator[_EncodedColumn]:
    entries = get_only_map(table)
    for column in flatten_columns(table) if entries is None else split_map(entries):
        if len(column.name) <= limits.NAME_CHARACTERS_MAX:
            # Structs in a map are unions written by hand: their values are the fields that are not null.
            is_union = pt.is_struct(column.values.type)
            yield from _encode_parts(
                [column._replace(values=part) for part in column.values.flatten()] if is_union else [column]
            )


def _encode_parts(parts: list[Column]) -> Iterator[_EncodedColumn]:
    code_of: dict[str, int] = {}
    coded = [_encode_texts(extract_values(part)) for part in parts]
    codes = [
        np.array([code_of.setdefault(text, len(code_of)) for text in texts], dtype=np.int64)[indices]
        for texts, indices, _ in coded
    ]
    owners = [rows for _, _, rows in coded]
    if code_of:
        yield _EncodedColumn(parts[0].name, list(code_of), np.concatenate(codes), np.concatenate(owners))


def _encode_texts(column: Values) -> tuple[list[str], I64, I64]:
    """Return the texts of the distinct values, and by value the index of its text and its row. Texts may repeat."""
    values, rows = column
    if isinstance(values, list):
        return [encode_value(value) or "" for value in values], np.arange(len(values)), rows
    kind = values.type
    if pt.is_timestamp(kind) or pt.is_date(kind):
        days = pt.is_date32(kind)
        multiply, divide = (86_400_000_000, 1) if days else TICKS["ms" if pt.is_date64(kind) else kind.unit]
        ticks, indices = _encode_distinct(values.cast(pa.int32() if days else pa.int64()))
        return [f"t{tick * multiply // divide}" for tick in ticks], indices, rows
    if pt.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or is_string(kind):
        distinct, indices = _encode_distinct(values)
        return [encode_value(value) or "" for value in distinct], indices, rows
    return _encode_texts(Values(to_objects(values), rows))


def _encode_distinct(values: pa.Array) -> tuple[list[Any], I64]:
    coded = values.dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
