"""Exchange of subscriptions with other programs and other indexes: Arrow tables and Parquet files."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tellwhen.errors import FormatError, IdError
from tellwhen.index.state import State
from tellwhen.index.subscriptions import COLUMNS, SubscriptionRow, iter_subscriptions, read_subscription
from tellwhen.kernels.arrays import I32
from tellwhen.language.reading import StoredText
from tellwhen.language.schema import Schema
from tellwhen.persistence.paths import URL, resolve_path

WEIGHTS_TYPE = pa.map_(pa.string(), pa.float64())
ROWS_PER_TABLE = 65_536
SCHEMA_KEY = b"tellwhen.language.schema"
"""The key of the declared types in the metadata of a table. Without the types, text would not be read as a date."""


def iter_tables(state: State, rows_per_table: int = ROWS_PER_TABLE) -> Iterator[pa.Table]:
    """Yield the subscriptions in tables, in the order in which they were added; at least one table, which may be empty.

    Raises
    ------
    IdError
        If the index has both int and str ids.
    """
    if state.id_type == "mixed":
        raise IdError("some ids of this index are ints and others strings: a column has one type; use iter_texts()")
    live_slots = np.array(state.list_live_slots(), dtype=np.int32)
    for first in range(0, max(1, len(live_slots)), rows_per_table):
        yield _make_table(state, live_slots[first : first + rows_per_table])


def _make_table(state: State, slots: I32) -> pa.Table:
    shard, scores = state.shard, state.shard.store.scores
    slot_list = slots.tolist()
    weights = [list(scores.get_weights(slot).items()) or None for slot in slot_list]
    columns = [
        state.ids.to_arrow(slots, state.id_type),
        pa.array([shard.texts[slot] for slot in slot_list], pa.large_string()),
        pa.array(scores.get_scores(slots)),
        pa.array(weights, WEIGHTS_TYPE),
        pa.array([shard.payloads.get_text(slot) or None for slot in slot_list], pa.large_string()),
    ]
    declared_types = json.dumps(shard.store.schema.as_json())
    return pa.table(columns, names=list(COLUMNS)).replace_schema_metadata({SCHEMA_KEY: declared_types})


def iter_rows(state: State) -> Iterator[tuple[Any, ...]]:
    """Yield the subscriptions as tuples for `add_many`, in the order in which they were added. Ids may be mixed."""
    shard, scores = state.shard, state.shard.store.scores
    for slot in state.list_live_slots():
        score = float(scores.get_scores(np.array([slot]))[0])
        payload = shard.payloads.get_text(slot) or None
        yield state.ids[slot], StoredText(shard.texts[slot]), score, scores.get_weights(slot) or None, payload


def write_parquet(state: State, path: str | os.PathLike[str], rows_per_table: int = ROWS_PER_TABLE) -> None:
    """Write a Parquet file, and replace an existing file atomically; raise FormatError if that is impossible."""
    target = resolve_path(path).absolute()  # Arrow takes the relative path a:/b for a URL
    unfinished = target.parent / f".{uuid.uuid4().hex}.parquet"
    try:
        if target.is_dir():
            raise IsADirectoryError("it is a directory")
        tables = iter_tables(state, rows_per_table)
        first = next(tables)
        with pq.ParquetWriter(unfinished, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
        unfinished.replace(target)
    except OSError as error:
        raise FormatError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def read_parquet(path: str | os.PathLike[str]) -> tuple[Iterator[Any], Schema]:
    """Read a Parquet file, or a folder of Parquet files. Return the subscriptions and their declared types."""
    text = os.fspath(path)
    # Arrow reads other URLs, such as s3://lake/rules.parquet, and it reads some file: URLs differently.
    is_local = text.lower().startswith("file:") or URL.match(text) is None
    try:
        table = pq.read_table(resolve_path(path) if is_local else path)
    except FileNotFoundError:
        raise FormatError(f"there is no file {os.fspath(path)}") from None
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{os.fspath(path)} cannot be read as Parquet: {error}") from None
    return map(_mark_as_stored, iter_subscriptions(table)), read_declared_types(table.schema)


def _mark_as_stored(row: Any) -> SubscriptionRow:
    """Exempt the text of a row from the length limit of user input, since an index may have written a longer text."""
    subscription = read_subscription(row)
    text = subscription.expression
    return subscription._replace(expression=StoredText(text)) if isinstance(text, str) else subscription


def read_declared_types(arrow_schema: pa.Schema) -> Schema:
    """Return the declared types that an index has stored in the metadata of a table; empty for other tables."""
    declared_types = (arrow_schema.metadata or {}).get(SCHEMA_KEY)
    return Schema() if declared_types is None else Schema.from_json(json.loads(declared_types))
