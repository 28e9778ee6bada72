"""Blocks -> shards, one index each, built on the executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.unify import translated
from tellwhen.kernels.arrays import I32
from tellwhen.schema import Schema
from tellwhen.shard import Shard
from tellwhen.spark.blocks import Block, read_block
from tellwhen.spark.dictionary import read_dictionary
from tellwhen.spark.placing import slots_for
from tellwhen.spark.tasks import Task, rows
from tellwhen.spark.warehouse import ShardInfo, fresh

SHARD = "number int, name string, subscriptions long, bytes long"


class Building(Task):
    """Shards built and saved."""

    def __init__(
        self, staged: Path, dictionary: Path, blocks: list[str], places: list[str], engine: str, schema: Schema
    ) -> None:
        self._staged, self._dictionary, self._blocks = staged, dictionary, blocks
        self._places, self._engine, self._types = places, engine, schema.types

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        shard = Shard.empty(self._engine, Schema(self._types))
        shard.store.attributes = read_dictionary(self._dictionary)
        for name, places in zip(self._blocks, self._places, strict=True):
            take_from(shard, read_block(self._staged / name), slots_for(self._staged, places, number))
        shard.index_all()
        yield saved_shard(self._staged, number, shard)


def take_from(shard: Shard, source: Block | Shard, slots: I32) -> None:
    """Store subscriptions from elsewhere, in the numbers of the shard's attributes; not indexed yet."""
    if len(slots):
        extract = source.store.extract(slots)
        if source.store.attributes is not shard.store.attributes:
            literals = translated(extract.literals, source.store.attributes, shard.store.attributes)
            extract = extract._replace(literals=literals)
        shard.store.adopt(extract)
        shard.ids.adopt(source.ids, slots)
        shard.texts.adopt(source.texts, slots)


def saved_shard(staged: Path, number: int, shard: Shard) -> pa.RecordBatch:
    """Write a shard; returns the row that describes it."""
    directory = fresh(staged, "shard")
    directory.save(directory, shard.arrays(), shard.meta(), make=False)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return rows(SHARD, [number], [directory.name], [len(shard.engine)], [size])


def read_shard(directory: Path, attributes: Attributes) -> Shard:
    """Open a shard, mapped into memory, every byte checked."""
    parts, meta = directory.load(directory)
    return Shard.restored(parts, meta, attributes)


def shards_of(found: Iterable[Any]) -> list[ShardInfo]:
    """The rows of a build, in order."""
    return [ShardInfo(row.name, row.subscriptions, row.bytes) for row in sorted(found, key=lambda row: row.number)]
