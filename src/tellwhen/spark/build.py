"""Subscriptions -> a version of an index on disk: compile, agree on a dictionary, place, build, commit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType

from tellwhen.errors import DuplicateId, SchemaError, TellwhenError
from tellwhen.ids import Ids
from tellwhen.kernels.arrays import I32
from tellwhen.schema import Schema
from tellwhen.spark.blocks import Compiling, read_block
from tellwhen.spark.dictionary import make_dictionary
from tellwhen.spark.ingest import INTEGERS
from tellwhen.spark.shards import SHARD, Building, place, placed, shards_of
from tellwhen.spark.tasks import Task, own_errors, run
from tellwhen.spark.warehouse import Version, commit, staging

KEEP = 3
"""Older versions that stay to be rolled back to."""


def build(
    subs: DataFrame,
    path: str | os.PathLike[str],
    *,
    profile: Any = None,
    engine: str = "auto",
    shards: int | None = None,
    schema: Schema | dict[str, str] | None = None,
    keep: int = KEEP,
) -> Version:
    """Build an index of the subscriptions (id, expression) and make it the current version at `path`.

    With a `profile` of the events, subscriptions are placed by the attribute that fewest events carry. `shards` is
    chosen by size if not given. A build that is killed leaves the previous version as it was.
    """
    types = schema if isinstance(schema, Schema) else Schema(schema or {})  # type: ignore[arg-type]
    if shards is not None and shards < 1:
        raise TellwhenError(f"there is at least 1 shard, not {shards}")
    spark = subs.sparkSession
    ids = checked_columns(subs)
    with staging(path) as staged, own_errors():
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
            order=sorted(placement.rank, key=placement.rank.__getitem__),
        )
        return commit(staged, version, None, keep)


def checked_columns(subs: DataFrame) -> str:
    """Are there ids and expressions? Returns what the ids are."""
    for name in ("id", "expression"):
        if name not in subs.columns:
            raise SchemaError(f"subscriptions have the columns id and expression; {name!r} is missing")
    kind = subs.schema["id"].dataType
    if not isinstance(kind, (StringType, *INTEGERS)):
        raise SchemaError(f"the ids are {kind.simpleString()}; they must be integers or strings")
    if not isinstance(subs.schema["expression"].dataType, StringType):
        raise SchemaError("the expressions are not strings")
    return "str" if isinstance(kind, StringType) else "int"


def compiled(subs: DataFrame, staged: Path, schema: Schema) -> list[str]:
    """Parse and compile in parallel; returns the names of the blocks."""
    kind = subs.schema["id"].dataType
    pairs = subs.select(F.col("id").cast(kind if isinstance(kind, StringType) else LongType()), "expression")
    rows = pairs.mapInArrow(Compiling(staged, schema), "block string, subscriptions long").collect()
    return sorted(row.block for row in rows)


def refuse_duplicates(spark: SparkSession, staged: Path, blocks: list[str], ids: str) -> None:
    """An id that occurs twice would match twice."""
    found = run(spark, len(blocks), _IdsOf(staged, blocks), f"id {'string' if ids == 'str' else 'long'}")
    twice = found.groupBy("id").count().where("count > 1").limit(1).collect()
    if twice:
        raise DuplicateId(f"there are {twice[0]['count']} subscriptions {twice[0].id!r}; ingest() sorts them out")


class _IdsOf(Task):
    def __init__(self, staged: Path, blocks: list[str]) -> None:
        self._staged, self._blocks = staged, blocks

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        ids = read_block(self._staged / self._blocks[number]).ids
        yield pa.RecordBatch.from_arrays([id_column(ids)], ["id"])


def id_column(ids: Ids, slots: I32 | None = None) -> pa.Array:
    """Ids as Spark takes them: its strings are not large ones."""
    column = ids.column(np.arange(len(ids), dtype=np.int32) if slots is None else slots, ids.type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
