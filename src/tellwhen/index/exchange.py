"""An index as a table of its subscriptions, for other programs or another index: Arrow, or a Parquet file."""

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
from tellwhen.language.reading import StoredText
from tellwhen.language.schema import Schema
from tellwhen.persistence.paths import resolve_path

WEIGHTS = pa.map_(pa.string(), pa.float64())
ROWS_AT_ONCE = 65_536
SCHEMA_KEY = b"tellwhen.language.schema"
"""Where a table notes the declared types: without them, text would no longer be read as a date."""


def tables(state: State) -> Iterator[pa.Table]:
    """The subscriptions in tables of (id, expression, score, weights, payload), in the order they were added; at least
    one."""
    if state.id_type == "mixed":
        raise IdError("some ids of this index are ints and others strings: a column has one type; use texts()")
    alive = np.array(state.alive(), dtype=np.int32)
    for first in range(0, max(1, len(alive)), ROWS_AT_ONCE):
        yield _table(state, alive[first : first + ROWS_AT_ONCE])


def _table(state: State, slots: Any) -> pa.Table:
    shard, scores = state.shard, state.shard.store.scores
    some = slots.tolist()
    weights = [list(scores.get_weights(slot).items()) or None for slot in some]
    columns = [
        state.ids.column(slots, state.id_type),
        pa.array([shard.texts[slot] for slot in some], pa.large_string()),
        pa.array(scores.get_scores(slots)),
        pa.array(weights, WEIGHTS),
        pa.array([shard.payloads.text(slot) or None for slot in some], pa.large_string()),
    ]
    noted = json.dumps(shard.store.schema.as_json())
    return pa.table(columns, names=list(COLUMNS)).replace_schema_metadata({SCHEMA_KEY: noted})


def rows(state: State) -> Iterator[tuple[Any, ...]]:
    """The subscriptions as `add_many` takes them, whatever the types of their ids."""
    shard, scores = state.shard, state.shard.store.scores
    for slot in state.alive():
        score = float(scores.get_scores(np.array([slot]))[0])
        payload = shard.payloads.text(slot) or None
        yield state.ids[slot], StoredText(shard.texts[slot]), score, scores.get_weights(slot) or None, payload


def write_parquet(state: State, path: str | os.PathLike[str]) -> None:
    """Write a Parquet file, whole or not at all; replaces a file that is there."""
    target = resolve_path(path)
    unfinished = target.parent / f".{uuid.uuid4().hex}.parquet"
    try:
        if target.is_dir():
            raise IsADirectoryError("it is a directory")
        parts = tables(state)
        first = next(parts)
        with pq.ParquetWriter(unfinished, first.schema) as writer:
            writer.write_table(first)
            for table in parts:
                writer.write_table(table)
        unfinished.replace(target)
    except OSError as error:
        raise FormatError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def read_parquet(path: str | os.PathLike[str]) -> tuple[Iterator[Any], Schema]:
    """The subscriptions in a Parquet file, or in a folder of some; and the schema that was declared for them."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise FormatError(f"there is no file {os.fspath(path)}") from None
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{os.fspath(path)} cannot be read as Parquet: {error}") from None
    return map(_mark_as_stored, iter_subscriptions(table)), declared_in(table.schema)


def _mark_as_stored(row: Any) -> SubscriptionRow:
    """Exempt the text from the length limit of user input: an index may have written a longer one."""
    subscription = read_subscription(row)
    text = subscription.expression
    return subscription._replace(expression=StoredText(text)) if isinstance(text, str) else subscription


def declared_in(schema: pa.Schema) -> Schema:
    """What an index has noted of the types of attributes; nothing in other tables."""
    noted = (schema.metadata or {}).get(SCHEMA_KEY)
    return Schema() if noted is None else Schema.from_json(json.loads(noted))
