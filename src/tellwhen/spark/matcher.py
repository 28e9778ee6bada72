"""Events x an index -> (event_id, subscription_id), on executors that map the shards into memory.

Two plans with equal results:

    local     every worker opens all shards and matches its own events     no event moves
    routed    an event goes to workers that have the shards it meets       for an index that no machine could hold

In both an event meets only the shards with a subscription that it may satisfy (`warehouse/routes.py`).
"""

from __future__ import annotations

import logging
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StructField, StructType

from tellwhen.containers.batches import chosen, single_valued
from tellwhen.errors import TellwhenError
from tellwhen.kernels.arrays import I64, Events
from tellwhen.spark.columns import column, id_type
from tellwhen.spark.events import Form, encoded, prepare
from tellwhen.spark.serving import Served, serve, task_version
from tellwhen.spark.tasks import cores, mapped
from tellwhen.warehouse.leases import lease
from tellwhen.warehouse.versions import Version, located, read_version

Plan = Literal["auto", "local", "routed"]

LOCAL_MAX_BYTES = 8 << 30
"""The size of an index that every machine is trusted to hold in its page cache."""

MATCHES_PER_BATCH = 1 << 20
"""Matches handed to Spark at a time, or those of a single event if it has more."""

ENTRIES_PER_BATCH = 1 << 22
"""Entries of events sent at a time: the bytes of one Arrow column must stay below 2 GiB."""

ENTRY = np.dtype([("domain", "<i4"), ("point", "<i8")])
"""An entry of an event on its way to a shard. DataFrames have no intervals, so a point is all there is."""

SUBSCRIPTIONS, UNDEFINED = "_subscriptions", "_undefined"

PACKED = ["shard", "event", "entries", UNDEFINED]

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
) -> DataFrame:
    """The matches of all events, as (event_id, subscription_id); `attributes` as in `tellwhen.spark.events`.

    A batch is matched with the version that is current now, or the one given. A stream takes the version that is
    current at the start of each micro-batch. Values of a wrong type are undefined; they are counted in the observed
    metric `undefined`, under the name `observe` ("tellwhen" for a stream). The plan and why it was chosen are logged;
    `explain` returns them.
    """
    root = located(path)
    found = read_version(root, version)
    name, why = choose(found, plan)
    log.info("%s", _told(found, name, why))
    frame, form = prepare(events, event_id, attributes, found.schema)
    number = None if events.isStreaming and version is None else found.version
    if number is not None:
        lease(root, number)  # until the first task renews it
    if observe is None:  # a name may occur once in a query, which may match several times
        observe = "tellwhen" if events.isStreaming else f"tellwhen-{uuid.uuid4().hex}"
    kind = frame.schema[0].dataType
    worker = root, number, form, event_id
    schema = _matched(event_id, kind, found)
    if name == "local":
        matched = mapped(frame, _Local(*worker), schema)
    else:
        count = max(len(found.shards), cores(events.sparkSession))
        sent = mapped(frame, _Sending(*worker), _packed_event(kind)).repartition(count, "shard")
        matched = mapped(sent, _Arriving(*worker), schema)
    counted = matched.observe(observe, F.coalesce(F.sum(UNDEFINED), F.lit(0)).alias("undefined"))
    return counted.select(column(event_id), F.explode(SUBSCRIPTIONS).alias("subscription_id"))


def _matched(event_id: str, kind: DataType, version: Version) -> StructType:
    """A row for an event and all that it satisfies in a shard: far fewer rows to hand over than matches."""
    return StructType([
        StructField(event_id, kind),
        StructField(SUBSCRIPTIONS, ArrayType(id_type(version.ids))),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip


def _packed_event(kind: DataType) -> StructType:
    kinds = [IntegerType(), kind, BinaryType(), IntegerType()]
    return StructType([StructField(name, type_) for name, type_ in zip(PACKED, kinds, strict=True)])


def matching(path: str | os.PathLike[str], **options: object) -> Callable[[DataFrame], DataFrame]:
    """`match` for `events.transform(matching(path))`."""
    return lambda events: match(events, path, **options)  # type: ignore[arg-type]


def explain(path: str | os.PathLike[str], *, plan: Plan = "auto", version: int | None = None) -> str:
    """In one line: how `match` would match with this index, and why."""
    found = read_version(path, version)
    return _told(found, *choose(found, plan))


def choose(version: Version, plan: Plan) -> tuple[str, str]:
    """The plan, and why."""
    if plan == "auto":
        size = f"the index has {version.bytes / 1e6:,.0f} MB"
        if version.bytes <= LOCAL_MAX_BYTES:
            return "local", f"because {size}, which every machine can hold"
        return "routed", f"because {size}, too much for every machine to hold"
    if plan not in ("local", "routed"):
        raise TellwhenError(f"there is no plan {plan!r}; there are auto, local and routed")
    return plan, "as asked for"


def described(version: Version) -> str:
    """One line about an index."""
    met = version.shards_per_event
    return (
        f"version {version.version}, {version.subscriptions:,} subscriptions in {len(version.shards)} shards, "
        + ("" if met is None else f"of which an event meets about {met:.1f}, ")
        + f"engine {version.engine}, largest shard {version.balance:.2f} of the mean"
    )


def _told(version: Version, plan: str, why: str) -> str:
    return f"{plan} plan, {why}: {described(version)}"


class _Worker(ABC):
    """A function for `mapped` that has the index open."""

    def __init__(self, root: Path, number: int | None, form: Form, event_id: str) -> None:
        self._root, self._number = root, number
        self._form, self._event_id = form, event_id

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        served = None
        for batch in batches:
            if served is None:
                served = serve(self._root, task_version(self._root) if self._number is None else self._number)
            served.renew()
            yield from self.run(served, batch)

    @abstractmethod
    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows that come of a batch."""

    def undefined(self, count: int, kind: pa.DataType, served: Served) -> pa.RecordBatch:
        """A row without a match that carries the count of undefined values; exploding it leaves nothing."""
        lists = pa.nulls(1, pa.list_(pa.string() if served.version.ids == "str" else pa.int64()))
        columns = [pa.nulls(1, kind), lists, pa.array([count], pa.int32())]
        return pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])

    def matches(self, served: Served, shard: int, events: Events, ids: pa.Array) -> Iterator[pa.RecordBatch]:
        """The events that match anything in a shard, each with all its matches there."""
        start, slots = served.match(shard, events)
        for first, last in pieces(start):
            some = first + np.flatnonzero(np.diff(start[first : last + 1]))
            bounds = np.append(start[some], start[last]) - start[first]
            subscriptions = served.ids(shard, slots[start[first] : start[last]])
            lists = pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), subscriptions)
            columns = [ids.take(pa.array(some)), lists, pa.nulls(len(some), pa.int32())]
            yield pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])


class _Local(_Worker):
    """Events matched with all shards they concern."""

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encoded(batch, self._form, served.attributes, served.schema)
        ids = batch.column(0)
        if mismatches:
            yield self.undefined(sum(mismatches.values()), ids.type, served)
        for shard, positions in served.concerned(events):
            mine = events if len(positions) == len(ids) else chosen(events, positions)
            yield from self.matches(served, shard, mine, ids.take(pa.array(positions)))


class _Sending(_Worker):
    """Events packed for the shards they concern."""

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encoded(batch, self._form, served.attributes, served.schema)
        if mismatches:
            note = [pa.array([0], pa.int32()), pa.nulls(1, batch.column(0).type), pa.nulls(1, pa.binary())]
            note.append(pa.array([sum(mismatches.values())], pa.int32()))
            yield pa.RecordBatch.from_arrays(note, PACKED)
        positions, shards = served.routed(events)
        total = np.cumsum(np.diff(events.start)[positions])
        cuts = np.searchsorted(total, np.arange(ENTRIES_PER_BATCH, total[-1] if len(total) else 0, ENTRIES_PER_BATCH))
        for mine, numbers in zip(np.split(positions, cuts), np.split(shards, cuts), strict=True):
            columns = [pa.array(numbers, pa.int32()), batch.column(0).take(pa.array(mine)), packed(events, mine)]
            columns.append(pa.array(np.zeros(len(mine), dtype=np.int32)))
            yield pa.RecordBatch.from_arrays(columns, PACKED)


class _Arriving(_Worker):
    """Packed events matched with the shards they were sent to."""

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        shards = batch.column(0).to_numpy()
        noted = sum(batch.column(3).to_pylist())
        if noted:
            yield self.undefined(noted, batch.column(1).type, served)
        for shard in np.unique(shards).tolist():
            # The row that carries the count has no entries.
            mine = pa.array(np.flatnonzero((shards == shard) & batch.column(2).is_valid().to_numpy(False)))
            events = unpacked(batch.column(2).take(mine))
            yield from self.matches(served, shard, events, batch.column(1).take(mine))


def pieces(start: I64) -> Iterator[tuple[int, int]]:
    """Events in runs of at most MATCHES_PER_BATCH matches, or of a single event that has more.

    A run without any match is left out.

    >>> full = MATCHES_PER_BATCH
    >>> list(pieces(np.array([0, 0, 3, 3, full, full + 5])))
    [(0, 4), (4, 5)]
    """
    first, count = 0, len(start) - 1
    while first < count and start[first] < start[count]:
        last = max(first + 1, int(np.searchsorted(start, start[first] + MATCHES_PER_BATCH, side="right")) - 1)
        if start[last] > start[first]:
            yield first, last
        first = last


def packed(events: Events, positions: I64) -> pa.Array:
    """The entries of the events at these positions, as bytes."""
    start, domain, point, _, _ = chosen(events, positions)
    entries = np.empty(len(domain), dtype=ENTRY)
    entries["domain"], entries["point"] = domain, point
    offsets = (start * ENTRY.itemsize).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(positions), [None, pa.py_buffer(offsets), pa.py_buffer(entries.tobytes())]
    )


def unpacked(column: pa.BinaryArray) -> Events:
    """The events that `packed` made these bytes of."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    entries = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]].view(ENTRY)
    start = (bounds - bounds[0]) // ENTRY.itemsize
    domain, point = (np.ascontiguousarray(entries[name]) for name in ("domain", "point"))
    return Events(start, domain, point, point, single_valued(start, domain))
