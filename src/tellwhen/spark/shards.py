"""Blocks -> shards, one index each, built on the executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tellwhen.persistence import directory
from tellwhen.schema import Schema
from tellwhen.shard import Shard
from tellwhen.spark.blocks import Blocks
from tellwhen.spark.placing import slots_for
from tellwhen.spark.tasks import Task, rows
from tellwhen.warehouse.commits import fresh
from tellwhen.warehouse.opening import copy_subscriptions, read_dictionary, read_profile
from tellwhen.warehouse.versions import ShardInfo

SHARD = "number int, name string, subscriptions long, bytes long"


class Building(Task):
    """A shard, built and saved."""

    def __init__(self, dictionary: Path, blocks: Blocks, placed: list[str], engine: str, schema: Schema) -> None:
        self._dictionary, self._blocks, self._placed = dictionary, blocks, placed
        self._engine, self._types = engine, schema.types

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        shard = Shard.empty(self._engine, Schema(self._types), read_profile(self._dictionary))
        shard.store.attributes = read_dictionary(self._dictionary)
        staged = self._blocks.staged
        for block, placed in enumerate(self._placed):
            slots = slots_for(staged, placed, number)
            if len(slots):
                copy_subscriptions(shard, self._blocks.read(block), slots)
        shard.index_all()
        yield save_shard(staged, number, shard)


def save_shard(staged: Path, number: int, shard: Shard) -> pa.RecordBatch:
    """Write a shard; returns the row that describes it."""
    folder = fresh(staged, "shard")
    directory.save(folder, shard.arrays(), shard.meta(), make=False)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return rows(SHARD, [number], [folder.name], [len(shard.engines)], [size])


def shards_of(found: Iterable[Any]) -> list[ShardInfo]:
    """The shards that the rows of a build describe, in order."""
    return [ShardInfo(row.name, row.subscriptions, row.bytes) for row in sorted(found, key=lambda row: row.number)]
