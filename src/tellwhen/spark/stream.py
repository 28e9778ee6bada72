"""A stream of changes -> new versions of an index, seen by running streams of events at their next micro-batch."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tellwhen.schema import Schema
from tellwhen.spark.ingest import ingest
from tellwhen.spark.update import update
from tellwhen.spark.warehouse import located, read_version


def follow(
    changes: DataFrame,
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    id: str = "id",
    expression: str = "expression",
    operation: str = "operation",
    prefer: str | None = None,
    quarantine: str | os.PathLike[str] | None = None,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes to the index, a version for each micro-batch that has any.

    Of several changes of one id in a batch the greatest in the column `prefer` counts. Changes that cannot be read go
    to `quarantine`, by default the folder of that name beside the versions. After a crash the query goes on from its
    checkpoint; a batch that was already applied is not applied again.
    """
    root = located(path)
    rejected = root / "quarantine" if quarantine is None else located(quarantine)
    name = os.fspath(located(checkpoint))
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
                update(taken, root, applied={name: number})
        finally:
            taken.unpersist()

    writer = changes.writeStream.foreachBatch(apply).option("checkpointLocation", name)
    return writer.trigger(**(trigger or {"processingTime": "1 second"})).start()
