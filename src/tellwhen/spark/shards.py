"""Blocks -> shards, one index each, built on the executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tellwhen.index.shard import Shard
from tellwhen.language.schema import Schema
from tellwhen.persistence import directory
from tellwhen.profile import Profile
from tellwhen.spark.blocks import Blocks
from tellwhen.spark.placing import Placement, slots_for
from tellwhen.spark.tasks import Task, rows
from tellwhen.warehouse.commits import fresh
from tellwhen.warehouse.opening import copy_subscriptions, read_dictionary, read_profile
from tellwhen.warehouse.routes import Routes, ShardRoutes, read_routing, routes_of, write_routing
from tellwhen.warehouse.stages import Stages
from tellwhen.warehouse.versions import ShardInfo

SHARD = "number int, name string, subscriptions long, bytes long, always boolean, stretches binary"
"""A shard, with its routes; `stretches` is null for one that has not changed."""


class Building(Task):
    """A shard, built and saved."""

    def __init__(
        self, dictionary: Path, blocks: Blocks, line: Path, placed: list[str], engine: str, schema: Schema
    ) -> None:
        self._dictionary, self._blocks, self._line, self._placed = dictionary, blocks, line, placed
        self._engine, self._schema = engine, schema

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        shard = Shard.empty(self._engine, self._schema, read_profile(self._dictionary))
        shard.store.attributes = read_dictionary(self._dictionary)
        staged = self._blocks.staged
        for block, placed in enumerate(self._placed):
            slots = slots_for(staged, placed, number)
            if len(slots):
                copy_subscriptions(shard, self._blocks.read(block), slots)
        shard.index_all()
        yield save_shard(staged, number, shard, read_routing(self._line, verify=False).stages)


def save_shard(staged: Path, number: int, shard: Shard, stages: Stages) -> pa.RecordBatch:
    """Write a shard; returns the row that describes it."""
    routes = routes_of(shard.store, stages)
    folder = fresh(staged, "shard")
    directory.save(folder, shard.arrays(), shard.meta(), make=False)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    facts = [folder.name, len(shard.engines), size, routes.is_always, routes.to_bytes()]
    return rows(SHARD, [number], *([fact] for fact in facts))


def unchanged(number: int, info: ShardInfo) -> pa.RecordBatch:
    """The row of a shard that stays as it is."""
    return rows(SHARD, [number], [info.name], [info.subscriptions], [info.bytes], [None], [None])


def shards_of(found: Iterable[Any]) -> list[ShardInfo]:
    """The shards that the rows of a build describe, in order."""
    return [ShardInfo(row.name, row.subscriptions, row.bytes) for row in sorted(found, key=lambda row: row.number)]


def write_routes(
    staged: Path, found: Iterable[Any], placement: Placement, before: Routes, profile: Profile
) -> tuple[str, float | None]:
    """Save how the shards are found; returns the name of the directory, and how many shards an event meets, about.

    `before` are the routes of the last version, which shards that have not changed keep. Without a profile of events,
    shares are guesses: good enough to compare predicates, but not to count shards.
    """
    shards = [
        before.shard(row.number) if row.stretches is None else ShardRoutes.from_bytes(row.always, row.stretches)
        for row in sorted(found, key=lambda row: row.number)
    ]
    folder = fresh(staged, "routing")
    write_routing(folder, placement.routing(Routes.of(shards)))
    met = sum(routes.expected(placement.stages.shares) for routes in shards)
    return folder.name, met if profile.events else None
