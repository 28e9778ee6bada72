"""The same in SQL: `SELECT * FROM tellwhen_match(TABLE(events), 'warehouse/index')`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udtf

from tellwhen.errors import EventError
from tellwhen.spark.events import encoded
from tellwhen.spark.match import chosen
from tellwhen.spark.serving import serve, task_version
from tellwhen.spark.warehouse import located

NAME = "tellwhen_match"


def register(spark: SparkSession, name: str = NAME) -> None:
    """Make the table function known to the session.

    It takes a table with a column `event_id`, and either a column `attributes` (a map or JSON) or a column for each
    attribute; and the path of an index. Both ids come back as strings, as a table function has one type for all.
    """
    function: Any = arrow_udtf(_Match, returnType="event_id string, subscription_id string")
    spark.udtf.register(name, function)


class _Match:
    def eval(self, events: pa.RecordBatch, path: Any) -> Iterator[pa.Table]:
        root = located(path[0].as_py() if isinstance(path, pa.Array | pa.ChunkedArray) else str(path))
        served = serve(root, task_version(root))
        names = events.schema.names
        if "event_id" not in names:
            raise EventError(f"the table has no column event_id; it has {', '.join(names)}")
        wanted = ["event_id", "attributes"] if "attributes" in names else ["event_id", *names]
        batch = pa.RecordBatch.from_pydict({name: events.column(name) for name in wanted})
        is_json = "attributes" in names and pt.is_string(batch.column(1).type)
        arrays, _ = encoded(batch, is_json, served.attributes, served.schema)
        ids = batch.column(0).cast(pa.string())
        for shard, positions in served.concerned(arrays):
            start, subscriptions = served.match(shard, chosen(arrays, positions))
            found = np.repeat(positions, np.diff(start))
            yield pa.table({
                "event_id": ids.take(pa.array(found)), "subscription_id": subscriptions.cast(pa.string()),
            })  # fmt: skip
