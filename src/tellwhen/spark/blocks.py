"""Blocks: partitions of subscriptions that tasks parse and compile once, with labels of their own, in staging.

Each block is independent of the others. The dictionary is made from all blocks, and every shard takes subscriptions
from all blocks.
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
from tellwhen.persistence.attributes import collect_dictionary_arrays, describe_attributes, restore_attributes
from tellwhen.spark.columns import (
    get_id_type,
    select_parsed,
    select_payloads,
    select_scores_and_weights,
    validate_subscription_columns,
)
from tellwhen.spark.parsed_column import decode
from tellwhen.spark.tasks import count_partitions, make_rows, map_batches
from tellwhen.warehouse.commits import make_folder

SUBSCRIPTIONS_PER_BLOCK_MAX = 250_000
"""Most subscriptions of a block, which bounds the memory of a task."""

BLOCK = "part int, number int, name string, subscriptions long, entries long"

Row = tuple[Id, str | None, bytes | None, float | None, Any, str | None]
"""Id, expression, the parsed expression if there is one, the score, the weights and the payload."""


class Block(NamedTuple):
    """The compiled subscriptions of a block."""

    store: Store
    ids: Ids
    texts: Texts
    payloads: Payloads


@dataclass(frozen=True)
class Blocks:
    """All blocks of a build, in its staging folder."""

    staged: Path
    names: list[str]
    subscriptions: int = 0
    entries: int = 0  # sum of the numbers of domains and string constants of each block

    def __len__(self) -> int:
        return len(self.names)

    def read(self, number: int) -> Block:
        """Open a block, mapped into memory."""
        return read_block(self.staged / self.names[number])


def compile_blocks(subs: DataFrame, staged: Path, schema: Schema) -> Blocks:
    """Compile the subscriptions in parallel; expressions that `ingest` has parsed are not parsed again."""
    ids = get_id_type(validate_subscription_columns(subs))
    selected = subs.select(
        F.col("id").cast(ids),
        "expression",
        select_parsed(subs),
        *select_scores_and_weights(subs),
        select_payloads(subs),
    )
    # Many small partitions would make many small blocks.
    parts = selected.coalesce(count_partitions(subs.sparkSession))
    rows = sorted(map_batches(parts, _BlockWriter(staged, schema), BLOCK).collect())
    names = [row.name for row in rows]
    return Blocks(staged, names, sum(row.subscriptions for row in rows), sum(row.entries for row in rows))


class _BlockWriter:
    """A function for `map_batches` that compiles subscriptions to blocks, and returns a row for every block."""

    def __init__(self, staged: Path, schema: Schema) -> None:
        self._staged, self._schema = staged, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        subscriptions = (
            row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        context = TaskContext.get()
        assert context is not None
        number = 0
        while chunk := list(islice(subscriptions, SUBSCRIPTIONS_PER_BLOCK_MAX)):
            folder = make_folder(self._staged, "block")
            entries = write_block(folder, chunk, self._schema)
            yield make_rows(BLOCK, [context.partitionId()], [number], [folder.name], [len(chunk)], [entries])
            number += 1


def write_block(folder: Path, subscriptions: Iterable[Row], schema: Schema) -> int:
    """Compile subscriptions and save them; return the number of their domains and string constants."""
    store, ids, texts, payloads = Store(schema), Ids(), Texts(), Payloads()
    subscriptions = iter(subscriptions)
    while batch := list(islice(subscriptions, COMPILE_BATCH)):
        parsed = [_parse(row, schema) for row in batch]
        first = len(store)
        store.append(store.compile(subscription.expression for subscription in parsed))
        store.scores.extend(first, [subscription.worth for subscription in parsed])
        payloads.extend(first, [subscription.payload for subscription in parsed])
        ids.extend([subscription.id for subscription in parsed])
        texts.extend([subscription.text for subscription in parsed])
    attributes = store.attributes
    dictionaries = collect_dictionary_arrays(attributes)
    start, data = texts.arrays()
    parts: dict[str, dict[str, np.ndarray]] = {
        "store": store.arrays(),
        "ids": ids.arrays(),
        "texts": {"start": start, "data": data},
        "payloads": payloads.arrays(),
        "dictionaries": dictionaries,
    }
    meta = {
        "attributes": describe_attributes(attributes),
        "schema": schema.as_json(),
        "registers": store.registers,
        "version": store.version,
    }
    directory.save(folder, parts, meta, make=False, durable=False)
    return len(attributes.domains) + len(dictionaries["domain"])


def _parse(row: Row, schema: Schema) -> ParsedSubscription:
    """Parse a row of Spark, whose weights are pairs; use its parsed expression if that belongs to the text."""
    id_, text, parsed, score, weights, payload = row
    expression = None if text is None else decode(parsed, text)
    fields = id_, text, score, None if weights is None else dict(weights), payload
    return parse_subscription(fields, schema, expression)


def read_block(folder: Path) -> Block:
    """Open a block, mapped into memory."""
    parts, meta = directory.load(folder, verify=False)
    store = Store(Schema.from_json(meta["schema"]))
    attributes = restore_attributes(meta["attributes"], parts["dictionaries"])
    store.restore(parts["store"], attributes, meta["registers"], meta["version"])
    texts = Texts(parts["texts"]["start"], parts["texts"]["data"])
    return Block(store, Ids.restore(parts["ids"]), texts, Payloads.restore(parts["payloads"]))
