"""Subscriptions -> a version of an index on disk: compile, agree on a dictionary, place, build, commit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.errors import DuplicateId, TellwhenError, shown
from tellwhen.ids import IdType
from tellwhen.profile import Profile
from tellwhen.schema import Schema
from tellwhen.spark.blocks import BLOCKS, Compiling, read_block
from tellwhen.spark.columns import id_column, id_type, subscription_columns
from tellwhen.spark.dictionary import make_dictionary
from tellwhen.spark.placing import place, placed
from tellwhen.spark.shards import SHARD, Building, shards_of
from tellwhen.spark.tasks import Task, own_errors, run
from tellwhen.spark.warehouse import Version, commit, staging, started_from

KEEP = 3
"""Older versions that stay to be rolled back to."""


def build(
    subs: DataFrame,
    path: str | os.PathLike[str],
    *,
    profile: Profile | None = None,
    engine: str = "auto",
    shards: int | None = None,
    schema: Schema | dict[str, str] | None = None,
    keep: int = KEEP,
) -> Version:
    """Build an index of the subscriptions (id, expression) and make it the current version at `path`.

    With a `profile` of the events, subscriptions are placed by the attribute that fewest events carry. `shards` is
    chosen by size if not given. A build that is killed leaves the previous version as it was; one that finds another
    version committed meanwhile raises ConflictError, since it would undo what that one brought.
    """
    types = Schema.of(schema)
    if shards is not None and shards < 1:
        raise TellwhenError(f"there is at least 1 shard, not {shards}")
    spark = subs.sparkSession
    if profile is not None and not isinstance(profile, Profile):
        raise TellwhenError(f"a profile is what profile() returns, not {shown(profile)}")
    ids = subscription_columns(subs)
    with staging(path) as staged, own_errors():
        base = started_from(staged.parent)
        blocks = compiled(subs, staged, types)
        refuse_duplicates(spark, staged, blocks, ids)
        dictionary, attributes = make_dictionary(spark, staged, blocks)
        frequency = None if profile is None else profile.event_frequency
        placement = place(spark, staged, blocks, frequency or None, list(attributes.by_name), shards)
        places = placed(spark, staged, blocks, placement)
        work = Building(staged, staged / dictionary, blocks, places, engine, types)
        built = run(spark, placement.size, work, SHARD).collect()
        version = Version(
            version=0,
            created=time.time(),
            engine=engine,
            schema=dict(types.types),
            ids=ids,
            dictionary=dictionary,
            shards=shards_of(built),
            pivots=placement.pivots,
            order=placement.order,
        )
        return commit(staged, version, base, keep)


def compiled(subs: DataFrame, staged: Path, schema: Schema) -> list[str]:
    """Parse and compile in parallel; returns the names of the blocks."""
    pairs = subs.select(F.col("id").cast(id_type(subscription_columns(subs))), "expression")
    rows = pairs.mapInArrow(Compiling(staged, schema), BLOCKS).collect()
    return sorted(row.block for row in rows)


def refuse_duplicates(spark: SparkSession, staged: Path, blocks: list[str], ids: IdType) -> None:
    """An id that occurs twice would match twice."""
    found = run(spark, len(blocks), _IdsOf(staged, blocks), f"id {id_type(ids).simpleString()}")
    twice = found.groupBy("id").count().where("count > 1").limit(1).collect()
    if twice:
        raise DuplicateId(f"there are {twice[0]['count']} subscriptions {twice[0].id!r}; ingest() sorts them out")


class _IdsOf(Task):
    def __init__(self, staged: Path, blocks: list[str]) -> None:
        self._staged, self._blocks = staged, blocks

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        ids = read_block(self._staged / self._blocks[number]).ids
        yield pa.RecordBatch.from_arrays([id_column(ids, ids.type)], ["id"])
