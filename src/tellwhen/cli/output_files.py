"""Writing results to a file in the format of its name, or to the standard output."""

from __future__ import annotations

import json
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from tellwhen.cli.file_formats import detect_format
from tellwhen.errors import FormatError
from tellwhen.index.subscriptions import Rejected


def write_batches(batches: Iterable[pa.RecordBatch], path: str, format_name: str | None = None) -> int:
    """Write all batches or, after an error, nothing; return the number of rows."""
    kind = detect_format(path, format_name, "--output-format")
    if path == "-":
        if sys.stdout is None:
            raise FormatError("the standard output is closed; name a file with -o")
        return _write_to_stream(batches, sys.stdout.buffer, kind, is_pipe=True)
    target = Path(path).resolve()  # a link stays, and its target is written
    if target.exists() and not target.is_file():  # a device or a pipe; a folder is an error
        with target.open("wb") as file:
            return _write_to_stream(batches, file, kind, is_pipe=True)
    if not target.parent.is_dir():
        raise FormatError(f"{path}: No such file or directory")
    unfinished = target.with_name(f".{target.name}-{uuid.uuid4().hex}.unfinished")
    try:
        with unfinished.open("wb") as file:
            count = _write_to_stream(batches, file, kind)
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def require_separate_output(output: str | None, *inputs: str | Path) -> None:
    """Raise an error if the output file is one of the input files."""
    if output is not None and output != "-":
        for path in inputs:
            if Path(path).resolve() == Path(output).resolve():
                raise FormatError(f"{output} is an input file; choose another name for the output")


def _write_to_stream(batches: Iterable[pa.RecordBatch], file: Any, kind: str, is_pipe: bool = False) -> int:
    count, writer = 0, None
    try:
        for batch in batches:
            count += batch.num_rows
            if kind == "jsonl":
                file.write(_format_json_lines(batch))
                if is_pipe:
                    file.flush()  # the reader of a pipe gets each batch at once
                continue
            if writer is None:
                writer = _open_writer(file, kind, batch.schema, is_pipe)
            writer.write_batch(batch)
    except BaseException:
        if writer is not None:
            with suppress(Exception):  # otherwise the writer reports an error when it is deleted
                writer.close()
        raise
    if writer is not None:
        writer.close()
    file.flush()
    return count


def _open_writer(file: Any, kind: str, schema: pa.Schema, is_pipe: bool) -> Any:
    if kind == "csv":
        return pc.CSVWriter(file, schema)
    if kind == "parquet":
        return pq.ParquetWriter(file, schema)
    return pa.ipc.new_stream(file, schema) if is_pipe else pa.ipc.new_file(file, schema)


def _format_json_lines(batch: pa.RecordBatch) -> bytes:
    """Format rows as lines of JSON, column by column: five times as fast as a dict for every row."""
    names = [json.dumps(name) for name in batch.schema.names]
    columns = [map(_choose_formatter(column.type), column.to_pylist()) for column in batch.columns]
    form = "{" + ", ".join(f"{name}: %s" for name in names) + "}\n"
    return "".join([form % row for row in zip(*columns, strict=True)]).encode()


def _choose_formatter(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_map(kind):
        return lambda value: json.dumps(None if value is None else dict(value))
    return json.dumps


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()


def to_batch(faulty: list[Rejected]) -> pa.RecordBatch:
    """Return faulty rows with all their columns and the reasons, so that they can be mended and read again."""
    columns = {name: [getattr(row, name) for row in faulty] for name in Rejected._fields}
    arrays = {
        name: _build_column(values, pa.int64() if name == "position" else None)
        for name, values in columns.items()
        if name not in Rejected._field_defaults or any(value is not None for value in values)
    }
    return pa.RecordBatch.from_arrays([*arrays.values()], [*arrays])


def _build_column(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """Build an array of integers or doubles if all values are numbers, or else of text with JSON."""
    present = [value for value in values if value is not None]
    if kind is None and present and all(type(value) is int and abs(value) < 1 << 63 for value in present):
        kind = pa.int64()
    elif kind is None and present and all(type(value) in (int, float) for value in present):
        kind = pa.float64()
    if kind is not None:
        return pa.array(values, kind)
    return pa.array(
        [None if value is None else _replace_surrogates(_format_text(value)) for value in values], pa.string()
    )


def _format_text(value: Any) -> str:
    return json.dumps(value, default=str) if isinstance(value, dict | list | tuple) else str(value)
