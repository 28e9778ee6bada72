"""What is in this file? Subscriptions or events: JSON lines, CSV, Parquet or Arrow; - is the standard input."""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
import pyarrow.types as pt

from tellwhen.errors import EventError, ExpressionError, FormatError, TellwhenError, abbreviate
from tellwhen.index.exchange import declared_in
from tellwhen.index.subscriptions import COLUMNS, Rejected, iter_subscriptions
from tellwhen.inspect.spelling import find_similar_name
from tellwhen.kernels.arrays import I64
from tellwhen.language.schema import Schema
from tellwhen.language.values import flatten

Format = Literal["jsonl", "csv", "parquet", "arrow", "text"]

SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".txt": "text", ".rules": "text",
}  # fmt: skip

EVENTS_AT_ONCE = 16_384
BLOCK_BYTES = 1 << 22


def format_of(path: str, given: str | None = None, option: str = "--format") -> Format:
    """How a file is written, by its name unless it is said."""
    known = {suffix: kind for suffix, kind in SUFFIXES.items() if option == "--format" or kind != "text"}
    if given is not None:
        if given not in known.values():
            raise FormatError(f"there is no format {given}; there are {', '.join(dict.fromkeys(known.values()))}")
        return given  # type: ignore[return-value]
    if path == "-":
        return "jsonl"
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise FormatError(f"{path}: its name does not tell the format; say {option}, or name it {', '.join(known)}")
    return known[suffix]


def _input() -> BinaryIO:
    if sys.stdin is None:
        raise FormatError("the standard input is closed; name a file")
    return sys.stdin.buffer


@contextmanager
def _lines(path: str) -> Iterator[IO[str]]:
    """The lines of a text, which is UTF-8 whatever the locale says."""
    try:
        if path == "-":
            text = io.TextIOWrapper(_input(), encoding="utf-8-sig", newline="")
            yield text
            text.detach()  # the standard input is not ours to close
        else:
            with Path(path).open(encoding="utf-8-sig", newline="") as file:
                yield file
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text: {error.reason}; save it as UTF-8") from None


def _tables(path: str, kind: Format) -> Iterator[pa.Table]:
    """The batches of a Parquet or Arrow file."""
    try:
        source: Any = _input() if path == "-" else path
        if kind == "parquet":
            if path == "-":
                source = pa.BufferReader(_input().read())
            for batch in pq.ParquetFile(source).iter_batches(EVENTS_AT_ONCE):
                yield pa.Table.from_batches([batch])
        else:
            yield from _arrow(source)
    except pa.ArrowException as error:
        raise FormatError(f"{path} cannot be read as {kind}: {error}") from None


def _arrow(source: Any) -> Iterator[pa.Table]:
    """A file or a stream of Arrow."""
    opened = pa.memory_map(source) if isinstance(source, str) else pa.BufferReader(source.read())
    try:
        reader = pa.ipc.open_file(opened)
        batches: Iterable[pa.RecordBatch] = (reader.get_batch(n) for n in range(reader.num_record_batches))
    except pa.ArrowInvalid:
        opened.seek(0)
        batches = pa.ipc.open_stream(opened)
    for batch in batches:
        yield pa.Table.from_batches([batch])


# subscriptions


def declared(files: list[str], given: str | None = None) -> Schema:
    """The types that an export has noted; the first file that has some counts."""
    for path in files:
        if path == "-" or format_of(path, given) not in ("parquet", "arrow"):
            continue
        for table in islice(_tables(path, format_of(path, given)), 1):
            if (found := declared_in(table.schema)).types:
                return found
    return Schema()


Faults = list[Rejected] | None
"""Where lines go that are no subscriptions; without it, the first one is an error."""


NOTED = (*COLUMNS, "position", "reason")
"""What is read of a row, or was written into it by us."""


def unused_hint(name: str) -> str:
    """What to do about another name in a row."""
    near = find_similar_name(name, COLUMNS, 0.75)
    return f"did you mean {near}?" if near else "put it into the payload"


def subscriptions(
    path: str, given: str | None = None, faults: Faults = None, unused: Counter[str] | None = None
) -> Iterator[Any]:
    """Rows for `add_many`. What else they have is counted in `unused`, by name."""
    unused = Counter() if unused is None else unused
    kind = format_of(path, given)
    if kind in ("parquet", "arrow"):
        for table in _tables(path, kind):
            yield from iter_subscriptions(table)
        return
    with _lines(path) as lines:
        if kind == "csv":
            yield from _csv_subscriptions(path, lines, faults, unused)
        elif kind == "text":
            yield from ((number, line.strip()) for number, line in enumerate(lines, 1) if line.strip())
        else:
            yield from _json_subscriptions(path, lines, faults, unused)


csv.field_size_limit(1 << 26)


def _cells(path: str, lines: IO[str], faults: Faults = None) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by their head, with their numbers; a row with more cells than the head is faulty."""
    reader = csv.DictReader(lines)
    try:
        names = list(reader.fieldnames or [])
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise FormatError(f"{path} has two columns {twice[0]}")
        for number, row in enumerate(reader):
            if None in row:
                told = f"{path}, line {reader.line_num}: there are more cells than columns; quote what has a comma"
                if faults is None:
                    raise FormatError(told)
                faults.append(Rejected.from_row(row, FormatError(told)))
                continue
            yield number, row
    except csv.Error as error:
        raise FormatError(f"{path}, line {reader.line_num}: {error}") from None


def _csv_subscriptions(path: str, lines: IO[str], faults: Faults, unused: Counter[str]) -> Iterator[Any]:
    is_first = True
    for number, row in _cells(path, lines, faults):
        if is_first:
            _require(path, row)
            is_first = False
        try:
            score = float(row["score"]) if row.get("score") else None
        except ValueError:
            told = f"{path}, row {number + 1}: a score is a number, not {abbreviate(row['score'])}"
            if faults is None:
                raise FormatError(told) from None
            faults.append(Rejected.from_row(row, FormatError(told)))
            continue
        unused.update(name for name, cell in row.items() if cell and name not in NOTED)
        yield row["id"], row["expression"] or "", score, row.get("weights") or None, row.get("payload") or None


def _json_subscriptions(path: str, lines: IO[str], faults: Faults, unused: Counter[str]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = _object(path, number, line)
            if any(name not in row for name in COLUMNS[:2]):
                told = f"a subscription has an id and an expression, not only {abbreviate(row)}"
                raise ExpressionError(f"{path}, line {number}: {told}")
        except TellwhenError as error:
            if faults is None:
                raise
            faults.append(Rejected(None, line.strip(), None, str(error)))
            continue
        unused.update(row.keys() - NOTED)
        yield tuple(row.get(name) for name in COLUMNS)


def _require(path: str, names: Iterable[str]) -> None:
    missing = [name for name in COLUMNS[:2] if name not in names]
    if missing:
        raise FormatError(f"{path} has no column {missing[0]}, but {', '.join(names) or 'none'}")


def _object(path: str, number: int, line: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; every line is one object: `jq -c` writes them so" if str(line).strip(" b'\\n\r") in ("{", "[") else ""
        raise EventError(f"{path}, line {number}: this is no JSON: {error}{hint}") from None
    if not isinstance(found, dict):
        hint = "; one object per line, and no array: `jq -c '.[]'` writes them so" if isinstance(found, list) else ""
        raise EventError(f"{path}, line {number}: this is no JSON object: {abbreviate(found)}{hint}")
    return found


# events


class Some(NamedTuple):
    """Some events of a file."""

    events: list[dict[str, Any]] | pa.Table
    numbers: I64
    """The line of each, or its row, from 0 on."""

    @classmethod
    def of(cls, events: list[dict[str, Any]] | pa.Table, first: int) -> Some:
        """Where none is left out."""
        return cls(events, np.arange(first, first + len(events), dtype=np.int64))


def events(
    path: str, given: str | None = None, faults: Faults = None, exact: Container[str] = (), named: str | None = None
) -> Iterator[Some]:
    """Events, some at a time: in tables, or as dicts. Integers of `exact` attributes stay integers beside fractions:
    something is computed of them, or events are called by them. If `named`, an event without this attribute is among
    the faults, where there are some."""
    kind = format_of(path, given)
    if kind == "text":
        raise FormatError(f"{path}: events are JSON lines, CSV, Parquet or Arrow")
    if kind in ("parquet", "arrow"):
        first = 0
        for table in _tables(path, kind):
            yield Some.of(table, first)
            first += len(table)
    elif kind == "jsonl":
        yield from _json_events(path, faults, exact, named)
    else:
        with _lines(path) as lines:
            yield from _csv_events(path, lines, faults, named)


def _json_events(path: str, faults: Faults, exact: Container[str], named: str | None) -> Iterator[Some]:
    first = 0
    for block in _blocks(path):
        table = _columns(block, exact)
        if table is None or (named is not None and _lacks(table, named, faults is not None)):
            yield _objects(path, first, block, faults, named)
        elif len(table) == block.count(b"\n"):
            yield Some.of(table, first)
        else:  # empty lines are no events, but they count
            there = [number for number, line in enumerate(block.split(b"\n"), first) if line.strip()]
            yield Some(table, np.array(there, dtype=np.int64))
        first += block.count(b"\n")


def _lacks(table: pa.Table, name: str, is_without: bool) -> bool:
    """Has some event not this attribute, which may be a member of an object? `is_without` is the answer if none has."""
    first, *rest = name.split(".")
    try:
        column = table.column(first)
        return bool((pc.struct_field(column, rest) if rest else column).null_count)
    except (KeyError, pa.ArrowException):
        return is_without


def _blocks(path: str) -> Iterator[bytes]:
    """Whole lines, as they come: a pipe is answered without waiting for its end."""
    with nullcontext(_input()) if path == "-" else Path(path).open("rb") as file:
        before: list[bytes] = []  # of a line that is not whole yet
        is_first = True
        while chunk := file.read1(BLOCK_BYTES):  # type: ignore[attr-defined]
            if is_first:
                chunk, is_first = chunk.removeprefix(codecs.BOM_UTF8), False
            end = chunk.rfind(b"\n") + 1
            if end:
                yield b"".join([*before, chunk[:end]])
                before = []
            before.append(chunk[end:])
        if rest := b"".join(before):
            yield rest


def _columns(block: bytes, exact: Container[str]) -> pa.Table | None:
    """The events as a table, by Arrow, in a tenth of the time; None if any value would become another one."""
    try:
        block.decode()  # which Arrow does not check
        if _is_deep(block):
            return None
        table = pj.read_json(pa.BufferReader(block), READ_WHOLE)
        lines = len([line for line in block.split(b"\n") if line.strip()])
        is_plain = lines == table.num_rows and not any("." in name for name in table.column_names)
        kept = (_is_kept(table.column(name), name in exact) for name in table.column_names)
        return table if is_plain and all(kept) else None
    except (UnicodeError, RecursionError, pa.ArrowException):
        return None


READ_WHOLE = pj.ReadOptions(block_size=1 << 30)
DEPTH_MAX = 32
STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1


def _is_deep(block: bytes) -> bool:
    """May something in it be nested deeper than is safe for Arrow, which calls itself for every level? Brackets in
    strings count, too: rather too many events are read in the other way than too few."""
    flat = block.count(b"\n{") + block.startswith(b"{")
    if block.count(b"{") + block.count(b"[") == flat:  # one object in every line, and nothing in it
        return False
    depth = np.cumsum(STEPS[np.frombuffer(block, dtype=np.uint8)], dtype=np.int32)
    return bool((depth - np.minimum.accumulate(depth)).max(initial=0) >= DEPTH_MAX)


def _is_kept(column: pa.ChunkedArray, is_exact: bool, is_inside: bool = False) -> bool:
    """Does Arrow take the values as they are? Not text that looks like a time, nor large integers beside fractions, nor
    any, where it must be exact. Of lists with nothing but nulls it makes an invalid array."""
    kind = column.type
    if pt.is_list(kind):
        return not pt.is_null(kind.value_type) and _is_kept(pc.list_flatten(column), is_exact, True)
    if pt.is_struct(kind):
        return all(_is_kept(pc.struct_field(column, n), is_exact, is_inside) for n in range(kind.num_fields))
    if pt.is_floating(kind):
        largest = pc.max(pc.abs(column)).as_py()
        has_whole = is_exact and pc.any(pc.equal(column, pc.floor(column))).as_py()
        return largest is None or (largest < EXACT and not has_whole)
    is_scalar = pt.is_integer(kind) or pt.is_string(kind) or pt.is_boolean(kind)
    return is_scalar or (pt.is_null(kind) and not is_inside)


EXACT = 1 << 53
"""Integers up to here are doubles, too."""


def _objects(path: str, first: int, block: bytes, faults: Faults, named: str | None) -> Some:
    found, numbers = [], []
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            try:
                event = _object(path, number + 1, line)
                if named is not None and event.get(named) is None and flatten(event).get(named) is None:
                    raise EventError(f"{path}, line {number + 1}: it has no {named} to be called by")
                found.append(event)
                numbers.append(number)
            except EventError as error:
                if faults is None:
                    raise
                faults.append(Rejected(None, line.decode(errors="replace").strip(), None, str(error)))
    return Some(found, np.array(numbers, dtype=np.int64))


TEXT_MAP = pa.map_(pa.string(), pa.string())


def _csv_events(path: str, lines: IO[str], faults: Faults, named: str | None) -> Iterator[Some]:
    """As maps of text, which is read as what subscriptions compare it with; an empty cell is no value."""
    reader = _cells(path, lines, faults)
    while block := list(islice(reader, EVENTS_AT_ONCE)):
        if named is not None and faults is not None and named in block[0][1]:
            nameless = [(number, row) for number, row in block if not row[named]]
            faults += [
                Rejected(None, json.dumps(row), None, f"{path}, row {number + 1}: it has no {named} to be called by")
                for number, row in nameless
            ]
            block = [one for one in block if one[1][named]]
        rows = [[(name, text) for name, text in row.items() if name and text not in ("", None)] for _, row in block]
        numbers = np.array([number for number, _ in block], dtype=np.int64)
        yield Some(pa.table({"event": pa.array(rows, TEXT_MAP)}), numbers)
