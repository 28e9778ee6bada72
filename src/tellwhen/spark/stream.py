"""A stream of changes -> new versions of an index, seen by running streams of events at their next micro-batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tellwhen.errors import ConflictError
from tellwhen.schema import Schema
from tellwhen.spark.building import KEEP
from tellwhen.spark.ingesting import ingest
from tellwhen.spark.updating import update
from tellwhen.spark.warehouse import located, read_version

TRIES = 10


def follow(
    changes: DataFrame,
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    id: str = "id",
    expression: str = "expression",
    operation: str = "operation",
    prefer: str,
    quarantine: str | os.PathLike[str] | None = None,
    keep: int = KEEP,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes to the index, a version for each micro-batch that has any.

    Of several changes of one id in a batch the greatest in the column `prefer` counts, a time or a sequence. Changes
    that cannot be read go to `quarantine`, by default the folder of that name beside the versions. After a crash the
    query goes on from its checkpoint; a batch that was already applied is not applied again. `keep` older versions
    stay to be rolled back to.
    """
    root = located(path)
    name = os.fspath(located(checkpoint))
    # By stream: another one counts its batches from 0, too.
    rejected = (root / "quarantine" if quarantine is None else located(quarantine)) / f"stream={crc32(name.encode())}"
    schema = Schema(read_version(root).schema)

    def apply(batch: DataFrame, number: int) -> None:
        if read_version(root).applied.get(name, -1) >= number:
            return
        taken, bad = ingest(batch, id, expression, operation=operation, prefer=prefer, schema=schema)
        try:
            if not bad.isEmpty():
                # Overwritten by the same batch after a crash, so nothing is in it twice.
                bad.write.mode("overwrite").parquet(os.fspath(rejected / f"batch={number}"))
            if not taken.isEmpty():
                _insist(taken, root, {name: number}, keep)
        finally:
            taken.unpersist()

    writer = changes.writeStream.foreachBatch(apply).option("checkpointLocation", name)
    return writer.trigger(**(trigger or {"processingTime": "1 second"})).start()


def _insist(changes: DataFrame, root: Path, applied: dict[str, int], keep: int) -> None:
    """Another update may be faster, now and then; not for ever."""
    for _ in range(TRIES - 1):
        try:
            update(changes, root, applied=applied, keep=keep)
            return
        except ConflictError:
            continue
    update(changes, root, applied=applied, keep=keep)
