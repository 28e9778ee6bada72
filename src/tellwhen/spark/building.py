"""Subscriptions -> a version of an index on disk: compile, make the dictionary, place, build, commit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tellwhen.compile.store import Store
from tellwhen.engines import create
from tellwhen.errors import DuplicateId, TellwhenError, abbreviate
from tellwhen.index.ids import IdType
from tellwhen.language.schema import Schema
from tellwhen.profile import Profile
from tellwhen.spark.blocks import Blocks, compiled
from tellwhen.spark.columns import declared_schema, id_column, id_type, subscription_columns
from tellwhen.spark.dictionary import make_dictionary
from tellwhen.spark.placing import place, placed
from tellwhen.spark.shards import SHARD, Building, shards_of, write_routes
from tellwhen.spark.tasks import Task, own_errors, run
from tellwhen.warehouse.commits import commit, staging, started_from
from tellwhen.warehouse.routes import Routes
from tellwhen.warehouse.versions import Version

KEEP = 3
"""Older versions that stay for `rollback`."""

IDS_PER_TASK = 1_000_000
"""Ids that one task compares, about."""


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

    Expressions that come from `ingest` are not parsed again, and its schema is the default. With a `profile` of the
    events, subscriptions are placed such that an event meets few shards, and engines choose by it what to test first;
    it is kept with the index, for updates. The number of `shards` follows the size if it is not given. A build
    that is killed leaves the previous version as it was; one that finds another version committed meanwhile raises
    ConflictError, because it would undo the changes of that one.
    """
    if shards is not None and shards < 1:
        raise TellwhenError(f"there is at least 1 shard, not {shards}")
    if profile is not None and not isinstance(profile, Profile):
        raise TellwhenError(f"a profile is what profile() returns, not {abbreviate(profile)}")
    ids = subscription_columns(subs)
    types = declared_schema(subs, schema)
    create(engine, Store(types))  # raises EngineError now rather than in a worker
    spark = subs.sparkSession
    with staging(path) as staged, own_errors():
        base = started_from(staged.parent)
        blocks = compiled(subs, staged, types)
        refuse_duplicates(spark, blocks, ids)
        profile = profile or Profile()
        dictionary = make_dictionary(spark, blocks, profile)
        placement = place(spark, blocks, staged / dictionary, shards)
        where = placed(spark, blocks, placement)
        work = Building(staged / dictionary, blocks, placement.line, where, engine, types)
        built = run(spark, placement.size, work, SHARD).collect()
        routing, met = write_routes(staged, built, placement, Routes.of([]), profile)
        version = Version(
            version=0,
            created=time.time(),
            engine=engine,
            schema=types,
            ids=ids,
            dictionary=dictionary,
            routing=routing,
            shards=shards_of(built),
            shards_per_event=met,
        )
        return commit(staged, version, base, keep)


def refuse_duplicates(spark: SparkSession, blocks: Blocks, ids: IdType) -> None:
    """Raises DuplicateId where an id occurs twice: it would match twice."""
    found = run(spark, len(blocks), _IdsOf(blocks), f"id {id_type(ids).simpleString()}")
    counts = found.repartition(max(1, -(-blocks.subscriptions // IDS_PER_TASK)), "id").groupBy("id").count()
    twice = counts.where("count > 1").limit(1).collect()
    if twice:
        raise DuplicateId(f"there are {twice[0]['count']} subscriptions {twice[0].id!r}; ingest() sorts them out")


class _IdsOf(Task):
    """The ids of a block."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        ids = self._blocks.read(number).ids
        yield pa.RecordBatch.from_arrays([id_column(ids, ids.type)], ["id"])
