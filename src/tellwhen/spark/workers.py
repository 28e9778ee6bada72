"""Worker functions with an open index: events reach them as rows, or packed for a shard."""

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
from tellwhen.spark.events import Form, encode_batch
from tellwhen.spark.version_cache import OpenVersion, choose_task_version, get_open_version

ENTRIES_PER_BATCH = 1 << 22
"""Entries of events sent together: the bytes of one Arrow column must stay below 2 GiB."""

ENTRY = np.dtype([("domain", "<i4"), ("point", "<i8")])
"""Entry of a packed event: a point on a domain. DataFrames have no intervals, so entries have none either."""

UNDEFINED = "_undefined"
"""Column of the number of undefined values, which is null or 0 in all rows but one of a batch."""

PACKED = ["shard", "event", "entries", UNDEFINED, "version"]


def make_packed_type(kind: DataType) -> StructType:
    """Return the columns of packed events whose ids have this type."""
    kinds = [IntegerType(), kind, BinaryType(), IntegerType(), IntegerType()]
    return StructType([StructField(name, type_) for name, type_ in zip(PACKED, kinds, strict=True)])


class Worker(ABC):
    """A function for `map_batches` that opens a version of the index."""

    def __init__(self, root: Path, number: int | None, form: Form, event_id: str) -> None:
        self._root, self._number = root, number
        self._form, self._event_id = form, event_id

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened = None
        for batch in batches:
            if opened is None:
                number = choose_task_version(self._root) if self._number is None else self._number
                opened = get_open_version(self._root, number)
            opened.renew_lease()
            yield from self.run(opened, batch)

    @abstractmethod
    def run(self, opened: OpenVersion, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the results for a batch."""


class Finder(Worker):
    """A worker that finds the subscriptions of events in shards."""

    needs_all_shards = False
    """Whether every event has to meet every shard, and not only those with a subscription that it may satisfy."""

    @abstractmethod
    def make_undefined_count_row(self, count: int, id_type: pa.DataType, opened: OpenVersion) -> pa.RecordBatch:
        """Make a row with the number of undefined values; the query drops the row from its result."""

    @abstractmethod
    def find(
        self, opened: OpenVersion, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """Yield the results of events in shards.

        `shards` has for each shard its number, the events that meet it, and their positions in `ids`.
        """


class RowFinder(Finder):
    """Finder for batches of events: encodes them, and looks in all shards that they meet."""

    def run(self, opened: OpenVersion, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encode_batch(batch, self._form, opened.attributes, opened.schema)
        ids = batch.column(0)
        if mismatches:
            yield self.make_undefined_count_row(sum(mismatches.values()), ids.type, opened)
        groups = opened.group_by_shard(events, self.needs_all_shards)
        yield from self.find(opened, ((shard, _select(events, at), at) for shard, at in groups), ids)


def _select(events: Events, positions: I64) -> Events:
    return events if len(positions) == len(events.single_valued) else select_events(events, positions)


class Packer(Worker):
    """Worker that packs events for the shards that they meet, or for all shards."""

    def __init__(self, *args: Any, to_all: bool) -> None:
        super().__init__(*args)
        self._to_all = to_all

    def run(self, opened: OpenVersion, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        events, mismatches = encode_batch(batch, self._form, opened.attributes, opened.schema)
        version = opened.version.version
        if mismatches:
            row = [pa.array([0], pa.int32()), pa.nulls(1, batch.column(0).type), pa.nulls(1, pa.binary())]
            row += [pa.array([sum(mismatches.values())], pa.int32()), _repeat(version, 1)]
            yield pa.RecordBatch.from_arrays(row, PACKED)
        positions, shards = opened.route(events, self._to_all)
        total = np.cumsum(np.diff(events.start)[positions])
        cuts = np.searchsorted(total, np.arange(ENTRIES_PER_BATCH, total[-1] if len(total) else 0, ENTRIES_PER_BATCH))
        for at, numbers in zip(np.split(positions, cuts), np.split(shards, cuts), strict=True):
            columns = [pa.array(numbers, pa.int32()), batch.column(0).take(pa.array(at)), pack_events(events, at)]
            columns += [_repeat(0, len(at)), _repeat(version, len(at))]
            yield pa.RecordBatch.from_arrays(columns, PACKED)


def _repeat(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, dtype=np.int32))


class PackedFinder(Finder):
    """Finder for packed events: looks in the shards that they were sent to, of the version that encoded them.

    Another version has other labels and shards. The tasks of one micro-batch may use different versions if the reader
    has no permission to pin one.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        versions: dict[int, OpenVersion] = {}
        for batch in batches:
            column = batch.column(4)
            numbers = column.unique().to_pylist()
            for number in numbers:
                if number not in versions:
                    versions[number] = get_open_version(self._root, number)
                versions[number].renew_lease()
                own = batch if len(numbers) == 1 else batch.filter(pc.equal(column, number))
                yield from self.run(versions[number], own)

    def run(self, opened: OpenVersion, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        shards = batch.column(0).to_numpy()
        undefined = sum(batch.column(3).to_pylist())
        if undefined:
            yield self.make_undefined_count_row(undefined, batch.column(1).type, opened)
        for shard in np.unique(shards).tolist():
            # The row with the number of undefined values has no entries.
            at = np.flatnonzero((shards == shard) & batch.column(2).is_valid().to_numpy(False))
            events = unpack_events(batch.column(2).take(pa.array(at)))
            yield from self.find(opened, iter([(shard, events, at)]), batch.column(1))


def pack_events(events: Events, positions: I64) -> pa.Array:
    """Return the entries of the events at these positions as bytes."""
    start, domain, point, _, _ = select_events(events, positions)
    entries = np.empty(len(domain), dtype=ENTRY)
    entries["domain"], entries["point"] = domain, point
    offsets = (start * ENTRY.itemsize).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(positions), [None, pa.py_buffer(offsets), pa.py_buffer(entries.tobytes())]
    )


def unpack_events(column: pa.BinaryArray) -> Events:
    """Return the events that `pack_events` packed."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    entries = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]].view(ENTRY)
    start = (bounds - bounds[0]) // ENTRY.itemsize
    domain, point = (np.ascontiguousarray(entries[name]) for name in ("domain", "point"))
    return Events(start, domain, point, point, find_single_valued(start, domain))
