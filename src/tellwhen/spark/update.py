"""Changes x a version -> the next version. Only the shards that are touched are built again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.compile.dictionary import Moved
from tellwhen.contents import Contents
from tellwhen.errors import DuplicateId, SchemaError
from tellwhen.kernels.arrays import I32
from tellwhen.schema import Schema
from tellwhen.spark.blocks import read_block
from tellwhen.spark.build import KEEP, checked_columns, compiled, id_column
from tellwhen.spark.dictionary import extend_dictionary, read_dictionary
from tellwhen.spark.ingest import ADD, REMOVE
from tellwhen.spark.shards import (
    SHARD,
    index_all,
    place_more,
    placed,
    read_shard,
    saved_shard,
    shards_of,
    slots_for,
    take_from,
)
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
    in a set of changes: `ingest(..., operation=..., prefer=...)` sorts them out. All of it happens, or nothing.
    """
    base = read_version(path)
    _check(changes, base)
    spark = changes.sparkSession
    with staging(path) as staged, own_errors():
        root = staged.parent
        changes = changes.persist()  # read three times
        try:
            wrong = changes.where(~F.coalesce(F.col("operation").isin(ADD, REMOVE), F.lit(False))).limit(1).collect()
            if wrong:
                raise SchemaError(f"the operation of {wrong[0].id!r} is {wrong[0].operation!r}, not add or remove")
            twice = changes.groupBy("id").count().where("count > 1").limit(1).collect()
            if twice:
                raise DuplicateId(f"there are {twice[0]['count']} changes of {twice[0].id!r}; ingest() sorts them out")
            ids = changes.select(F.col("id").cast("string" if base.ids == "str" else "long"))
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
        built = run(spark, len(base.shards), work, SHARD).collect()
        version = Version(
            version=0,
            created=time.time(),
            engine=base.engine,
            schema=base.schema,
            ids=base.ids,
            dictionary=dictionary,
            shards=shards_of(built),
            pivots=placement.pivots,
            order=sorted(placement.rank, key=placement.rank.__getitem__),
            applied={**base.applied, **(applied or {})},
        )
        after = commit(staged, version, base.version, keep)
    touched = len({shard.name for shard in after.shards} - {shard.name for shard in base.shards})
    log.info("version %d: %d of %d shards were built again", after.version, touched, len(after.shards))
    return after


def _check(changes: DataFrame, base: Version) -> None:
    if "operation" not in changes.columns:
        raise SchemaError("changes have the columns operation, id and expression; 'operation' is missing")
    ids = checked_columns(changes)
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
        shard = self._base.shards[number]
        old = read_shard(self._staged.parent / shard.name, read_dictionary(self._dictionary))
        removed = self._removed(old)
        added = [slots_for(self._staged, places, number) for places in self._places]
        if not self._moved and not len(removed) and not any(len(slots) for slots in added):
            yield rows(SHARD, [number], [shard.name], [shard.subscriptions], [shard.bytes])
            return
        for line, moves in self._moved.items():
            old.store.move(line, moves)
        after = Contents.empty(self._base.engine, Schema(self._base.schema))
        after.store.attributes = old.store.attributes
        kept = np.setdiff1d(old.store.alive(), removed).astype(np.int32)
        after.store.adopt(old.store.extract(kept))
        after.ids.adopt(old.ids, kept)
        after.texts.adopt(old.texts, kept)
        for name, slots in zip(self._blocks, added, strict=True):
            take_from(after, read_block(self._staged / name), slots)
        index_all(after)
        yield saved_shard(self._staged, number, after)

    def _removed(self, contents: Contents) -> I32:
        """Slots whose ids are changed: what is added anew replaces them."""
        if not self._gone or not len(contents.ids):
            return np.zeros(0, dtype=np.int32)
        tables = [pa.ipc.open_file(pa.memory_map(file)).read_all() for file in self._gone]
        ids = pa.concat_tables(tables).column(0).combine_chunks()
        return np.flatnonzero(pc.is_in(id_column(contents.ids), value_set=ids).to_numpy(zero_copy_only=False)).astype(
            np.int32
        )
