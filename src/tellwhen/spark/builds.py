"""Builds of an index: subscriptions are compiled, get a dictionary, are placed in shards, indexed and committed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tellwhen.compile.store import Store
from tellwhen.engines import create
from tellwhen.errors import ArgumentError, DuplicateId, abbreviate
from tellwhen.index.ids import IdType
from tellwhen.language.schema import Schema
from tellwhen.profile import Profile
from tellwhen.spark.blocks import Blocks, compile_blocks
from tellwhen.spark.columns import choose_schema, convert_ids, get_id_type, validate_subscription_columns
from tellwhen.spark.dictionary import make_dictionary
from tellwhen.spark.placement import assign_slots, place_blocks
from tellwhen.spark.shards import SHARD, ShardBuild, list_shards, write_routes
from tellwhen.spark.tasks import Task, raise_own_errors, run_tasks
from tellwhen.warehouse.commits import commit, find_base_version, open_staging
from tellwhen.warehouse.routes import Routes
from tellwhen.warehouse.versions import Version

KEPT_VERSIONS = 3
"""Older versions that stay for `rollback`."""

IDS_PER_TASK = 1_000_000
"""Ids that one task compares, approximately."""


def build(
    subs: DataFrame,
    path: str | os.PathLike[str],
    *,
    profile: Profile | None = None,
    engine: str = "auto",
    shards: int | None = None,
    schema: Schema | dict[str, str] | None = None,
    keep: int = KEPT_VERSIONS,
) -> Version:
    """Build an index of the subscriptions and make it the current version at `path`.

    A build that is killed leaves the previous version as it was.

    Parameters
    ----------
    subs
        Subscriptions (id, expression[, score, weights, payload]). Expressions from `ingest` are not parsed again.
    path
        The folder of the index, on a file system that the driver and all executors share.
    profile
        Statistics of the events. With a profile, subscriptions are placed so that an event meets few shards, and
        engines choose by it which predicates to test first. It is saved with the index, for updates.
    engine
        The engine of every shard, with its options.
    shards
        The number of shards. By default it follows from the number of subscriptions.
    schema
        The declared types of attributes. The default is the schema of `ingest`.
    keep
        How many older versions stay for `rollback`.

    Returns
    -------
    Version
        The new version.

    Raises
    ------
    DuplicateId
        If two subscriptions have the same id.
    ConflictError
        If another version was committed during the build, whose changes this one would undo.

    Examples
    --------
    >>> version = tws.build(subs, "warehouse/index", profile=tws.profile(subs, events))  # doctest: +SKIP
    """
    if shards is not None and shards < 1:
        raise ArgumentError(f"expected at least 1 shard, found shards={shards}")
    if profile is not None and not isinstance(profile, Profile):
        raise ArgumentError(f"expected a Profile, as profile() returns, found {abbreviate(profile)}")
    ids = validate_subscription_columns(subs)
    types = choose_schema(subs, schema)
    create(engine, Store(types))  # raises EngineError now rather than in a worker
    spark = subs.sparkSession
    with open_staging(path) as staged, raise_own_errors():
        base = find_base_version(staged.parent)
        blocks = compile_blocks(subs, staged, types)
        refuse_duplicates(spark, blocks, ids)
        profile = profile or Profile()
        dictionary = make_dictionary(spark, blocks, profile)
        placement = place_blocks(spark, blocks, staged / dictionary, shards)
        assignments = assign_slots(spark, blocks, placement)
        work = ShardBuild(staged / dictionary, blocks, placement.stages_folder, assignments, engine, types)
        rows = run_tasks(spark, placement.shard_count, work, SHARD).collect()
        routing, shards_per_event = write_routes(staged, rows, placement, Routes.from_shards([]), profile)
        version = Version(
            version=0,
            created=time.time(),
            engine=engine,
            schema=types,
            ids=ids,
            dictionary=dictionary,
            routing=routing,
            shards=list_shards(rows),
            shards_per_event=shards_per_event,
        )
        return commit(staged, version, base, keep)


def refuse_duplicates(spark: SparkSession, blocks: Blocks, ids: IdType) -> None:
    """Raise DuplicateId if an id occurs twice: it would match twice."""
    all_ids = run_tasks(spark, len(blocks), _BlockIdReader(blocks), f"id {get_id_type(ids).simpleString()}")
    counts = all_ids.repartition(max(1, -(-blocks.subscriptions // IDS_PER_TASK)), "id").groupBy("id").count()
    duplicates = counts.where("count > 1").limit(1).collect()
    if duplicates:
        count, id_ = duplicates[0]["count"], duplicates[0].id
        raise DuplicateId(f"there are {count} subscriptions {id_!r}; ingest() takes one of them")


class _BlockIdReader(Task):
    """Task that reads the ids of a block."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        ids = self._blocks.read(block_number).ids
        yield pa.RecordBatch.from_arrays([convert_ids(ids, ids.type)], ["id"])
