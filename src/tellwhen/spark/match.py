"""Events x an index -> (event, subscription), on executors that map the shards into memory.

Two plans with equal results:

    local     every worker opens all shards and matches its own events     no event moves
    routed    an event goes to workers that have the shards it concerns    for an index that no machine could hold

In both an event meets only the shards whose pivots it carries.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType

from tellwhen.compile.csr import gather
from tellwhen.errors import TellwhenError
from tellwhen.kernels.arrays import I64, Events
from tellwhen.kernels.encode import find_plain
from tellwhen.spark.events import encoded, prepare
from tellwhen.spark.ingest import quoted
from tellwhen.spark.serving import Served, serve, task_version
from tellwhen.spark.tasks import cores
from tellwhen.spark.warehouse import Version, located, read_version

Plan = Literal["auto", "local", "routed"]
LOCAL = 8 << 30
"""Bytes of an index that every machine is trusted to hold in its page cache."""

ROWS = 1 << 20
"""Matches handed to Spark at a time, or those of a single event if it has more."""

ENTRY = np.dtype([("line", "<i4"), ("point", "<i8")])
"""An entry of an event on its way to a shard. DataFrames have no intervals, so a point is all there is."""

log = logging.getLogger("tellwhen.spark")


def match(
    events: DataFrame,
    path: str | os.PathLike[str],
    *,
    event_id: str = "event_id",
    attributes: str | Sequence[str] | None = "attributes",
    plan: Plan = "auto",
    version: int | None = None,
    observe: str | Observation | None = None,
    explain: bool = False,
) -> DataFrame:
    """The matches of all events, as (event_id, subscription_id); `attributes` as in `tellwhen.spark.events`.

    A batch is matched with the version that is current now, or the one given. A stream takes the version that is
    current at the start of each micro-batch. Values of a wrong type are undefined; they are counted in the observed
    metric `undefined`, under the name `observe` ("tellwhen" for a stream). With `explain` the plan is printed.
    """
    root = located(path)
    found = read_version(root, version)
    name, why = choose(found, plan)
    text = f"{name} plan, {why}: {described(found)}"
    log.info("%s", text)
    if explain:
        print(text)
    prepared = prepare(events, event_id, attributes, found.schema)
    number = None if events.isStreaming and version is None else found.version
    if observe is None:  # a name may occur once in a query, which may match several times
        observe = "tellwhen" if events.isStreaming else f"tellwhen-{uuid.uuid4().hex}"
    # A row for an event and all it satisfies in a shard: far fewer rows to hand over and to observe than matches.
    schema = StructType([
        StructField(event_id, prepared.frame.schema[0].dataType),
        StructField(SUBSCRIPTIONS, ArrayType(StringType() if found.ids == "str" else LongType())),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip
    if name == "local":
        matched = prepared.frame.mapInArrow(_Local(root, number, prepared.is_json, event_id), schema)
    else:
        packed = StructType([
            StructField("shard", IntegerType()),
            StructField("event", prepared.frame.schema[0].dataType),
            StructField("entries", BinaryType()),
            StructField(UNDEFINED, IntegerType()),
        ])  # fmt: skip
        count = max(len(found.shards), cores(events.sparkSession))
        sent = prepared.frame.mapInArrow(_Sending(root, number, prepared.is_json), packed).repartition(count, "shard")
        matched = sent.mapInArrow(_Arriving(root, number, event_id), schema)
    counted = matched.observe(observe, F.coalesce(F.sum(UNDEFINED), F.lit(0)).alias("undefined"))
    return counted.select(F.col(quoted(event_id)), F.explode(SUBSCRIPTIONS).alias("subscription_id"))


def matching(path: str | os.PathLike[str], **options: object) -> Callable[[DataFrame], DataFrame]:
    """For `events.transform(matching(path))`."""
    return lambda events: match(events, path, **options)  # type: ignore[arg-type]


def choose(version: Version, plan: Plan) -> tuple[str, str]:
    """The plan, and why."""
    if plan == "auto":
        size = f"the index has {version.bytes / 1e6:,.0f} MB"
        if version.bytes <= LOCAL:
            return "local", f"because {size}, which every machine can hold"
        return "routed", f"because {size}, too much for every machine to hold"
    if plan not in ("local", "routed"):
        raise TellwhenError(f"there is no plan {plan!r}; there are auto, local and routed")
    return plan, "as asked for"


def described(version: Version) -> str:
    """One line about an index."""
    return (
        f"version {version.version}, {version.subscriptions:,} subscriptions in {len(version.shards)} shards, "
        f"engine {version.engine}, largest shard {version.balance:.2f} of the mean"
    )


ENTRIES = 1 << 22
"""Entries of events sent at a time."""

SUBSCRIPTIONS, UNDEFINED = "_subscriptions", "_undefined"


PACKED = ["shard", "event", "entries", UNDEFINED]


class _Worker:
    """What both plans need on an executor."""

    def __init__(self, root: Path, number: int | None) -> None:
        self._root, self._number = root, number

    def served(self) -> Served:
        return serve(self._root, task_version(self._root) if self._number is None else self._number)


class _Local(_Worker):
    def __init__(self, root: Path, number: int | None, is_json: bool, event_id: str) -> None:
        super().__init__(root, number)
        self._is_json, self._event_id = is_json, event_id

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        served = None
        for batch in batches:
            served = served or self.served()
            events, mismatches = encoded(batch, self._is_json, served.attributes, served.schema)
            ids = batch.column(0)
            yield from _undefined(mismatches, ids.type, served, self._event_id)
            for shard, positions in served.concerned(events):
                mine = events if len(positions) == len(ids) else chosen(events, positions)
                yield from _rows(ids.take(pa.array(positions)), *served.match(shard, mine), self._event_id)


class _Sending(_Worker):
    """Events packed for the shards they concern."""

    def __init__(self, root: Path, number: int | None, is_json: bool) -> None:
        super().__init__(root, number)
        self._is_json = is_json

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        served = None
        for batch in batches:
            served = served or self.served()
            events, mismatches = encoded(batch, self._is_json, served.attributes, served.schema)
            if mismatches:
                note = [pa.array([0], pa.int32()), pa.nulls(1, batch.column(0).type), pa.nulls(1, pa.binary())]
                note.append(pa.array([sum(mismatches.values())], pa.int32()))
                yield pa.RecordBatch.from_arrays(note, PACKED)
            positions, shards = served.routed(events)
            # In pieces: the bytes of one column must stay below 2 GiB, whatever the events are like.
            total = np.cumsum(np.diff(events.start)[positions])
            cuts = np.arange(ENTRIES, total[-1] if len(total) else 0, ENTRIES)
            pieces = np.searchsorted(total, cuts)
            for mine, numbers in zip(np.split(positions, pieces), np.split(shards, pieces), strict=True):
                columns = [pa.array(numbers, pa.int32()), batch.column(0).take(pa.array(mine)), packed(events, mine)]
                columns.append(pa.array(np.zeros(len(mine), dtype=np.int32)))
                yield pa.RecordBatch.from_arrays(columns, PACKED)


class _Arriving(_Worker):
    """Packed events matched with the shards they were sent to."""

    def __init__(self, root: Path, number: int | None, event_id: str) -> None:
        super().__init__(root, number)
        self._event_id = event_id

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        served = None
        for batch in batches:
            served = served or self.served()
            shards = batch.column(0).to_numpy()
            noted = sum(batch.column(3).to_pylist())
            if noted:
                yield from _undefined({"": noted}, batch.column(1).type, served, self._event_id)
            for shard in np.unique(shards).tolist():
                mine = pa.array(np.flatnonzero((shards == shard) & batch.column(2).is_valid().to_numpy(False)))
                events = unpacked(batch.column(2).take(mine))
                yield from _rows(batch.column(1).take(mine), *served.match(shard, events), self._event_id)


def chosen(events: Events, positions: I64) -> Events:
    """The events at these positions."""
    start, which = gather(events.start, positions)
    point = events.low[which]
    return Events(start, events.line[which], point, point, events.plain[positions])


def packed(events: Events, positions: I64) -> pa.Array:
    """The entries of the events at these positions, as bytes."""
    start, line, point, _, _ = chosen(events, positions)
    entries = np.empty(len(line), dtype=ENTRY)
    entries["line"], entries["point"] = line, point
    offsets = (start * ENTRY.itemsize).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(positions), [None, pa.py_buffer(offsets), pa.py_buffer(entries.tobytes())]
    )


def unpacked(column: pa.BinaryArray) -> Events:
    """The events back."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    entries = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]].view(ENTRY)
    start = (bounds - bounds[0]) // ENTRY.itemsize
    line, point = (np.ascontiguousarray(entries[name]) for name in ("line", "point"))
    plain = np.empty(len(column), dtype=np.uint8)
    find_plain(start, line, plain)
    return Events(start, line, point, point, plain)


def _undefined(
    mismatches: Mapping[str, int], kind: pa.DataType, served: Served, event_id: str
) -> Iterator[pa.RecordBatch]:
    """A row without a match that carries the count of undefined values; nothing is left of it after the explosion."""
    if mismatches:
        lists = pa.nulls(1, pa.list_(pa.string() if served.version.ids == "str" else pa.int64()))
        count = pa.array([sum(mismatches.values())], pa.int32())
        yield pa.RecordBatch.from_arrays([pa.nulls(1, kind), lists, count], [event_id, SUBSCRIPTIONS, UNDEFINED])


def _rows(ids: pa.Array, start: I64, subscriptions: pa.Array, event_id: str) -> Iterator[pa.RecordBatch]:
    """The events that match anything, with all that they match."""
    some = np.flatnonzero(np.diff(start))
    bounds = np.append(start[some], start[-1])
    at = 0
    while at < len(some):
        end = max(at + 1, int(np.searchsorted(bounds, bounds[at] + ROWS, side="right")) - 1)
        values = subscriptions.slice(bounds[at], bounds[end] - bounds[at])
        lists = pa.ListArray.from_arrays(pa.array((bounds[at : end + 1] - bounds[at]).astype(np.int32)), values)
        columns = [ids.take(pa.array(some[at:end])), lists, pa.nulls(end - at, pa.int32())]
        yield pa.RecordBatch.from_arrays(columns, [event_id, SUBSCRIPTIONS, UNDEFINED])
        at = end
