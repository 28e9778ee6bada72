"""Shards of an index, each built by a task from the subscriptions of all blocks."""

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
from tellwhen.spark.placement import Assignments, Placement
from tellwhen.spark.tasks import Task, make_rows
from tellwhen.warehouse.commits import make_folder
from tellwhen.warehouse.opening import copy_subscriptions, read_dictionary, read_profile
from tellwhen.warehouse.routes import Routes, ShardRoutes, merge_routes, read_routing, write_routing
from tellwhen.warehouse.versions import ShardInfo

SHARD = "number int, name string, subscriptions long, bytes long, always boolean, stretches binary"
"""Row of a shard with its routes; `stretches` is null for an unchanged shard."""


class ShardBuild(Task):
    """Task that builds and saves a shard."""

    def __init__(
        self,
        dictionary: Path,
        blocks: Blocks,
        stages_folder: Path,
        assignments: Assignments,
        engine: str,
        schema: Schema,
    ) -> None:
        self._dictionary, self._blocks, self._stages_folder, self._assignments = (
            dictionary,
            blocks,
            stages_folder,
            assignments,
        )
        self._engine, self._schema = engine, schema

    def run(self, shard_number: int) -> Iterator[pa.RecordBatch]:
        shard = Shard.empty(self._engine, self._schema, read_profile(self._dictionary))
        shard.store.attributes = read_dictionary(self._dictionary)
        routes = append_assigned(shard, self._blocks, self._assignments, shard_number)
        shard.index_all()
        yield save_shard(self._blocks.staged, self._stages_folder, shard_number, shard, routes)


def append_assigned(shard: Shard, blocks: Blocks, assignments: Assignments, number: int) -> list[ShardRoutes]:
    """Append the subscriptions assigned to a shard; return their routes, by block."""
    routes = []
    for block, slots in assignments.read_slots(number):
        copy_subscriptions(shard, blocks.read(block), slots)
        routes.append(assignments.read_routes(block, slots))
    return routes


def save_shard(
    staged: Path, stages_folder: Path, number: int, shard: Shard, routes: Iterable[ShardRoutes]
) -> pa.RecordBatch:
    """Write a shard; return its row, with the routes of its parts merged."""
    merged = merge_routes(routes, read_routing(stages_folder, verify=False).stages.shares)
    folder = make_folder(staged, "shard")
    directory.save(folder, shard.arrays(), shard.meta(), make=False)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    columns = [folder.name, len(shard.engines), size, merged.is_always, merged.to_bytes()]
    return make_rows(SHARD, [number], *([value] for value in columns))


def make_unchanged_row(number: int, info: ShardInfo) -> pa.RecordBatch:
    """Return the row of a shard that stays as it is."""
    return make_rows(SHARD, [number], [info.name], [info.subscriptions], [info.bytes], [None], [None])


def list_shards(rows: Iterable[Any]) -> list[ShardInfo]:
    """Return the shards that the rows of a build describe, in order."""
    return [ShardInfo(row.name, row.subscriptions, row.bytes) for row in sorted(rows, key=lambda row: row.number)]


def write_routes(
    staged: Path, rows: Iterable[Any], placement: Placement, before: Routes, profile: Profile
) -> tuple[str, float | None]:
    """Save the routing; return the name of its folder, and how many shards an event is expected to meet.

    `before` are the routes of the last version, which unchanged shards keep. The number is None without a profile of
    events: shares are then guesses, good enough to compare predicates, but not to count shards.
    """
    shards = [
        before.get_shard(row.number) if row.stretches is None else ShardRoutes.from_bytes(row.always, row.stretches)
        for row in sorted(rows, key=lambda row: row.number)
    ]
    folder = make_folder(staged, "routing")
    write_routing(folder, placement.make_routing(Routes.from_shards(shards)))
    shards_per_event = sum(routes.estimate_share(placement.stages.shares) for routes in shards)
    return folder.name, shards_per_event if profile.events else None
