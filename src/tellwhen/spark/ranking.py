"""Events x an index -> (event_id, rank, subscription_id, score): the best k of each event.

    local     a worker takes the best k of every shard, and the best k of these
    routed    so does every shard by itself; of these at most k an event, the best k are taken where they meet

No more than k subscriptions of an event ever leave a shard. Equal scores are ranked by shard and slot: the order in
which `Index.load` has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DoubleType, IntegerType, StructField, StructType

from tellwhen.engines.shared.top_k import validate_k, validate_weight_factors
from tellwhen.errors import SchemaError, TellwhenError
from tellwhen.kernels.arrays import F64, I32, I64, Events
from tellwhen.spark.columns import column, id_type
from tellwhen.spark.matcher import Plan, Query
from tellwhen.spark.version_cache import Served
from tellwhen.spark.workers import UNDEFINED, Arriving, Finder, Local
from tellwhen.warehouse.versions import Version

KEY, ID = "key", "id"
"""Of an event on its way to shards: what tells it from others with the same id, and that id."""

SHARD, SLOT = "_shard", "_slot"

RESULT, HIDDEN = ("rank", "subscription_id", "score"), (SHARD, SLOT, UNDEFINED)
"""Columns besides the event's id: of the result, and on the way to it."""


def top_k(
    events: DataFrame,
    path: str | os.PathLike[str],
    k: int = 10,
    *,
    relaxed: bool = False,
    weights: Mapping[str, float] | None = None,
    event_id: str = "event_id",
    attributes: str | Sequence[str] | None = "attributes",
    plan: Plan = "auto",
    version: int | None = None,
    observe: str | Observation | None = None,
) -> DataFrame:
    """The best k subscriptions of each event, as (event_id, rank, subscription_id, score); all else as in `match`.

    The highest score has rank 1. `relaxed` and `weights` are those of `Index.top_k`; every worker builds an index for
    relaxed matching when it needs one. A stream is ranked by the local plan only.
    """
    given, k = validate_weight_factors(weights, relaxed), validate_k(k)
    if event_id in RESULT or event_id in HIDDEN:
        raise SchemaError(f"the result has a column {event_id} of its own: rename that of the event ids")
    factors = given if relaxed else None
    finders = partial(_Local, k=k, factors=factors), partial(_Arriving, k=k, factors=factors)
    query = Query(events, path, event_id, attributes, plan, version, observe)
    columns = column(event_id), *RESULT
    if query.plan == "local":
        found = query.run(*finders, _ranked(event_id, query.kind, query.version), relaxed)
        return found.where(F.col("rank").isNotNull()).select(*columns)
    if events.isStreaming:
        raise TellwhenError(
            "top_k of a stream takes the local plan, which needs an index that every machine can hold; with a larger "
            "one, call top_k for every micro-batch in foreachBatch"
        )
    first = query.frame.columns[0]
    key = F.struct(F.monotonically_increasing_id().alias(KEY), F.col(first).alias(ID))
    query.frame = query.frame.withColumn(first, key)
    found = query.run(*finders, _ranked(event_id, query.kind, query.version), relaxed)
    event = column(event_id)
    best = Window.partitionBy(event[KEY]).orderBy(F.col("score").desc(), SHARD, SLOT)
    met = found.where(F.col("rank").isNotNull()).withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return met.withColumn(event_id, event[ID]).select(*columns)


def _ranked(event_id: str, kind: DataType, version: Version) -> StructType:
    return StructType([
        StructField(event_id, kind),
        StructField("rank", IntegerType()),
        StructField("subscription_id", id_type(version.ids)),
        StructField("score", DoubleType()),
        StructField(SHARD, IntegerType()),
        StructField(SLOT, IntegerType()),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip


class _Ranking(Finder):
    """The best k."""

    def __init__(self, *given: Any, k: int, factors: Mapping[str, float] | None) -> None:
        super().__init__(*given)
        self._k, self._factors = k, factors
        self.asks_all = factors is not None

    @property
    def _names(self) -> list[str]:
        return [self._event_id, *RESULT, *HIDDEN]

    def noted(self, count: int, kind: pa.DataType, served: Served) -> pa.RecordBatch:
        ids = pa.string() if served.version.ids == "str" else pa.int64()
        kinds = [kind, pa.int32(), ids, pa.float64(), pa.int32(), pa.int32()]
        columns = [*(pa.nulls(1, type_) for type_ in kinds), pa.array([count], pa.int32())]
        return pa.RecordBatch.from_arrays(columns, self._names)

    def found(
        self, served: Served, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        for position, rank, subscriptions, score, shard, slot in best_of(served, shards, self._k, self._factors):
            yield pa.RecordBatch.from_arrays(
                [
                    ids.take(pa.array(position)),
                    pa.array(rank.astype(np.int32)),
                    subscriptions,
                    pa.array(score),
                    pa.array(shard.astype(np.int32)),
                    pa.array(slot),
                    pa.nulls(len(rank), pa.int32()),
                ],
                self._names,
            )


class _Local(_Ranking, Local):
    """In all shards."""


class _Arriving(_Ranking, Arriving):
    """In the shards that events were sent to."""


def best_of(
    served: Served, shards: Iterator[tuple[int, Events, I64]], k: int, factors: Mapping[str, float] | None = None
) -> Iterator[tuple[I64, I64, pa.Array, F64, I64, I32]]:
    """The best k of each event in some shards, if there are any: the positions of events, the ranks, the ids of
    subscriptions, their scores, shards and slots."""
    parts = []
    for number, events, positions in shards:
        found = served.best(number, events, k, factors)
        where, numbers = np.repeat(positions, np.diff(found.start)), np.full(len(found.slot), number)
        parts.append((where, found.score, numbers, found.slot, served.ids(number, found.slot)))
    if not parts:
        return
    position, score, shard, slot = (np.concatenate([part[field] for part in parts]) for field in range(4))
    order = np.lexsort((slot, shard, -score, position))
    position = position[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = position[1:] != position[:-1]
    first = np.flatnonzero(is_first)
    rank = np.arange(1, len(order) + 1) - np.repeat(first, np.diff(np.append(first, len(order))))
    kept = rank <= k
    order = order[kept]
    ids = pa.concat_arrays([part[4] for part in parts]).take(pa.array(order))
    yield position[kept], rank[kept], ids, score[order], shard[order], slot[order]
