"""Streams of changes that make new versions of an index; streams of events use them from their next micro-batch."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tellwhen.errors import ConflictError
from tellwhen.spark.builds import KEPT_VERSIONS
from tellwhen.spark.updates import update
from tellwhen.warehouse.versions import locate_index, read_version

COMMIT_ATTEMPTS_MAX = 10
"""Most attempts to commit a micro-batch while other updates are committed first."""


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
    keep: int = KEPT_VERSIONS,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes to an index: one `update` for every micro-batch with changes.

    After a crash, the query continues from its checkpoint. A micro-batch that a version includes is not applied again.

    Parameters
    ----------
    changes
        The stream of changes, as for `update`.
    path
        The folder of the index.
    checkpoint
        The folder of the checkpoint, or a URL that Spark can write to, such as "s3a://lake/follow". It identifies the
        stream.
    id, expression, operation, score, weights
        The names of the columns.
    prefer
        Of several changes of one id in a micro-batch, apply that with the greatest value in this column, such as a time
        or a sequence number.
    keep
        How many older versions stay for `rollback`.
    trigger
        Arguments of `DataStreamWriter.trigger`. By default a micro-batch starts every second.

    Returns
    -------
    StreamingQuery
        The running query.

    Examples
    --------
    >>> query = tws.follow(changes, "warehouse/index", checkpoint="follow", prefer="at")  # doctest: +SKIP
    """
    root = locate_index(path)
    read_version(root)  # raises FormatError where there is no index
    stream = _locate_checkpoint(checkpoint)  # identifies the stream: every stream counts its batches from 0

    def apply(batch: DataFrame, number: int) -> None:
        if batch.isEmpty():
            return
        for attempt in range(1, COMMIT_ATTEMPTS_MAX + 1):
            if read_version(root).applied.get(stream, -1) >= number:
                return
            try:
                update(
                    batch, root, id=id, expression=expression, operation=operation, score=score, weights=weights,
                    prefer=prefer, keep=keep, applied={stream: number},
                )  # fmt: skip
                return
            except ConflictError:
                if attempt == COMMIT_ATTEMPTS_MAX:
                    raise

    writer = changes.writeStream.foreachBatch(apply).option("checkpointLocation", stream)
    return writer.trigger(**(trigger or {"processingTime": "1 second"})).start()


def _locate_checkpoint(checkpoint: str | os.PathLike[str]) -> str:
    """Return the path or URL of a checkpoint; Spark also writes to file systems that are not mounted."""
    if isinstance(checkpoint, str) and "://" in checkpoint and not checkpoint.lower().startswith("file:"):
        return checkpoint
    return os.fspath(locate_index(checkpoint))
