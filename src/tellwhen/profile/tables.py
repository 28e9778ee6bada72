"""Which attributes do the rows of an Arrow table carry, with which values?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from tellwhen.encode.columns import Column, Values, columns, is_string, map_columns, objects, only_map, single_values
from tellwhen.encode.tables import TICKS
from tellwhen.kernels.arrays import I64, U64
from tellwhen.language import limits
from tellwhen.profile.events import Carried, Event, event_hashes, pair_hashes
from tellwhen.profile.values import hash_numbers, hash_of, text_of


class TableBatch:
    """The rows of a table, read column by column."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._sums = np.zeros(len(table), dtype=np.uint64)  # by row: of the hashes of its values
        self._widths = np.zeros(len(table), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._table)

    def carried(self) -> Iterator[Carried]:
        for attribute, texts, codes, rows in _columns(self._table):
            counts = dict(zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True))
            counts.pop("", None)
            hashes = {text: hash_of(text) for text in texts}
            yield Carried(attribute, self._add(attribute, hashes, codes, rows), counts, hashes)

    def _add(self, attribute: str, hashes: dict[str, bytes], codes: I64, rows: I64) -> int:
        """Add the hashes of a column to those of its rows; returns how many rows carry it."""
        mixed = pair_hashes(hash_numbers([hash_of(attribute)]), hash_numbers(hashes.values()))
        if (rows[1:] > rows[:-1]).all():
            self._sums[rows] += mixed[codes]
            self._widths[rows] += 1
            return len(rows)
        # Several values in a row: each counts once.
        pairs = np.sort(rows * len(hashes) + codes)
        rows, codes = np.divmod(pairs[np.append(True, pairs[1:] != pairs[:-1])], len(hashes))
        np.add.at(self._sums, rows, mixed[codes])
        np.add.at(self._widths, rows, 1)
        return 1 + int(np.count_nonzero(rows[1:] != rows[:-1]))

    def hashed(self) -> tuple[U64, int]:
        return event_hashes(self._sums), int(self._widths.max(initial=0))

    def events(self, positions: I64) -> list[Event]:
        found: list[Event] = [{} for _ in positions]
        for attribute, texts, codes, rows in _columns(_taken(self._table, positions)):
            for row, code in sorted({*zip(rows.tolist(), codes.tolist(), strict=True)}):
                found[row].setdefault(attribute, []).append(texts[code])
        return found


def _taken(table: pa.Table, positions: I64) -> pa.Table:
    try:
        return table.take(pa.array(positions))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # not of every type
        return pa.concat_tables(table.slice(position, 1) for position in positions.tolist())


class _Coded(NamedTuple):
    """The values of an attribute: their texts, each once, and by value the code of its text, and its row."""

    attribute: str
    texts: list[str]  # "" for values of no family
    codes: I64
    rows: I64


def _columns(table: pa.Table) -> Iterator[_Coded]:
    entries = only_map(table)
    for column in columns(table) if entries is None else map_columns(entries):
        if len(column.name) <= limits.NAME:
            # Structs in a map are unions by hand: whichever fields are not null.
            is_union = pt.is_struct(column.values.type)
            yield from _coded(
                [column._replace(values=part) for part in column.values.flatten()] if is_union else [column]
            )


def _coded(parts: list[Column]) -> Iterator[_Coded]:
    code_of: dict[str, int] = {}
    coded = [_texts(single_values(part)) for part in parts]
    codes = [
        np.array([code_of.setdefault(text, len(code_of)) for text in texts], dtype=np.int64)[indices]
        for texts, indices, _ in coded
    ]
    owners = [rows for _, _, rows in coded]
    if code_of:
        yield _Coded(parts[0].name, list(code_of), np.concatenate(codes), np.concatenate(owners))


def _texts(found: Values) -> tuple[list[str], I64, I64]:
    """The texts of the distinct values, the index of each value's text, and its row. Equal texts may repeat."""
    values, rows = found
    if isinstance(values, list):
        return [text_of(value) or "" for value in values], np.arange(len(values)), rows
    kind = values.type
    if pt.is_timestamp(kind) or pt.is_date(kind):
        days = pt.is_date32(kind)
        multiply, divide = (86_400_000_000, 1) if days else TICKS["ms" if pt.is_date64(kind) else kind.unit]
        ticks, indices = _distinct(values.cast(pa.int32() if days else pa.int64()))
        return [f"t{tick * multiply // divide}" for tick in ticks], indices, rows
    if pt.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or is_string(kind):
        distinct, indices = _distinct(values)
        return [text_of(value) or "" for value in distinct], indices, rows
    return _texts(Values(objects(values), rows))


def _distinct(values: pa.Array) -> tuple[list[Any], I64]:
    coded = values.dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
