"""Reading events from files in batches: JSON lines, CSV, Parquet or Arrow.

A line of JSON may also be text such as `"price < 500 AND city <> 'Rome'"`, the event that the predicates describe.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Container, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.types as pt

from tellwhen.cli.file_formats import (
    ROWS_PER_BATCH,
    Quarantine,
    detect_format,
    open_standard_input,
    open_text,
    parse_json_object,
    read_csv_rows,
    read_tables,
)
from tellwhen.errors import EventError, FormatError
from tellwhen.index.subscriptions import Rejected
from tellwhen.kernels.arrays import I64
from tellwhen.language import parse
from tellwhen.language.values import flatten

BLOCK_BYTES = 1 << 22
READ_WHOLE_BLOCK = pj.ReadOptions(block_size=1 << 30)
ARROW_DEPTH_MAX = 32
"""Deepest nesting that is parsed by Arrow, whose parser calls itself for every level."""
EXACT_DOUBLE_MAX = 1 << 53
"""Integers up to this one are exact as doubles."""

DEPTH_CHANGE = np.zeros(256, dtype=np.int8)
"""By byte: how a bracket changes the depth of nesting."""
DEPTH_CHANGE[list(b"[{")], DEPTH_CHANGE[list(b"]}")] = 1, -1

TEXT_MAP = pa.map_(pa.string(), pa.string())


class EventBatch(NamedTuple):
    """Events of a file with their positions in it."""

    events: list[dict[str, Any]] | pa.Table
    numbers: I64
    """Line or row number of each event, from 0."""

    @classmethod
    def from_consecutive(cls, events: list[dict[str, Any]] | pa.Table, first: int) -> EventBatch:
        """Return a batch of consecutive events. The first of them has the line or row number `first`."""
        return cls(events, np.arange(first, first + len(events), dtype=np.int64))


def read_events(
    path: str,
    format_name: str | None = None,
    quarantine: Quarantine = None,
    exact_names: Container[str] = (),
    id_name: str | None = None,
) -> Iterator[EventBatch]:
    """Yield the events of a file in batches.

    Parameters
    ----------
    path : str
        File of events, or `-` for the standard input.
    format_name : str, optional
        Format, if the name of the file does not tell it.
    quarantine : list of Rejected, optional
        Collects faulty lines. Without it, the first faulty line is an error.
    exact_names : container of str
        Attributes whose integers must stay integers in a column that also has fractions, because a value is computed
        from them or they are ids of events.
    id_name : str, optional
        Attribute that holds the id of an event. With a quarantine, an event without it is faulty.
    """
    kind = detect_format(path, format_name)
    if kind == "text":
        raise FormatError(f"{path}: events must be JSON lines, CSV, Parquet or Arrow, not text")
    if kind in ("parquet", "arrow"):
        first = 0
        for table in read_tables(path, kind):
            yield EventBatch.from_consecutive(table, first)
            first += len(table)
    elif kind == "jsonl":
        yield from _read_json_events(path, quarantine, exact_names, id_name)
    else:
        with open_text(path) as lines:
            yield from _read_csv_events(path, lines, quarantine, id_name)


def _read_json_events(
    path: str, quarantine: Quarantine, exact_names: Container[str], id_name: str | None
) -> Iterator[EventBatch]:
    first = 0
    for block in _read_blocks(path):
        table = _parse_block(block, exact_names)
        if table is None or (id_name is not None and _has_missing_ids(table, id_name, quarantine is not None)):
            yield _parse_lines(path, first, block, quarantine, id_name)
        elif len(table) == block.count(b"\n"):
            yield EventBatch.from_consecutive(table, first)
        else:  # an empty line is no event, but has a number
            numbers = [number for number, line in enumerate(block.split(b"\n"), first) if line.strip()]
            yield EventBatch(table, np.array(numbers, dtype=np.int64))
        first += block.count(b"\n")


def _has_missing_ids(table: pa.Table, id_name: str, default: bool) -> bool:
    """Return whether an event lacks the attribute `id_name`, a member of an object if it has a dot.

    Return `default` if no event has the attribute.
    """
    first, *rest = id_name.split(".")
    try:
        column = table.column(first)
        return bool((pc.struct_field(column, rest) if rest else column).null_count)
    except (KeyError, pa.ArrowException):
        return default


def _read_blocks(path: str) -> Iterator[bytes]:
    """Yield blocks of whole lines as soon as they arrive, so that a pipe is answered before its end."""
    with nullcontext(open_standard_input()) if path == "-" else Path(path).open("rb") as file:
        partial_line: list[bytes] = []
        is_first = True
        while chunk := file.read1(BLOCK_BYTES):  # type: ignore[attr-defined]
            if is_first:
                chunk, is_first = chunk.removeprefix(codecs.BOM_UTF8), False
            end = chunk.rfind(b"\n") + 1
            if end:
                yield b"".join([*partial_line, chunk[:end]])
                partial_line = []
            partial_line.append(chunk[end:])
        if rest := b"".join(partial_line):
            yield rest


def _parse_block(block: bytes, exact_names: Container[str]) -> pa.Table | None:
    """Parse lines of JSON with Arrow, in a tenth of the time; return None if Arrow would change a value."""
    try:
        block.decode()  # Arrow does not check the encoding
        if _may_be_deep(block):
            return None
        table = pj.read_json(pa.BufferReader(block), READ_WHOLE_BLOCK)
        lines = len([line for line in block.split(b"\n") if line.strip()])
        is_plain = lines == table.num_rows and not any("." in name for name in table.column_names)
        unchanged = (_is_unchanged(table.column(name), name in exact_names) for name in table.column_names)
        return table if is_plain and all(unchanged) else None
    except (UnicodeError, RecursionError, pa.ArrowException):
        return None


def _may_be_deep(block: bytes) -> bool:
    """Return whether values may be nested deeper than Arrow can parse safely.

    Brackets inside strings count as well, so the answer may be True for a flat event, which is only slower.
    """
    flat_objects = block.count(b"\n{") + block.startswith(b"{")
    if block.count(b"{") + block.count(b"[") == flat_objects:  # every line is one object with nothing nested
        return False
    depth = np.cumsum(DEPTH_CHANGE[np.frombuffer(block, dtype=np.uint8)], dtype=np.int32)
    return bool((depth - np.minimum.accumulate(depth)).max(initial=0) >= ARROW_DEPTH_MAX)


def _is_unchanged(column: pa.ChunkedArray, is_exact: bool, is_nested: bool = False) -> bool:
    """Return whether Arrow's JSON reader has kept the values as they are written.

    It changes text that looks like a time, and integers that share a column with fractions: all of them if `is_exact`,
    or else the large ones. From lists of nothing but nulls it makes an invalid array.
    """
    kind = column.type
    if pt.is_list(kind):
        return not pt.is_null(kind.value_type) and _is_unchanged(pc.list_flatten(column), is_exact, True)
    if pt.is_struct(kind):
        fields = range(kind.num_fields)
        return all(_is_unchanged(pc.struct_field(column, n), is_exact, is_nested) for n in fields)
    if pt.is_floating(kind):
        largest = pc.max(pc.abs(column)).as_py()
        has_whole = is_exact and pc.any(pc.equal(column, pc.floor(column))).as_py()
        return largest is None or (largest < EXACT_DOUBLE_MAX and not has_whole)
    is_scalar = pt.is_integer(kind) or pt.is_string(kind) or pt.is_boolean(kind)
    return is_scalar or (pt.is_null(kind) and not is_nested)


def _parse_lines(path: str, first: int, block: bytes, quarantine: Quarantine, id_name: str | None) -> EventBatch:
    """Parse lines of JSON one by one."""
    events, numbers = [], []
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            try:
                event = _parse_event(path, number + 1, line)
                if id_name is not None and event.get(id_name) is None and flatten(event).get(id_name) is None:
                    raise EventError(f"{path}, line {number + 1}: {_describe_missing_id(id_name)}")
                events.append(event)
                numbers.append(number)
            except EventError as error:
                if quarantine is None:
                    raise
                quarantine.append(Rejected(None, line.decode(errors="replace").strip(), None, str(error)))
    return EventBatch(events, np.array(numbers, dtype=np.int64))


def _parse_event(path: str, line_number: int, line: bytes) -> dict[str, Any]:
    """Return the event in a line: a JSON object, or a JSON string of predicates joined by AND."""
    if not line.lstrip().startswith(b'"'):
        return parse_json_object(path, line_number, line)
    try:
        return parse(json.loads(line)).to_event()
    except (ValueError, EventError) as error:
        raise EventError(f"{path}, line {line_number}: {error}") from None


def _describe_missing_id(id_name: str) -> str:
    return f"the event has no attribute {id_name!r} (--event-id {id_name})"


def _read_csv_events(path: str, lines: IO[str], quarantine: Quarantine, id_name: str | None) -> Iterator[EventBatch]:
    """Yield events as maps of text. Text is read as the type that subscriptions compare; empty cells have no value."""
    reader = read_csv_rows(path, lines, quarantine)
    while rows := list(islice(reader, ROWS_PER_BATCH)):
        if id_name is not None and quarantine is not None and id_name in rows[0][1]:
            quarantine += [
                Rejected(
                    None,
                    json.dumps(cells),
                    None,
                    f"{path}, row {number + 1}: {_describe_missing_id(id_name)}",
                )
                for number, cells in rows
                if not cells[id_name]
            ]
            rows = [row for row in rows if row[1][id_name]]
        pairs = [[(name, text) for name, text in cells.items() if name and text not in ("", None)] for _, cells in rows]
        numbers = np.array([number for number, _ in rows], dtype=np.int64)
        yield EventBatch(pa.table({"event": pa.array(pairs, TEXT_MAP)}), numbers)
