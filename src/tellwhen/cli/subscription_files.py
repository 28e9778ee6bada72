"""Reading subscriptions from files: JSON lines, CSV, Parquet, Arrow, or text with an expression per line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from tellwhen.cli.file_formats import (
    Quarantine,
    detect_format,
    open_text,
    parse_json_object,
    read_csv_rows,
    read_tables,
)
from tellwhen.errors import ExpressionError, FormatError, TellwhenError, abbreviate
from tellwhen.index.exchange import read_declared_types
from tellwhen.index.subscriptions import COLUMNS, NAMES_LENGTH_MAX, Rejected, iter_subscriptions
from tellwhen.inspect.spelling import find_similar_name
from tellwhen.language.schema import Schema

READ_COLUMNS = (*COLUMNS, "position", "reason")
"""Columns that are read, or that `--quarantine` adds."""


def read_saved_schema(paths: list[str], format_name: str | None = None) -> Schema:
    """Return the schema in the metadata of the first Parquet or Arrow file that has one, or an empty schema."""
    for path in paths:
        if path == "-" or detect_format(path, format_name) not in ("parquet", "arrow"):
            continue
        for table in islice(read_tables(path, detect_format(path, format_name)), 1):
            if (schema := read_declared_types(table.schema)).types:
                return schema
    return Schema()


def make_column_hint(name: str) -> str:
    """Return a hint on how to change a column that is not read, because its name is unknown."""
    similar = find_similar_name(name, COLUMNS, 0.75)
    return f"did you mean {similar}?" if similar else "put it into the payload"


def read_subscriptions(
    path: str, format_name: str | None = None, quarantine: Quarantine = None, unused: Counter[str] | None = None
) -> Iterator[Any]:
    """Yield rows for `Index.add_many`. Count the columns that are not read in `unused`, by name."""
    unused = Counter() if unused is None else unused
    kind = detect_format(path, format_name)
    if kind in ("parquet", "arrow"):
        for table in read_tables(path, kind):
            yield from iter_subscriptions(table)
        return
    with open_text(path) as lines:
        if kind == "csv":
            yield from _read_csv_subscriptions(path, lines, quarantine, unused)
        elif kind == "text":
            yield from ((number, line.strip()) for number, line in enumerate(lines, 1) if line.strip())
        else:
            yield from _read_json_subscriptions(path, lines, quarantine, unused)


def _read_csv_subscriptions(path: str, lines: IO[str], quarantine: Quarantine, unused: Counter[str]) -> Iterator[Any]:
    is_first = True
    for number, row in read_csv_rows(path, lines, quarantine):
        if is_first:
            _require_columns(path, row)
            is_first = False
        try:
            score = float(row["score"]) if row.get("score") else None
        except ValueError:
            error = FormatError(f"{path}, row {number + 1}: a score must be a number, found {abbreviate(row['score'])}")
            if quarantine is None:
                raise error from None
            quarantine.append(Rejected.from_row(row, error))
            continue
        unused.update(name for name, cell in row.items() if cell and name not in READ_COLUMNS)
        yield row["id"], row["expression"] or "", score, row.get("weights") or None, row.get("payload") or None


def _read_json_subscriptions(path: str, lines: IO[str], quarantine: Quarantine, unused: Counter[str]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse_json_object(path, number, line)
            missing = [name for name in COLUMNS[:2] if name not in row]
            if missing:
                found = ", ".join(row)[:NAMES_LENGTH_MAX] or "an empty object"
                raise ExpressionError(
                    f"{path}, line {number}: the subscription lacks {' and '.join(missing)}; found {found}"
                )
        except TellwhenError as error:
            if quarantine is None:
                raise
            quarantine.append(Rejected(None, line.strip(), None, str(error)))
            continue
        unused.update(row.keys() - READ_COLUMNS)
        yield tuple(row.get(name) for name in COLUMNS)


def _require_columns(path: str, names: Iterable[str]) -> None:
    missing = [name for name in COLUMNS[:2] if name not in names]
    if missing:
        raise FormatError(f"{path} needs a column {missing[0]}; its columns are {', '.join(names) or 'none'}")
