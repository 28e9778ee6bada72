"""Matching in SQL: `SELECT * FROM tellwhen_match(TABLE(events), 'warehouse/index')`, and `tellwhen_top_k(..., k)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.pandas.types import from_arrow_type

from tellwhen.containers.batches import select_events
from tellwhen.engines.shared.top_k import validate_k
from tellwhen.errors import EventError, FormatError
from tellwhen.kernels.arrays import Events
from tellwhen.spark.events import Form, encoded, refuse_clashes
from tellwhen.spark.matcher import pieces
from tellwhen.spark.ranking import best_of
from tellwhen.spark.version_cache import Served, serve, task_version
from tellwhen.warehouse.versions import located

NAME, TOP_K = "tellwhen_match", "tellwhen_top_k"


def register(spark: SparkSession, name: str = NAME, top_k: str = TOP_K) -> None:
    """Make the table functions known to the session: `match`, and `top_k`, which takes k as well.

    Each takes a table with a column `event_id`, and either a column `attributes` (a map, a struct or JSON) or a column
    for each attribute; and the path of an index, an absolute one on a cluster. Both ids are returned as strings,
    because a table function has one result type. Values of a wrong type are undefined; a table function cannot report
    how many there were.
    """
    function: Any = arrow_udtf(_Match, returnType="event_id string, subscription_id string")
    spark.udtf.register(name, function)
    ranked: Any = arrow_udtf(_TopK, returnType="event_id string, rank int, subscription_id string, score double")
    spark.udtf.register(top_k, ranked)


class _Match:
    """The table function: Spark calls `eval` with batches of the table."""

    def eval(self, events: pa.RecordBatch, path: Any) -> Iterator[pa.Table]:
        served, arrays, ids = _opened(events, path)
        for shard, positions in served.concerned(arrays):
            start, slots = served.match(shard, select_events(arrays, positions))
            for first, last in pieces(start):
                found = np.repeat(positions[first:last], np.diff(start[first : last + 1]))
                subscriptions = served.ids(shard, slots[start[first] : start[last]])
                yield pa.table({
                    "event_id": ids.take(pa.array(found)), "subscription_id": subscriptions.cast(pa.string()),
                })  # fmt: skip


class _TopK:
    """The same for the best k."""

    def eval(self, events: pa.RecordBatch, path: Any, k: Any) -> Iterator[pa.Table]:
        count = validate_k(_constant(k))
        served, arrays, ids = _opened(events, path)
        shards = ((shard, select_events(arrays, positions), positions) for shard, positions in served.concerned(arrays))
        for position, rank, subscriptions, score, _, _ in best_of(served, shards, count):
            columns = [ids.take(pa.array(position)), pa.array(rank.astype(np.int32)), subscriptions.cast(pa.string())]
            yield pa.table([*columns, pa.array(score)], names=["event_id", "rank", "subscription_id", "score"])


def _constant(given: Any) -> Any:
    """An argument that is the same for all rows."""
    return given[0].as_py() if isinstance(given, pa.Array | pa.ChunkedArray) else given


def _opened(events: pa.RecordBatch, path: Any) -> tuple[Served, Events, pa.Array]:
    """The index, the events as it knows them, and their ids as strings."""
    given = _constant(path)
    if not isinstance(given, str):
        raise FormatError(f"the path of an index is a string, not {given}")
    root = located(given)
    served = serve(root, task_version(root))
    served.renew()
    batch, form = _selected(events, served.version.schema.types)
    arrays, _ = encoded(batch, form, served.attributes, served.schema)
    return served, arrays, batch.column(0).cast(pa.string())


def _selected(events: pa.RecordBatch, types: Mapping[str, Any]) -> tuple[pa.RecordBatch, Form]:
    """The ids first, then the attributes: a column of them, or all other columns."""
    names = events.schema.names
    if "event_id" not in names:
        raise EventError(f"the table has no column event_id; it has {', '.join(names)}")
    if "attributes" in names:
        form = _form(events.schema.field("attributes").type)
        chosen = ["attributes"]
    else:
        chosen = [name for name in names if name != "event_id"]
        form = Form("columns", chosen)
    batch = events.select(["event_id", *chosen])
    if form.kind in ("columns", "struct"):
        fields = list(batch.schema.field(1).type) if form.kind == "struct" else list(batch.schema)[1:]
        refuse_clashes(form.names, [from_arrow_type(field.type) for field in fields], types)
    return batch, form


def _form(kind: pa.DataType) -> Form:
    """How to read a column of attributes of this type."""
    inner = kind.item_type if pt.is_map(kind) else kind
    if pt.is_struct(inner) and {field.name for field in inner} == {"value", "metadata"}:
        raise EventError(
            "the attributes are variants, which do not reach a table function; give it to_json(attributes)"
        )
    if pt.is_struct(kind):
        return Form("struct", [field.name for field in kind])
    if pt.is_map(kind):
        return Form("map", ["attributes"])
    if pt.is_string(kind):
        return Form("json", [])
    raise EventError(f"the column attributes is {kind}; it must be a map, a struct or JSON")
