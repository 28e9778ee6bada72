"""Which attributes does an Arrow table of events carry, in how many rows, with which values?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from tellwhen.encode.columns import Column, columns, is_string, objects, single_values, whole
from tellwhen.encode.tables import TICKS
from tellwhen.kernels.arrays import I64
from tellwhen.lang import limits
from tellwhen.profile.values import text_of


class Carried(NamedTuple):
    """An attribute, how many rows carry it, and the texts of its values with their counts."""

    attribute: str
    rows: int
    counts: dict[str, int]


def carried(table: pa.Table) -> Iterator[Carried]:
    if table.num_columns == 1 and pt.is_map(table.schema.field(0).type):
        yield from _of_map(whole(table.column(0)))
    else:
        rows = np.arange(table.num_rows)
        for column in columns(table):
            yield from _attribute(column.name, [column], rows)


def _of_map(column: pa.MapArray) -> Iterator[Carried]:
    # A null map may still own entries in the child arrays: they sort before all others.
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(column)), np.diff(column.offsets.to_numpy(zero_copy_only=False)))
    first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
    keys, items = column.keys[first:last], column.items[first:last]
    coded = keys.dictionary_encode()
    codes = np.where(valid[rows], coded.indices.to_numpy(zero_copy_only=False), -1)
    order = np.argsort(codes, kind="stable")
    begin = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
    for code, name in enumerate(coded.dictionary.to_pylist()):
        mine = order[begin[code] : begin[code + 1]]
        if len(name) <= limits.NAME:
            values = items.take(pa.array(mine))
            # Structs are unions by hand: whichever fields are not null.
            parts = values.flatten() if pt.is_struct(values.type) else [values]
            yield from _attribute(name, [Column(name, part, None) for part in parts], rows[mine])


def _attribute(name: str, parts: list[Column], rows: I64) -> Iterator[Carried]:
    found = [single_values(part.values, rows, part.valid) for part in parts]
    owners = np.unique(np.concatenate([rows[:0], *(values.rows for values in found)]))
    if not len(owners):
        return
    counts: dict[str, int] = {}
    for values, _ in found:
        for text, count in _texts(values):
            if text is not None:
                counts[text] = counts.get(text, 0) + count
    yield Carried(name, len(owners), counts)


def _texts(values: pa.Array | list[Any]) -> Iterable[tuple[str | None, int]]:
    """With their counts; None is a value of no family."""
    if isinstance(values, list):
        return Counter(map(text_of, values)).items()
    kind = values.type
    if pt.is_timestamp(kind) or pt.is_date(kind):
        days = pt.is_date32(kind)
        multiply, divide = (86_400_000_000, 1) if days else TICKS["ms" if pt.is_date64(kind) else kind.unit]
        ticks = values.cast(pa.int32() if days else pa.int64())
        return [(f"t{tick * multiply // divide}", count) for tick, count in _counted(ticks)]
    if pt.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or is_string(kind):
        return [(text_of(value), count) for value, count in _counted(values)]
    return _texts(objects(values))


def _counted(values: pa.Array) -> Iterator[tuple[Any, int]]:
    counted = values.value_counts()
    return zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True)
