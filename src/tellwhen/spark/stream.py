"""A stream of changes -> new versions of an index, seen by running streams of events at their next micro-batch."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tellwhen.errors import ConflictError
from tellwhen.spark.building import KEEP
from tellwhen.spark.updating import update
from tellwhen.warehouse.versions import located, read_version

MAX_TRIES = 10
"""Attempts to commit a micro-batch while other updates are faster."""


def follow(
    changes: DataFrame,
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    id: str = "id",
    expression: str = "expression",
    operation: str = "operation",
    score: str | None = None,
    weights: str | None = None,
    prefer: str,
    keep: int = KEEP,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes to the index: an `update` for every micro-batch that has any.

    Of several changes of one id in a batch the one with the greatest value in the column `prefer` counts: a time or a
    sequence number. Changes that cannot be applied go to the quarantine of their version, as `update` says. After a
    crash the query continues from its checkpoint; a batch that was already applied is not applied again. `keep` older
    versions stay for `rollback`.
    """
    root = located(path)
    read_version(root)  # raises FormatError where there is no index
    stream = _locate_checkpoint(checkpoint)  # names it: another stream counts its batches from 0, too

    def apply(batch: DataFrame, number: int) -> None:
        if batch.isEmpty():
            return
        for attempt in range(1, MAX_TRIES + 1):
            if read_version(root).applied.get(stream, -1) >= number:
                return
            try:
                update(
                    batch, root, id=id, expression=expression, operation=operation, score=score, weights=weights,
                    prefer=prefer, keep=keep, applied={stream: number},
                )  # fmt: skip
                return
            except ConflictError:
                if attempt == MAX_TRIES:
                    raise

    writer = changes.writeStream.foreachBatch(apply).option("checkpointLocation", stream)
    return writer.trigger(**(trigger or {"processingTime": "1 second"})).start()


def _locate_checkpoint(checkpoint: str | os.PathLike[str]) -> str:
    """Return the address of a checkpoint for Spark, which also writes to file systems that are not mounted."""
    if isinstance(checkpoint, str) and "://" in checkpoint and not checkpoint.lower().startswith("file:"):
        return checkpoint
    return os.fspath(located(checkpoint))
