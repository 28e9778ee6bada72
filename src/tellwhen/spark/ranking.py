"""Rankings: the best k subscriptions of each event, as (event_id, rank, subscription_id, score).

    local     a worker ranks the best k of every shard, and takes the best k of these
    routed    every shard ranks its best k by itself; a shuffle by event brings them together for the best k of all

No more than k subscriptions of an event ever leave a shard. Equal scores are ranked by shard and slot, as after
`Index.load`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DoubleType, IntegerType, StructField, StructType

from tellwhen.engines.shared.top_k import validate_k, validate_weight_factors
from tellwhen.errors import ArgumentError, SchemaError
from tellwhen.kernels.arrays import F64, I32, I64, Events
from tellwhen.spark.columns import get_column, get_id_type
from tellwhen.spark.matches import Plan, Query
from tellwhen.spark.version_cache import OpenVersion
from tellwhen.spark.workers import UNDEFINED, Finder, PackedFinder, RowFinder
from tellwhen.warehouse.versions import Version

KEY, ID = "key", "id"
"""Fields of a packed event: a unique key, since several events may have the same id, and the id."""

SHARD, SLOT = "_shard", "_slot"

RESULT_COLUMNS = ("rank", "subscription_id", "score")
"""Columns of the result after the event id."""

HIDDEN_COLUMNS = (SHARD, SLOT, UNDEFINED)
"""Columns that are dropped from the result."""


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
    """Rank the best k subscriptions of each event.

    Parameters
    ----------
    events, path, event_id, attributes, plan, version, observe
        As for `match`. A stream is ranked by the local plan only.
    k
        The number of subscriptions for each event.
    relaxed
        Rank partly true expressions, too, as `Index.top_k` does. Every worker builds the index for relaxed matching
        when it first uses it.
    weights
        Factors by attribute for relaxed ranking.

    Returns
    -------
    DataFrame
        The best subscriptions (event_id, rank, subscription_id, score); the highest score has rank 1.

    Raises
    ------
    ArgumentError
        If `k` is not positive, or the plan of a stream is routed.

    Examples
    --------
    >>> best = tws.top_k(events, "warehouse/index", k=10)  # doctest: +SKIP
    """
    valid_weights, k = validate_weight_factors(weights, relaxed), validate_k(k)
    if event_id in RESULT_COLUMNS or event_id in HIDDEN_COLUMNS:
        raise SchemaError(f"the result has another column {event_id}: rename the column of the event ids")
    factors = valid_weights if relaxed else None
    finders = partial(_RowRanking, k=k, factors=factors), partial(_PackedRanking, k=k, factors=factors)
    query = Query(events, path, event_id, attributes, plan, version, observe)
    columns = get_column(event_id), *RESULT_COLUMNS
    if query.plan == "local":
        found = query.run(*finders, _make_result_type(event_id, query.kind, query.version), relaxed)
        return found.where(F.col("rank").isNotNull()).select(*columns)
    if events.isStreaming:
        raise ArgumentError(
            "top_k of a stream needs the local plan, with an index that every machine can hold; with a larger index, "
            "call top_k for every micro-batch in foreachBatch"
        )
    first = query.frame.columns[0]
    key = F.struct(F.monotonically_increasing_id().alias(KEY), F.col(first).alias(ID))
    query.frame = query.frame.withColumn(first, key)
    found = query.run(*finders, _make_result_type(event_id, query.kind, query.version), relaxed)
    event = get_column(event_id)
    best = Window.partitionBy(event[KEY]).orderBy(F.col("score").desc(), SHARD, SLOT)
    met = found.where(F.col("rank").isNotNull()).withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return met.withColumn(event_id, event[ID]).select(*columns)


def _make_result_type(event_id: str, kind: DataType, version: Version) -> StructType:
    return StructType([
        StructField(event_id, kind),
        StructField("rank", IntegerType()),
        StructField("subscription_id", get_id_type(version.ids)),
        StructField("score", DoubleType()),
        StructField(SHARD, IntegerType()),
        StructField(SLOT, IntegerType()),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip


class _Ranking(Finder):
    """Finder of the best k subscriptions of events."""

    def __init__(self, *args: Any, k: int, factors: Mapping[str, float] | None) -> None:
        super().__init__(*args)
        self._k, self._factors = k, factors
        self.needs_all_shards = factors is not None

    @property
    def _names(self) -> list[str]:
        return [self._event_id, *RESULT_COLUMNS, *HIDDEN_COLUMNS]

    def make_undefined_count_row(self, count: int, id_type: pa.DataType, opened: OpenVersion) -> pa.RecordBatch:
        ids = pa.string() if opened.version.ids == "str" else pa.int64()
        kinds = [id_type, pa.int32(), ids, pa.float64(), pa.int32(), pa.int32()]
        columns = [*(pa.nulls(1, type_) for type_ in kinds), pa.array([count], pa.int32())]
        return pa.RecordBatch.from_arrays(columns, self._names)

    def find(
        self, opened: OpenVersion, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        ranking = rank_shards(opened, shards, self._k, self._factors)
        if ranking is not None:
            yield pa.RecordBatch.from_arrays(
                [
                    ids.take(pa.array(ranking.position)),
                    pa.array(ranking.rank.astype(np.int32)),
                    ranking.subscription_id,
                    pa.array(ranking.score),
                    pa.array(ranking.shard.astype(np.int32)),
                    pa.array(ranking.slot),
                    pa.nulls(len(ranking.rank), pa.int32()),
                ],
                self._names,
            )


class _RowRanking(_Ranking, RowFinder):
    """Finder of the best k, for the local plan."""


class _PackedRanking(_Ranking, PackedFinder):
    """Finder of the best k, for the routed plan."""


class ShardRanking(NamedTuple):
    """The best k subscriptions of events, by event and rank."""

    position: I64  # |0|0|2|  of the event
    rank: I64  # |1|2|1|
    subscription_id: pa.Array
    score: F64
    shard: I64
    slot: I32


def rank_shards(
    opened: OpenVersion, shards: Iterator[tuple[int, Events, I64]], k: int, factors: Mapping[str, float] | None = None
) -> ShardRanking | None:
    """Rank the best k of each event in the shards that it meets; return None if there are no shards."""
    parts = []
    for number, events, positions in shards:
        best = opened.rank(number, events, k, factors)
        events_of_slots, numbers = np.repeat(positions, np.diff(best.start)), np.full(len(best.slot), number)
        parts.append((events_of_slots, best.score, numbers, best.slot, opened.get_ids(number, best.slot)))
    if not parts:
        return None
    position, score, shard, slot = (np.concatenate([part[field] for part in parts]) for field in range(4))
    order = np.lexsort((slot, shard, -score, position))
    position = position[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = position[1:] != position[:-1]
    first = np.flatnonzero(is_first)
    rank = np.arange(1, len(order) + 1) - np.repeat(first, np.diff(np.append(first, len(order))))
    is_among_best = rank <= k
    order = order[is_among_best]
    ids = pa.concat_arrays([part[4] for part in parts]).take(pa.array(order))
    return ShardRanking(position[is_among_best], rank[is_among_best], ids, score[order], shard[order], slot[order])
