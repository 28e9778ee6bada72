"""SQL table functions: `SELECT * FROM tellwhen_match(TABLE(events), 'warehouse/index')`, and `tellwhen_top_k`."""

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
from tellwhen.spark.events import Form, encode_batch, refuse_clashes
from tellwhen.spark.matches import MATCHES_PER_BATCH, split_matches
from tellwhen.spark.ranking import rank_shards
from tellwhen.spark.version_cache import OpenVersion, choose_task_version, get_open_version
from tellwhen.warehouse.versions import locate_index

MATCH_NAME, TOP_K_NAME = "tellwhen_match", "tellwhen_top_k"


def register_functions(spark: SparkSession, name: str = MATCH_NAME, top_k: str = TOP_K_NAME) -> None:
    """Register the table functions for matching and ranking in a session.

    Both functions take a table and the path of an index, an absolute one on a cluster; the second one also takes k. The
    table has a column `event_id`, and either a column `attributes` (a map, a struct or JSON) or a column for each
    attribute. Both ids of the result are strings, because a table function has one result type. Values of a wrong type
    are undefined; a table function cannot report their number.

    Parameters
    ----------
    spark
        The session.
    name, top_k
        The names of the functions.

    Examples
    --------
    >>> tws.register_functions(spark)  # doctest: +SKIP
    >>> spark.sql("SELECT * FROM tellwhen_match(TABLE(events), '/warehouse/index')")  # doctest: +SKIP
    """
    match_function: Any = arrow_udtf(_Match, returnType="event_id string, subscription_id string")
    spark.udtf.register(name, match_function)
    result = "event_id string, rank int, subscription_id string, score double"
    top_k_function: Any = arrow_udtf(_TopK, returnType=result)
    spark.udtf.register(top_k, top_k_function)


class _Match:
    """Table function of all matches: Spark calls `eval` with batches of the table."""

    def eval(self, events: pa.RecordBatch, path: Any) -> Iterator[pa.Table]:
        opened, arrays, ids = _encode_events(events, path)
        for shard, positions in opened.group_by_shard(arrays):
            start, slots = opened.match(shard, select_events(arrays, positions))
            for first, last in split_matches(start, MATCHES_PER_BATCH):
                matching = np.repeat(positions[first:last], np.diff(start[first : last + 1]))
                subscriptions = opened.get_ids(shard, slots[start[first] : start[last]])
                yield pa.table({
                    "event_id": ids.take(pa.array(matching)), "subscription_id": subscriptions.cast(pa.string()),
                })  # fmt: skip


class _TopK:
    """Table function of the best k."""

    def eval(self, events: pa.RecordBatch, path: Any, k: Any) -> Iterator[pa.Table]:
        count = validate_k(_get_constant(k))
        opened, arrays, ids = _encode_events(events, path)
        shards = (
            (shard, select_events(arrays, positions), positions) for shard, positions in opened.group_by_shard(arrays)
        )
        ranking = rank_shards(opened, shards, count)
        if ranking is not None:
            yield pa.table({
                "event_id": ids.take(pa.array(ranking.position)),
                "rank": pa.array(ranking.rank.astype(np.int32)),
                "subscription_id": ranking.subscription_id.cast(pa.string()),
                "score": pa.array(ranking.score),
            })  # fmt: skip


def _get_constant(argument: Any) -> Any:
    """Return an argument that is the same for all rows."""
    return argument[0].as_py() if isinstance(argument, pa.Array | pa.ChunkedArray) else argument


def _encode_events(events: pa.RecordBatch, path: Any) -> tuple[OpenVersion, Events, pa.Array]:
    """Open the index; return it, the encoded events, and their ids as strings."""
    text = _get_constant(path)
    if not isinstance(text, str):
        raise FormatError(f"the path of an index is a string, not {text}")
    root = locate_index(text)
    opened = get_open_version(root, choose_task_version(root))
    opened.renew_lease()
    batch, form = _select_columns(events, opened.version.schema.types)
    arrays, _ = encode_batch(batch, form, opened.attributes, opened.schema)
    return opened, arrays, batch.column(0).cast(pa.string())


def _select_columns(events: pa.RecordBatch, types: Mapping[str, Any]) -> tuple[pa.RecordBatch, Form]:
    """Select the ids and then the attributes: the column `attributes`, or all other columns."""
    names = events.schema.names
    if "event_id" not in names:
        raise EventError(f"the table has no column event_id; it has {', '.join(names)}")
    if "attributes" in names:
        form = _find_form(events.schema.field("attributes").type)
        columns = ["attributes"]
    else:
        columns = [name for name in names if name != "event_id"]
        form = Form("columns", columns)
    batch = events.select(["event_id", *columns])
    if form.kind in ("columns", "struct"):
        fields = list(batch.schema.field(1).type) if form.kind == "struct" else list(batch.schema)[1:]
        refuse_clashes(form.names, [from_arrow_type(field.type) for field in fields], types)
    return batch, form


def _find_form(kind: pa.DataType) -> Form:
    """Return the form of attributes in a column of this type."""
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
