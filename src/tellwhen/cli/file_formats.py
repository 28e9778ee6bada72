"""File formats of subscriptions and events: JSON lines, CSV, Parquet, Arrow and text; - is the standard input."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tellwhen.errors import EventError, FormatError, abbreviate
from tellwhen.index.subscriptions import Rejected

Format = Literal["jsonl", "csv", "parquet", "arrow", "text"]

SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".txt": "text", ".rules": "text",
}  # fmt: skip

ROWS_PER_BATCH = 16_384

Quarantine = list[Rejected] | None
"""Collects faulty rows; None if the first faulty row is an error."""

csv.field_size_limit(1 << 26)


def detect_format(path: str, format_name: str | None = None, option: str = "--format") -> Format:
    """Return the format of a file: `format_name` if it is given, or else by the suffix of the path.

    Text is a format of input files only, so it is accepted if `option` is `--format`.
    """
    formats = {suffix: name for suffix, name in SUFFIXES.items() if option == "--format" or name != "text"}
    if format_name is not None:
        if format_name not in formats.values():
            raise FormatError(f"unknown format {format_name}; formats: {', '.join(dict.fromkeys(formats.values()))}")
        return format_name  # type: ignore[return-value]
    if path == "-":
        return "jsonl"
    suffix = Path(path).suffix.lower()
    if suffix not in formats:
        raise FormatError(f"{path}: unknown suffix; pass {option}, or use one of {', '.join(formats)}")
    return formats[suffix]


def open_standard_input() -> BinaryIO:
    """Return the standard input as bytes."""
    if sys.stdin is None:
        raise FormatError("the standard input is closed; name a file")
    return sys.stdin.buffer


@contextmanager
def open_text(path: str) -> Iterator[IO[str]]:
    """Open a text file as UTF-8, whatever the locale is."""
    try:
        if path == "-":
            text = io.TextIOWrapper(open_standard_input(), encoding="utf-8-sig", newline="")
            yield text
            text.detach()  # otherwise the wrapper would close the standard input
        else:
            with Path(path).open(encoding="utf-8-sig", newline="") as file:
                yield file
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text: {error.reason}; save it as UTF-8") from None


def read_tables(path: str, kind: Format) -> Iterator[pa.Table]:
    """Yield the batches of a Parquet or Arrow file as tables."""
    try:
        source: Any = open_standard_input() if path == "-" else path
        if kind == "parquet":
            if path == "-":
                source = pa.BufferReader(open_standard_input().read())
            for batch in pq.ParquetFile(source).iter_batches(ROWS_PER_BATCH):
                yield pa.Table.from_batches([batch])
        else:
            yield from _read_arrow(source)
    except pa.ArrowException as error:
        raise FormatError(f"{path} cannot be read as {kind}: {error}") from None


def _read_arrow(source: Any) -> Iterator[pa.Table]:
    """Yield the batches of an Arrow file or an Arrow stream as tables."""
    buffer = pa.memory_map(source) if isinstance(source, str) else pa.BufferReader(source.read())
    try:
        reader = pa.ipc.open_file(buffer)
        batches: Iterable[pa.RecordBatch] = (reader.get_batch(n) for n in range(reader.num_record_batches))
    except pa.ArrowInvalid:
        buffer.seek(0)
        batches = pa.ipc.open_stream(buffer)
    for batch in batches:
        yield pa.Table.from_batches([batch])


def read_csv_rows(path: str, lines: IO[str], quarantine: Quarantine = None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (row number, cells by column name). A row with more cells than columns is faulty."""
    reader = csv.DictReader(lines)
    try:
        names = list(reader.fieldnames or [])
        duplicates = [name for name in names if names.count(name) > 1]
        if duplicates:
            raise FormatError(f"{path} has two columns {duplicates[0]}; rename one")
        for number, row in enumerate(reader):
            if None in row:
                error = FormatError(
                    f"{path}, line {reader.line_num}: more cells than columns; quote cells that contain a comma"
                )
                if quarantine is None:
                    raise error
                quarantine.append(Rejected.from_row(row, error))
                continue
            yield number, row
    except csv.Error as error:
        raise FormatError(f"{path}, line {reader.line_num}: {error}") from None


def parse_json_object(path: str, line_number: int, line: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a line of a file."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        is_formatted = str(line).strip(" b'\\n\r") in ("{", "[")
        hint = "; every line must be one object: `jq -c .` converts the file" if is_formatted else ""
        raise EventError(f"{path}, line {line_number}: not valid JSON: {error}{hint}") from None
    if not isinstance(value, dict):
        hint = "; every line must be one object: `jq -c '.[]'` converts an array" if isinstance(value, list) else ""
        raise EventError(f"{path}, line {line_number}: expected a JSON object, found {abbreviate(value)}{hint}")
    return value
