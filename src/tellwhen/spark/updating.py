"""Changes x a version -> the next version. Only the shards that a change concerns are built again."""

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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.compile.dictionary import Moved
from tellwhen.errors import SchemaError, pluralize
from tellwhen.index.shard import Shard
from tellwhen.kernels.arrays import I32
from tellwhen.spark.blocks import Blocks, compiled
from tellwhen.spark.building import KEEP
from tellwhen.spark.columns import ADD, SCORE, WEIGHTS_OF, id_column, require, subscription_columns
from tellwhen.spark.dictionary import extend_dictionary
from tellwhen.spark.ingesting import ingest
from tellwhen.spark.placing import place_more, placed, slots_for
from tellwhen.spark.shards import SHARD, save_shard, shards_of, unchanged, write_routes
from tellwhen.spark.tasks import Task, mapped, own_errors, rows, run
from tellwhen.warehouse.commits import QUARANTINE, commit, fresh, staging
from tellwhen.warehouse.opening import copy_subscriptions, read_dictionary, read_profile, read_shard
from tellwhen.warehouse.routes import read_routing
from tellwhen.warehouse.versions import Version, quarantine_folder, read_version

log = logging.getLogger("tellwhen.spark")


def update(
    changes: DataFrame,
    path: str | os.PathLike[str],
    *,
    id: str = "id",
    expression: str = "expression",
    operation: str = "operation",
    score: str | None = None,
    weights: str | None = None,
    prefer: str | None = None,
    keep: int = KEEP,
    applied: Mapping[str, int] | None = None,
) -> Version:
    """Apply changes (operation, id, expression[, score, weights]) and make the result the current version.

    "add" adds a subscription, or replaces the one with its id, its score and weights included; "remove" removes it, if
    there is one. `score` and `weights` name the columns that these are in, if they are called something else. Rows that
    cannot be applied are sorted out as by `ingest`, which also says which of several changes of one id counts. They
    change nothing: `quarantined` of the version is their number, and they are committed with it, as Parquet files in
    `quarantine/version=<number>` beside the shards. Either all other changes are applied, or, when the update fails,
    none: ConflictError when another version was committed meanwhile.

    Changes that apply to nothing, such as removals of unknown ids, commit nothing: the current version is returned.

    `applied` notes in the version how far a stream of changes has come; `follow` uses it.
    """
    base = read_version(path)
    score, weights = (
        name or (usual if usual in changes.columns else None) for name, usual in ((score, SCORE), (weights, WEIGHTS_OF))
    )
    _check(changes, base, id, expression, operation)
    with staging(path) as staged, own_errors():
        taken, bad = ingest(
            changes, id, expression, score, weights,
            operation=operation, prefer=prefer, schema=base.schema, engine=base.engine,
        )  # fmt: skip
        try:
            quarantined = _quarantine(bad, staged)
            gone = [row.file for row in mapped(taken.select("id"), _WritingIds(staged), FILE).collect()]
            blocks = compiled(taken.where(F.col("operation") == ADD), staged, base.schema)
        finally:
            taken.unpersist()
        version = _changed(changes.sparkSession, base, blocks, gone)
        if version is base and not quarantined:
            log.info("version %d stays the current one: no change applies to it", base.version)
            return base
        version = replace(version, applied={**base.applied, **(applied or {})}, quarantined=quarantined)
        after = commit(staged, version, base.version, keep)
        root = staged.parent
    touched = len({shard.name for shard in after.shards} - {shard.name for shard in base.shards})
    log.info("version %d: %d of %d shards were built again", after.version, touched, len(after.shards))
    if quarantined:
        folder = quarantine_folder(root, after.version)
        what = pluralize(quarantined, "change")
        log.warning("version %d: not applied: %s; see %s", after.version, what, folder)
    return after


def _check(changes: DataFrame, base: Version, id: str, expression: str, operation: str) -> None:
    require(changes, operation)
    ids = subscription_columns(changes, id, expression)
    if ids != base.ids:
        raise SchemaError(f"the ids of the changes are {ids}s, those of the index are {base.ids}s")


def _quarantine(bad: DataFrame, staged: Path) -> int:
    """Write the rows that are not applied; returns their number."""
    count = bad.count()
    if count:
        # As an address: a cluster may take a mere path for one on another file system.
        bad.coalesce(1).write.parquet((staged / QUARANTINE).as_uri())
    return count


def _changed(spark: SparkSession, base: Version, blocks: Blocks, gone: list[str]) -> Version:
    """The version after the changes, its new shards in staging; `base` itself if nothing changes."""
    if not blocks and not gone:
        return base
    staged = blocks.staged
    dictionary = staged.parent / base.dictionary
    moved: dict[int, Moved] = {}
    if blocks:
        name, moved = extend_dictionary(dictionary, blocks)
        dictionary = staged / name
    placement = place_more(spark, blocks, base, dictionary, moved)
    where = placed(spark, blocks, placement) if blocks else []
    work = _Changing(dictionary, base, blocks, placement.line, where, gone, moved)
    built = run(spark, placement.size, work, SHARD).collect()
    if not blocks and all(row.stretches is None for row in built):
        return base
    before = read_routing(staged.parent / base.routing).routes
    routing, met = write_routes(staged, built, placement, before, read_profile(dictionary))
    return replace(
        base,
        created=time.time(),
        dictionary=dictionary.name,
        routing=routing,
        shards=shards_of(built),
        shards_per_event=met,
    )


FILE = "file string"


class _WritingIds:
    """Writes the ids of changes to files that all shards can read."""

    def __init__(self, staged: Path) -> None:
        self._staged = staged

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if batch.num_rows]
        if found:
            file = fresh(self._staged, "gone") / "ids.arrow"
            table = pa.Table.from_batches(found)
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            yield rows(FILE, [str(file)])


class _Changing(Task):
    """A shard as it is, or built again if a change concerns it."""

    def __init__(
        self, dictionary: Path, base: Version, blocks: Blocks, line: Path, placed: list[str], gone: list[str],
        moved: dict[int, Moved],
    ) -> None:  # fmt: skip
        self._dictionary, self._base, self._blocks, self._line = dictionary, base, blocks, line
        self._placed, self._gone, self._moved = placed, gone, moved

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        staged = self._blocks.staged
        added = [slots_for(staged, placed, number) for placed in self._placed]
        after = Shard.empty(self._base.engine, self._base.schema)
        after.store.attributes = read_dictionary(self._dictionary)
        if number < len(self._base.shards):
            info = self._base.shards[number]
            old = read_shard(staged.parent / info.name, after.store.attributes)
            removed = self._removed(old)
            if not self._moved and not len(removed) and not any(len(slots) for slots in added):
                yield unchanged(number, info)
                return
            for domain, moves in self._moved.items():
                old.store.move(domain, moves)
            copy_subscriptions(after, old, np.setdiff1d(old.store.alive(), removed).astype(np.int32))
        for block, slots in enumerate(added):
            copy_subscriptions(after, self._blocks.read(block), slots)
        after.expect(read_profile(self._dictionary))
        after.index_all()
        yield save_shard(staged, number, after, read_routing(self._line, verify=False).stages)

    def _removed(self, shard: Shard) -> I32:
        """The slots of changed ids: those that are added again replace them."""
        if not self._gone or not len(shard.ids):
            return np.zeros(0, dtype=np.int32)
        tables = [pa.ipc.open_file(pa.memory_map(file)).read_all() for file in self._gone]
        ids = pa.concat_tables(tables).column(0).combine_chunks()
        is_gone = pc.is_in(id_column(shard.ids, self._base.ids), value_set=ids)
        return np.flatnonzero(is_gone.to_numpy(zero_copy_only=False)).astype(np.int32)
