"""Changes x a version -> the next version. Only the shards that are touched are built again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.compile.dictionary import Moved
from tellwhen.errors import DuplicateId, IdError, SchemaError
from tellwhen.kernels.arrays import I32
from tellwhen.schema import Schema
from tellwhen.shard import Shard
from tellwhen.spark.blocks import read_block
from tellwhen.spark.building import KEEP, compiled
from tellwhen.spark.columns import (
    ADD,
    REMOVE,
    id_column,
    id_type,
    operation_column,
    require,
    subscription_columns,
)
from tellwhen.spark.dictionary import extend_dictionary, read_dictionary
from tellwhen.spark.placing import place_more, placed, slots_for
from tellwhen.spark.shards import SHARD, read_shard, saved_shard, shards_of, take_from
from tellwhen.spark.tasks import Task, own_errors, rows, run
from tellwhen.spark.warehouse import Version, commit, fresh, read_version, staging

log = logging.getLogger("tellwhen.spark")


def update(
    changes: DataFrame,
    path: str | os.PathLike[str],
    *,
    keep: int = KEEP,
    applied: Mapping[str, int] | None = None,
) -> Version:
    """Apply changes (operation, id, expression) and make the result the current version.

    "add" adds a subscription, or replaces the one with its id; "remove" removes it, if there is one. An id occurs once
    in a set of changes: `ingest(..., operation=..., prefer=...)` sorts them out. All of it happens, or nothing:
    ConflictError when another version was committed meanwhile.
    """
    base = read_version(path)
    _check(changes, base)
    spark = changes.sparkSession
    with staging(path) as staged, own_errors():
        root = staged.parent
        # Read three times, so kept.
        changes = changes.withColumn("operation", operation_column("operation")).persist()
        try:
            known = F.col("operation").isin(ADD, REMOVE)
            wrong = changes.where(F.col("id").isNull() | ~F.coalesce(known, F.lit(False))).limit(1).collect()
            if wrong and wrong[0].id is None:
                raise IdError(f"a change ({wrong[0].operation}) has no id")
            if wrong:
                raise SchemaError(f"the operation of {wrong[0].id!r} is {wrong[0].operation!r}, not add or remove")
            twice = changes.groupBy("id").count().where("count > 1").limit(1).collect()
            if twice:
                raise DuplicateId(f"there are {twice[0]['count']} changes of {twice[0].id!r}; ingest() sorts them out")
            ids = changes.select(F.col("id").cast(id_type(base.ids)))
            gone = [row.file for row in ids.mapInArrow(_Ids(staged), "file string").collect()]
            blocks = compiled(changes.where(F.col("operation") == ADD), staged, Schema(base.schema))
        finally:
            changes.unpersist()
        dictionary, names = base.dictionary, base.order
        moved: dict[int, Moved] = {}
        if blocks:
            dictionary, attributes, moved = extend_dictionary(root / base.dictionary, staged, blocks)
            names = list(attributes.by_name)
        placement = place_more(spark, staged, blocks, base, names)
        place = staged / dictionary if blocks else root / dictionary
        places = placed(spark, staged, blocks, placement)
        work = _Changing(staged, place, base, blocks, places, gone, moved)
        built = run(spark, placement.size, work, SHARD).collect()
        version = replace(
            base,
            created=time.time(),
            dictionary=dictionary,
            shards=shards_of(built),
            pivots=placement.pivots,
            order=placement.order,
            applied={**base.applied, **(applied or {})},
        )
        after = commit(staged, version, base.version, keep)
    touched = len({shard.name for shard in after.shards} - {shard.name for shard in base.shards})
    log.info("version %d: %d of %d shards were built again", after.version, touched, len(after.shards))
    return after


def _check(changes: DataFrame, base: Version) -> None:
    require(changes, "operation")
    ids = subscription_columns(changes)
    if ids != base.ids:
        raise SchemaError(f"the ids of the changes are {ids}s, those of the index are {base.ids}s")


class _Ids:
    """Writes the ids of changes where all shards can read them."""

    def __init__(self, staged: Path) -> None:
        self._staged = staged

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if batch.num_rows]
        if found:
            file = fresh(self._staged, "gone") / "ids.arrow"
            table = pa.Table.from_batches(found)
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            yield rows("file string", [str(file)])


class _Changing(Task):
    """A shard as it is, or built again if a change touches it."""

    def __init__(
        self, staged: Path, dictionary: Path, base: Version, blocks: list[str], places: list[str], gone: list[str],
        moved: dict[int, Moved],
    ) -> None:  # fmt: skip
        self._staged, self._dictionary, self._base = staged, dictionary, base
        self._blocks, self._places, self._gone, self._moved = blocks, places, gone, moved

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        added = [slots_for(self._staged, places, number) for places in self._places]
        after = Shard.empty(self._base.engine, Schema(self._base.schema))
        after.store.attributes = read_dictionary(self._dictionary)
        if number < len(self._base.shards):
            shard = self._base.shards[number]
            old = read_shard(self._staged.parent / shard.name, after.store.attributes)
            removed = self._removed(old)
            if not self._moved and not len(removed) and not any(len(slots) for slots in added):
                yield rows(SHARD, [number], [shard.name], [shard.subscriptions], [shard.bytes])
                return
            for domain, moves in self._moved.items():
                old.store.move(domain, moves)
            take_from(after, old, np.setdiff1d(old.store.alive(), removed).astype(np.int32))
        for name, slots in zip(self._blocks, added, strict=True):
            take_from(after, read_block(self._staged / name), slots)
        after.index_all()
        yield saved_shard(self._staged, number, after)

    def _removed(self, shard: Shard) -> I32:
        """Slots whose ids are changed: what is added anew replaces them."""
        if not self._gone or not len(shard.ids):
            return np.zeros(0, dtype=np.int32)
        tables = [pa.ipc.open_file(pa.memory_map(file)).read_all() for file in self._gone]
        ids = pa.concat_tables(tables).column(0).combine_chunks()
        is_gone = pc.is_in(id_column(shard.ids, self._base.ids), value_set=ids)
        return np.flatnonzero(is_gone.to_numpy(zero_copy_only=False)).astype(np.int32)
