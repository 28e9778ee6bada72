"""Updates: changes make the next version of an index; only the shards with changes are built again."""

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

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.errors import SchemaError, pluralize
from tellwhen.index.shard import Shard
from tellwhen.kernels.arrays import I32
from tellwhen.spark.blocks import Blocks, compile_blocks
from tellwhen.spark.builds import KEPT_VERSIONS
from tellwhen.spark.columns import (
    ADD,
    SCORE,
    WEIGHTS_COLUMN,
    convert_ids,
    require_columns,
    validate_subscription_columns,
)
from tellwhen.spark.dictionary import extend_dictionary
from tellwhen.spark.ingestion import ingest
from tellwhen.spark.placement import Assignments, assign_slots, place_additions
from tellwhen.spark.shards import SHARD, append_assigned, list_shards, make_unchanged_row, save_shard, write_routes
from tellwhen.spark.tasks import Task, make_rows, map_batches, raise_own_errors, run_tasks
from tellwhen.warehouse.commits import QUARANTINE, commit, make_folder, open_staging
from tellwhen.warehouse.opening import copy_subscriptions, read_dictionary, read_profile, read_shard
from tellwhen.warehouse.routes import ShardRoutes, find_covers, read_routing
from tellwhen.warehouse.versions import Version, get_quarantine_folder, read_version

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
    keep: int = KEPT_VERSIONS,
    applied: Mapping[str, int] | None = None,
) -> Version:
    """Apply changes to an index and make the result the current version.

    The operation "add" adds a subscription, or replaces the one with its id together with its score and weights. The
    operation "remove" removes a subscription, if there is one with the id. Invalid rows are quarantined as by `ingest`:
    the version counts them as `quarantined`, and they are committed with it, as Parquet files in the folder
    `quarantine/version=<number>` of the index. All other changes are applied, or none if the update fails.

    An update without any effect, such as the removal of unknown ids, commits no version.

    Parameters
    ----------
    changes
        The changes (operation, id, expression[, score, weights, payload]).
    path
        The folder of the index.
    id, expression, operation, score, weights
        The names of the columns.
    prefer
        Of several changes of one id, apply that with the greatest value in this column. By default an "add" comes
        before a "remove", and the rest is decided as by `ingest`.
    keep
        How many older versions stay for `rollback`.
    applied
        By stream of changes, the last micro-batch that the new version includes; `follow` uses it.

    Returns
    -------
    Version
        The new version; the current one if no change had an effect.

    Raises
    ------
    ConflictError
        If another version was committed during the update.
    SchemaError
        If a column is missing or of a wrong type.

    Examples
    --------
    >>> version = tws.update(changes, "warehouse/index")  # doctest: +SKIP
    """
    base = read_version(path)
    score, weights = (
        name or (default if default in changes.columns else None)
        for name, default in ((score, SCORE), (weights, WEIGHTS_COLUMN))
    )
    _validate_columns(changes, base, id, expression, operation)
    with open_staging(path) as staged, raise_own_errors():
        valid, invalid = ingest(
            changes, id, expression, score, weights,
            operation=operation, prefer=prefer, schema=base.schema, engine=base.engine,
        )  # fmt: skip
        try:
            quarantined = _write_quarantine(invalid, staged)
            id_files = [row.file for row in map_batches(valid.select("id"), _IdWriter(staged), FILE).collect()]
            blocks = compile_blocks(valid.where(F.col("operation") == ADD), staged, base.schema)
        finally:
            valid.unpersist()
        version = _build_changed_shards(changes.sparkSession, base, blocks, id_files)
        if version is base and not quarantined:
            log.info("version %d stays the current one: no change applies to it", base.version)
            return base
        version = replace(version, applied={**base.applied, **(applied or {})}, quarantined=quarantined)
        after = commit(staged, version, base.version, keep)
        root = staged.parent
    rebuilt = len({shard.name for shard in after.shards} - {shard.name for shard in base.shards})
    log.info("version %d: %d of %d shards were built again", after.version, rebuilt, len(after.shards))
    if quarantined:
        folder = get_quarantine_folder(root, after.version)
        log.warning("version %d: not applied: %s; see %s", after.version, pluralize(quarantined, "change"), folder)
    return after


def _validate_columns(changes: DataFrame, base: Version, id: str, expression: str, operation: str) -> None:
    require_columns(changes, operation)
    ids = validate_subscription_columns(changes, id, expression)
    if ids != base.ids:
        raise SchemaError(f"the ids of the changes are {ids}s, those of the index are {base.ids}s; cast the column")


def _write_quarantine(invalid: DataFrame, staged: Path) -> int:
    """Write the rows that are not applied; return their number."""
    count = invalid.count()
    if count:
        # As a URL: the default file system of a cluster may be another one.
        invalid.coalesce(1).write.parquet((staged / QUARANTINE).as_uri())
    return count


def _build_changed_shards(spark: SparkSession, base: Version, blocks: Blocks, id_files: list[str]) -> Version:
    """Build the shards with changes in staging; return the new version, or `base` if nothing changes."""
    if not blocks and not id_files:
        return base
    staged = blocks.staged
    dictionary = staged.parent / base.dictionary
    moved: dict[int, LabelMoves] = {}
    if blocks:
        name, moved = extend_dictionary(dictionary, blocks)
        dictionary = staged / name
    placement = place_additions(spark, blocks, base, dictionary, moved)
    assignments = assign_slots(spark, blocks, placement)
    work = _ShardUpdate(dictionary, base, blocks, placement.stages_folder, assignments, id_files, moved)
    rows = run_tasks(spark, placement.shard_count, work, SHARD).collect()
    if not blocks and all(row.stretches is None for row in rows):
        return base
    before = read_routing(staged.parent / base.routing).routes
    routing, shards_per_event = write_routes(staged, rows, placement, before, read_profile(dictionary))
    return replace(
        base,
        created=time.time(),
        dictionary=dictionary.name,
        routing=routing,
        shards=list_shards(rows),
        shards_per_event=shards_per_event,
    )


FILE = "file string"


class _IdWriter:
    """A function for `map_batches` that writes the ids of changes to a file for the tasks of shards."""

    def __init__(self, staged: Path) -> None:
        self._staged = staged

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        non_empty = [batch for batch in batches if batch.num_rows]
        if non_empty:
            file = make_folder(self._staged, "ids") / "ids.arrow"
            table = pa.Table.from_batches(non_empty)
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            yield make_rows(FILE, [str(file)])


class _ShardUpdate(Task):
    """Task that builds a shard again if it has changes."""

    def __init__(
        self, dictionary: Path, base: Version, blocks: Blocks, stages_folder: Path, assignments: Assignments,
        id_files: list[str], moved: dict[int, LabelMoves],
    ) -> None:  # fmt: skip
        self._dictionary, self._base, self._blocks, self._stages_folder = dictionary, base, blocks, stages_folder
        self._assignments, self._id_files, self._moved = assignments, id_files, moved

    def run(self, shard_number: int) -> Iterator[pa.RecordBatch]:
        staged = self._blocks.staged
        after = Shard.empty(self._base.engine, self._base.schema)
        after.store.attributes = read_dictionary(self._dictionary)
        routes: list[ShardRoutes] = []
        if shard_number < len(self._base.shards):
            info = self._base.shards[shard_number]
            old = read_shard(staged.parent / info.name, after.store.attributes)
            changed = self._find_changed_slots(old)
            if not self._moved and not len(changed) and not self._assignments.read_slots(shard_number):
                yield make_unchanged_row(shard_number, info)
                return
            for domain, moves in self._moved.items():
                old.store.relabel(domain, moves)
            copy_subscriptions(after, old, np.setdiff1d(old.store.find_alive(), changed).astype(np.int32))
            covers = find_covers(after.store, read_routing(self._stages_folder, verify=False).stages)
            routes.append(covers.find_routes(after.store.find_alive()))
        routes += append_assigned(after, self._blocks, self._assignments, shard_number)
        after.set_profile(read_profile(self._dictionary))
        after.index_all()
        yield save_shard(staged, self._stages_folder, shard_number, after, routes)

    def _find_changed_slots(self, shard: Shard) -> I32:
        """Return the slots of changed ids; new subscriptions replace those that are added again."""
        if not self._id_files or not len(shard.ids):
            return np.zeros(0, dtype=np.int32)
        tables = [pa.ipc.open_file(pa.memory_map(file)).read_all() for file in self._id_files]
        ids = pa.concat_tables(tables).column(0).combine_chunks()
        is_changed = pc.is_in(convert_ids(shard.ids, self._base.ids), value_set=ids)
        return np.flatnonzero(is_changed.to_numpy(zero_copy_only=False)).astype(np.int32)
