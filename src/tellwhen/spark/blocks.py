"""A partition of subscriptions -> a block: parsed and compiled once, in numbers of its own, written to staging.

Blocks do not know of each other. The dictionary is made of all of them, and shards pick from all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen.compile.needs import Needs, pivots
from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.containers.texts import Texts
from tellwhen.errors import ExpressionError
from tellwhen.ids import Id, Ids, checked
from tellwhen.kernels.arrays import I32, I64, NEVER
from tellwhen.lang.ast import Expr
from tellwhen.persistence import attributes as saved
from tellwhen.schema import Schema
from tellwhen.shard import read_subscription
from tellwhen.spark.tasks import rows
from tellwhen.spark.warehouse import fresh

SIZE = 250_000
"""Subscriptions in a block: bounds the memory of a task."""

BLOCKS = "block string"

NOWHERE = -2
"""The pivot of what can never match."""


class Block(NamedTuple):
    """What is in a block directory."""

    store: Store
    ids: Ids
    texts: Texts
    names: list[str]  # attributes by number, as in `needs`
    need_start: I64
    need: I32

    def pivots(self, rank: dict[str, int]) -> I64:
        """For each subscription the attribute that decides its shard: -1 for none, NOWHERE if it never matches."""
        ranks = np.array([rank[name] for name in self.names], dtype=np.int64)
        found = pivots(self.need_start, self.need, ranks)
        found[self.store.snapshot().subscriptions.kind == NEVER] = NOWHERE
        return found


class Compiling:
    """For mapInArrow: batches of (id, expression) in, names of blocks out."""

    def __init__(self, staged: Path, schema: Schema) -> None:
        self._staged, self._types = staged, schema.types

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pairs = (
            pair
            for batch in batches
            for pair in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        )
        while chunk := list(islice(pairs, SIZE)):
            directory = fresh(self._staged, "block")
            write_block(directory, chunk, Schema(self._types))
            yield rows(BLOCKS, [directory.name])


def write_block(directory: Path, pairs: Iterable[tuple[Id, str | None]], schema: Schema) -> None:
    """Parse, compile and save."""
    store, ids, texts, needs = Store(schema), Ids(), Texts(), Needs()
    pairs = iter(pairs)
    while few := list(islice(pairs, COMPILE_BATCH)):
        expressions, plain = zip(*[_read(id_, text, schema) for id_, text in few], strict=True)
        slots, _ = store.append(store.compile(expressions))
        needs.note(store, slots, list(expressions))
        ids.extend([id_ for id_, _ in few])
        texts.extend(plain)
    need_start, need = needs.arrays(store)
    start, data = texts.arrays()
    parts: dict[str, dict[str, np.ndarray]] = {
        "store": store.arrays(),
        "ids": ids.arrays(),
        "texts": {"start": start, "data": data},
        "dictionaries": saved.dictionary_arrays(store.attributes),
        "needs": {"start": need_start, "attribute": need},
    }
    meta = {
        "attributes": saved.attributes_meta(store.attributes),
        "schema": schema.types,
        "registers": store.registers,
        "version": store.version,
        "names": list(needs.names),
    }
    directory.save(directory, parts, meta, make=False)


def _read(id_: Id, text: str | None, schema: Schema) -> tuple[Expr, str]:
    checked(id_)
    if text is None:
        raise ExpressionError(f"subscription {id_!r}: the expression is missing")
    return read_subscription(id_, text, schema)


def read_block(directory: Path) -> Block:
    """Open a block, mapped into memory."""
    parts, meta = directory.load(directory, verify=False)
    store = Store(Schema(meta["schema"]))
    attributes = saved.restored_attributes(meta["attributes"], parts["dictionaries"])
    store.restore(parts["store"], attributes, meta["registers"], meta["version"])
    texts = Texts(parts["texts"]["start"], parts["texts"]["data"])
    needs = parts["needs"]
    return Block(store, Ids.restored(parts["ids"]), texts, meta["names"], needs["start"], needs["attribute"])
