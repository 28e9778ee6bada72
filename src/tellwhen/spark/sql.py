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
        batch = _selected(events)
        is_json = "attributes" in batch.schema.names and pt.is_string(batch.column("attributes").type)
        arrays, _ = encoded(batch, is_json, served.attributes, served.schema)
        ids = batch.column(0).cast(pa.string())
        for shard, positions in served.concerned(arrays):
            start, subscriptions = served.match(shard, chosen(arrays, positions))
            found = np.repeat(positions, np.diff(start))
            yield pa.table({
                "event_id": ids.take(pa.array(found)), "subscription_id": subscriptions.cast(pa.string()),
            })  # fmt: skip


def _selected(events: pa.RecordBatch) -> pa.RecordBatch:
    """The ids first, then the attributes: a column of them, the fields of a struct, or all other columns."""
    ids = events.column("event_id")
    if "attributes" not in events.schema.names:
        rest = [name for name in events.schema.names if name != "event_id"]
        return pa.RecordBatch.from_arrays([ids, *map(events.column, rest)], ["event_id", *rest])
    column = events.column("attributes")
    kind = column.type.item_type if pt.is_map(column.type) else column.type
    if pt.is_struct(kind) and {field.name for field in kind} == {"value", "metadata"}:
        raise EventError(
            "the attributes are variants, which do not reach a table function; give it to_json(attributes)"
        )
    if pt.is_struct(column.type):
        fields = [field.name for field in column.type]
        return pa.RecordBatch.from_arrays([ids, *column.flatten()], ["event_id", *fields])
    return pa.RecordBatch.from_arrays([ids, column], ["event_id", "attributes"])
