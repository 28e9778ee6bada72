"""Tasks that have an index open: events come to them as rows, or packed for a shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, DataType, IntegerType, StructField, StructType

from tellwhen.containers.batches import find_single_valued, select_events
from tellwhen.kernels.arrays import I64, Events
from tellwhen.spark.events import Form, encoded
from tellwhen.spark.version_cache import Served, serve, task_version

ENTRIES_PER_BATCH = 1 << 22
"""Entries of events sent at a time: the bytes of one Arrow column must stay below 2 GiB."""

ENTRY = np.dtype([("domain", "<i4"), ("point", "<i8")])
"""An entry of an event on its way to a shard. DataFrames have no intervals, so a point is all there is."""

UNDEFINED = "_undefined"

PACKED = ["shard", "event", "entries", UNDEFINED, "version"]


def packed_event(kind: DataType) -> StructType:
    """The columns of an event that is packed for a shard."""
    kinds = [IntegerType(), kind, BinaryType(), IntegerType(), IntegerType()]
    return StructType([StructField(name, type_) for name, type_ in zip(PACKED, kinds, strict=True)])


class Worker(ABC):
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


class Finder(Worker):
    """One that finds subscriptions in a shard."""

    asks_all = False
    """Does an event have to be asked of all shards, or of those only that have something that it may satisfy?"""

    @abstractmethod
    def noted(self, count: int, kind: pa.DataType, served: Served) -> pa.RecordBatch:
        """A row that carries the count of undefined values, and leaves nothing in the result."""

    @abstractmethod
    def found(
        self, served: Served, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """What events find: those that each shard concerns, and the positions of their ids."""


class Local(Finder):
    """Finds in all shards that an event concerns."""

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encoded(batch, self._form, served.attributes, served.schema)
        ids = batch.column(0)
        if mismatches:
            yield self.noted(sum(mismatches.values()), ids.type, served)
        concerned = served.concerned(events, self.asks_all)
        yield from self.found(
            served, ((shard, _taken(events, positions), positions) for shard, positions in concerned), ids
        )


def _taken(events: Events, positions: I64) -> Events:
    return events if len(positions) == len(events.single_valued) else select_events(events, positions)


class Sending(Worker):
    """Events packed for the shards they concern, or for all."""

    def __init__(self, *given: Any, to_all: bool) -> None:
        super().__init__(*given)
        self._to_all = to_all

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encoded(batch, self._form, served.attributes, served.schema)
        if mismatches:
            note = [pa.array([0], pa.int32()), pa.nulls(1, batch.column(0).type), pa.nulls(1, pa.binary())]
            note += [pa.array([sum(mismatches.values())], pa.int32()), _repeat(served.version.version, 1)]
            yield pa.RecordBatch.from_arrays(note, PACKED)
        positions, shards = served.routed(events, self._to_all)
        total = np.cumsum(np.diff(events.start)[positions])
        cuts = np.searchsorted(total, np.arange(ENTRIES_PER_BATCH, total[-1] if len(total) else 0, ENTRIES_PER_BATCH))
        for mine, numbers in zip(np.split(positions, cuts), np.split(shards, cuts), strict=True):
            columns = [pa.array(numbers, pa.int32()), batch.column(0).take(pa.array(mine)), packed(events, mine)]
            columns += [_repeat(0, len(mine)), _repeat(served.version.version, len(mine))]
            yield pa.RecordBatch.from_arrays(columns, PACKED)


def _repeat(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, dtype=np.int32))


class Arriving(Finder):
    """Finds in the shards that packed events were sent to, of the version that they were encoded with.

    Another version has other labels and shards. Tasks of one batch may differ where the version cannot be pinned.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened: dict[int, Served] = {}
        for batch in batches:
            column = batch.column(4)
            for number in column.unique().to_pylist():
                if number not in opened:
                    opened[number] = serve(self._root, number)
                opened[number].renew()
                yield from self.run(opened[number], batch.filter(pc.equal(column, number)))

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        shards = batch.column(0).to_numpy()
        noted = sum(batch.column(3).to_pylist())
        if noted:
            yield self.noted(noted, batch.column(1).type, served)
        for shard in np.unique(shards).tolist():
            # The row that carries the count has no entries.
            mine = np.flatnonzero((shards == shard) & batch.column(2).is_valid().to_numpy(False))
            events = unpacked(batch.column(2).take(pa.array(mine)))
            yield from self.found(served, iter([(shard, events, mine)]), batch.column(1))


def packed(events: Events, positions: I64) -> pa.Array:
    """The entries of the events at these positions, as bytes."""
    start, domain, point, _, _ = select_events(events, positions)
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
    return Events(start, domain, point, point, find_single_valued(start, domain))
