"""An index version in a worker: opened once, mapped into memory, kept for all later tasks of the process."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from tellwhen.compile.attributes import Attributes
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.errors import FormatError
from tellwhen.ids import Ids
from tellwhen.kernels.arrays import I32, I64, Events, Matches
from tellwhen.schema import Schema
from tellwhen.spark.columns import id_column
from tellwhen.spark.dictionary import read_dictionary
from tellwhen.spark.placing import EVERY
from tellwhen.spark.shards import read_shard
from tellwhen.spark.warehouse import QUERY, Version, current, lease, pinned, read_version

OPEN = 2
"""Versions that a worker keeps open."""


class _Opened(NamedTuple):
    reader: Reader
    ids: Ids


class _Routes(NamedTuple):
    """By domain: its attribute's number, and whether it only tells of presence. By attribute: its shards, as lists."""

    attribute: I64
    is_presence: NDArray[np.bool_]
    start: I64
    shard: I64


class Served:
    """A version, its shards opened as they are needed."""

    def __init__(self, root: Path, version: Version) -> None:
        self.root, self.version = root, version
        self.schema = Schema(version.schema)
        self.attributes: Attributes = read_dictionary(root / version.dictionary)
        self._shards: dict[int, _Opened] = {}

    def match(self, shard: int, events: Events) -> Matches:
        """The slots of all that events satisfy in a shard."""
        if shard not in self._shards:
            shard = read_shard(self.root / self.version.shards[shard].name, self.attributes)
            if shard.ids.type != self.version.ids and len(shard.ids):
                raise FormatError(f"the ids of {self.version.shards[shard].name} are not of the index's type")
            self._shards[shard] = _Opened(shard.engine.reader(), shard.ids)
        return self._shards[shard].reader.match(events)

    def ids(self, shard: int, slots: I32) -> pa.Array:
        """The ids of slots that `match` found in the shard."""
        return id_column(self._shards[shard].ids, self.version.ids, slots)

    def concerned(self, events: Events) -> Iterator[tuple[int, I64]]:
        """The shards that events concern, each with the positions of these events."""
        positions, shards = self.routed(events)
        bounds = np.searchsorted(shards, np.arange(len(self.version.shards) + 1)).tolist()
        for shard, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield shard, positions[begin:end]

    def routed(self, events: Events) -> tuple[I64, I64]:
        """Which events concern which shards: pairs of an event's position and a shard's number, by shard."""
        routes = self._routes
        owner = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))
        # An attribute that is told to be absent is not carried.
        carried = ~(routes.is_presence[events.domain] & (events.high == 0))
        first, which = gather(routes.start, routes.attribute[events.domain[carried]])
        pairs = routes.shard[which] << 40 | np.repeat(owner[carried], np.diff(first))
        always = np.array(self.version.pivots.get(EVERY, []), dtype=np.int64)
        every = (always[:, None] << 40 | np.arange(len(events.start) - 1)[None, :]).ravel()
        pairs = np.unique(np.concatenate([pairs, every]))
        return pairs & ((1 << 40) - 1), pairs >> 40

    @cached_property
    def _routes(self) -> _Routes:
        numbers = {name: number for number, name in enumerate(self.attributes.by_name)}
        domains = self.attributes.domains
        found = [self.version.pivots.get(name, []) for name in numbers]
        return _Routes(
            attribute=np.array([numbers[domain.attribute] for domain in domains], dtype=np.int64),
            is_presence=np.array([domain.kind == "presence" for domain in domains], dtype=np.bool_),
            start=np.concatenate([[0], np.cumsum([len(shards) for shards in found])]).astype(np.int64),
            shard=np.array([shard for shards in found for shard in shards], dtype=np.int64),
        )

    def renew(self) -> None:
        """The version is still needed."""
        lease(self.root, self.version.version)


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
    return current(root) if tags is None else pinned(root, QUERY + hashlib.sha256(tags.encode()).hexdigest(), 0)
