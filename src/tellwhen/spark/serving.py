"""An index version in a worker: opened once, mapped into memory, kept for all later tasks of the process."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from tellwhen.compile.attributes import Attributes
from tellwhen.engines.base import Reader
from tellwhen.errors import FormatError
from tellwhen.ids import Ids
from tellwhen.kernels.arrays import I32, I64, Events
from tellwhen.schema import Schema
from tellwhen.spark.build import id_column
from tellwhen.spark.dictionary import read_dictionary
from tellwhen.spark.shards import EVERY, read_shard
from tellwhen.spark.warehouse import Version, current, pinned, read_version

OPEN = 2
"""Versions that a worker keeps open."""


class _Opened(NamedTuple):
    reader: Reader
    ids: Ids


class Served:
    """A version, its shards opened as they are needed."""

    def __init__(self, root: Path, version: Version) -> None:
        self.root, self.version = root, version
        self.schema = Schema(version.schema)
        self.attributes: Attributes = read_dictionary(root / version.dictionary)
        self._shards: dict[int, _Opened] = {}
        self._routes: tuple[I64, I64, I32] | None = None

    def match(self, shard: int, events: Events) -> tuple[I64, pa.Array]:
        """The ids of all that events satisfy in a shard: those of event e are ids[start[e]:start[e+1]]."""
        opened = self._shards.get(shard)
        if opened is None:
            contents = read_shard(self.root / self.version.shards[shard].name, self.attributes)
            if contents.ids.type != self.version.ids and len(contents.ids):
                raise FormatError(f"the ids of {self.version.shards[shard].name} are not of the index's type")
            opened = self._shards[shard] = _Opened(contents.engine.reader(), contents.ids)
        start, slots = opened.reader.match(events)
        return start, pa.array(opened.ids.numbers(slots)) if self.version.ids == "int" else id_column(opened.ids, slots)

    def concerned(self, events: Events) -> Iterator[tuple[int, I64]]:
        """The shards that events concern, each with the positions of these events."""
        positions, shards = self.routed(events)
        bounds = np.searchsorted(shards, np.arange(len(self.version.shards) + 1)).tolist()
        for shard, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield shard, positions[begin:end]

    def routed(self, events: Events) -> tuple[I64, I64]:
        """Which events concern which shards: pairs of an event's position and a shard's number, by shard."""
        lines, start, shards = self._routing()
        owner = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))
        # An attribute that is told to be absent is not carried.
        known = (events.line < len(lines)) & ~(self._presence[events.line] & (events.high == 0))
        owner, pivot = owner[known], lines[events.line[known]]
        count = start[pivot + 1] - start[pivot]
        total = int(count.sum())
        which = np.repeat(start[pivot] - (np.cumsum(count) - count), count) + np.arange(total)
        pairs = shards[which].astype(np.int64) << 40 | np.repeat(owner, count)
        always = np.array(self.version.pivots.get(EVERY, []), dtype=np.int64)
        every = (always[:, None] << 40 | np.arange(len(events.start) - 1)[None, :]).ravel()
        pairs = np.unique(np.concatenate([pairs, every]))
        return pairs & ((1 << 40) - 1), pairs >> 40

    def _routing(self) -> tuple[I64, I64, I32]:
        """By line: its attribute's number; by attribute: where its shards begin, and the shards."""
        if self._routes is None:
            numbers = {name: i for i, name in enumerate(self.attributes.by_name)}
            lines = np.array([numbers[line.attribute] for line in self.attributes.lines], dtype=np.int64)
            self._presence = np.array([line.kind == "presence" for line in self.attributes.lines], dtype=bool)
            found = [self.version.pivots.get(name, []) for name in numbers]
            start = np.concatenate([[0], np.cumsum([len(shards) for shards in found])]).astype(np.int64)
            flat = np.array([shard for shards in found for shard in shards], dtype=np.int32)
            self._routes = lines, start, flat
        return self._routes


_served: OrderedDict[tuple[str, str, float], Served] = OrderedDict()


def serve(root: Path, number: int) -> Served:
    """The version, opened now or before."""
    # Read again every time: the index may have been deleted and built anew, with the same numbers.
    version = read_version(root, number)
    key = str(root), version.dictionary, version.created
    found = _served.get(key)
    if found is None:
        found = _served[key] = Served(root, version)
        while len(_served) > OPEN:
            _served.popitem(last=False)
    _served.move_to_end(key)
    return found


def task_version(root: Path) -> int:
    """The version for the task that is running: one for all tasks of a micro-batch, or of a query."""
    context = TaskContext.get()
    if context is None:
        return current(root)
    stream, batch = (context.getLocalProperty(name) for name in ("sql.streaming.queryId", "streaming.sql.batchId"))
    if stream is not None and batch is not None:
        return pinned(root, stream, int(batch))
    tags = context.getLocalProperty("spark.job.tags")  # they name the session and the query
    return current(root) if tags is None else pinned(root, f"query-{hashlib.sha256(tags.encode()).hexdigest()}", 0)
