"""A partition of subscriptions -> a block: parsed and compiled once, in numbers of its own, written to staging.

Blocks do not know each other. The dictionary is made of all of them, and every shard takes its subscriptions from all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.containers.texts import Texts
from tellwhen.index.ids import Id, Ids
from tellwhen.index.payloads import Payloads
from tellwhen.index.subscriptions import ParsedSubscription, parse_subscription
from tellwhen.language.schema import Schema
from tellwhen.persistence import directory
from tellwhen.persistence.attributes import attributes_meta, dictionary_arrays, restored_attributes
from tellwhen.spark.columns import id_type, parsed_column, payload_column, subscription_columns, worth_columns
from tellwhen.spark.parsed_column import decode
from tellwhen.spark.tasks import mapped, partitions, rows
from tellwhen.warehouse.commits import fresh

MAX_SUBSCRIPTIONS = 250_000
"""Subscriptions in a block: bounds the memory of a task."""

BLOCK = "part int, number int, name string, subscriptions long, entries long"

Row = tuple[Id, str | None, bytes | None, float | None, Any, str | None]
"""Id, expression, the parsed expression where there is one, the score, the weights and the payload."""


class Block(NamedTuple):
    """What is in a block directory."""

    store: Store
    ids: Ids
    texts: Texts
    payloads: Payloads


@dataclass(frozen=True)
class Blocks:
    """All blocks of a build, in its staging directory."""

    staged: Path
    names: list[str]
    subscriptions: int = 0
    entries: int = 0  # domains and string constants; those that several blocks have are counted several times

    def __len__(self) -> int:
        return len(self.names)

    def read(self, number: int) -> Block:
        """Open a block, mapped into memory."""
        return read_block(self.staged / self.names[number])


def compiled(subs: DataFrame, staged: Path, schema: Schema) -> Blocks:
    """Compile the subscriptions (id, expression[, score, weights, payload]) in parallel; what `ingest` has parsed is
    not parsed again."""
    ids = id_type(subscription_columns(subs))
    chosen = subs.select(
        F.col("id").cast(ids), "expression", parsed_column(subs), *worth_columns(subs), payload_column(subs)
    )
    # Many small partitions would make many small blocks.
    few = chosen.coalesce(partitions(subs.sparkSession))
    found = sorted(mapped(few, _Compiling(staged, schema), BLOCK).collect())
    names = [row.name for row in found]
    return Blocks(staged, names, sum(row.subscriptions for row in found), sum(row.entries for row in found))


class _Compiling:
    """For `mapped`: batches of subscriptions in, a row for every block out."""

    def __init__(self, staged: Path, schema: Schema) -> None:
        self._staged, self._schema = staged, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        subscriptions = (
            row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        context = TaskContext.get()
        assert context is not None
        number = 0
        while chunk := list(islice(subscriptions, MAX_SUBSCRIPTIONS)):
            folder = fresh(self._staged, "block")
            entries = write_block(folder, chunk, self._schema)
            yield rows(BLOCK, [context.partitionId()], [number], [folder.name], [len(chunk)], [entries])
            number += 1


def write_block(folder: Path, subscriptions: Iterable[Row], schema: Schema) -> int:
    """Compile and save; returns how many domains and string constants the subscriptions have."""
    store, ids, texts, payloads = Store(schema), Ids(), Texts(), Payloads()
    subscriptions = iter(subscriptions)
    while few := list(islice(subscriptions, COMPILE_BATCH)):
        parsed = [_parse(row, schema) for row in few]
        first = len(store)
        store.append(store.compile(subscription.expression for subscription in parsed))
        store.scores.extend(first, [subscription.worth for subscription in parsed])
        payloads.extend(first, [subscription.payload for subscription in parsed])
        ids.extend([subscription.id for subscription in parsed])
        texts.extend([subscription.text for subscription in parsed])
    attributes = store.attributes
    dictionaries = dictionary_arrays(attributes)
    start, data = texts.arrays()
    parts: dict[str, dict[str, np.ndarray]] = {
        "store": store.arrays(),
        "ids": ids.arrays(),
        "texts": {"start": start, "data": data},
        "payloads": payloads.arrays(),
        "dictionaries": dictionaries,
    }
    meta = {
        "attributes": attributes_meta(attributes),
        "schema": schema.as_json(),
        "registers": store.registers,
        "version": store.version,
    }
    directory.save(folder, parts, meta, make=False, durable=False)
    return len(attributes.domains) + len(dictionaries["domain"])


def _parse(row: Row, schema: Schema) -> ParsedSubscription:
    """Check a row as Spark gives it, whose weights are pairs; take the parsed expression if it belongs to the text."""
    id_, text, parsed, score, weights, payload = row
    expression = None if text is None else decode(parsed, text)
    fields = id_, text, score, None if weights is None else dict(weights), payload
    return parse_subscription(fields, schema, expression)


def read_block(folder: Path) -> Block:
    """Open a block, mapped into memory."""
    parts, meta = directory.load(folder, verify=False)
    store = Store(Schema.from_json(meta["schema"]))
    attributes = restored_attributes(meta["attributes"], parts["dictionaries"])
    store.restore(parts["store"], attributes, meta["registers"], meta["version"])
    texts = Texts(parts["texts"]["start"], parts["texts"]["data"])
    return Block(store, Ids.restored(parts["ids"]), texts, Payloads.restored(parts["payloads"]))
