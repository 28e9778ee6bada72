"""A version in a worker: opened once, mapped into memory, kept for all later tasks of the process."""

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
from tellwhen.spark.placing import EVERY
from tellwhen.warehouse.leases import QUERY, lease, pin
from tellwhen.warehouse.opening import read_dictionary, read_shard
from tellwhen.warehouse.versions import Version, current, read_version

MAX_OPEN = 2
"""Versions that a worker keeps open."""


class _Opened(NamedTuple):
    reader: Reader
    ids: Ids


class _Routes(NamedTuple):
    """Which shards does an attribute lead to?

    attribute    |0|0|1|2|      by domain: the number of its attribute
    is_presence  |0|1|0|0|      by domain: does it only say whether the attribute is there?
    start        |0|1|3|4|      the shards of attribute a are shard[start[a]:start[a+1]]
    shard        |2|0 1|0|
    """

    attribute: I64
    is_presence: NDArray[np.bool_]
    start: I64
    shard: I64


SHARD_BITS = 40
"""A pair of a shard and an event is one number: the shard above this bit, the event's position below."""


class Served:
    """A version, its shards opened as they are needed."""

    def __init__(self, root: Path, version: Version) -> None:
        self.root, self.version = root, version
        self.schema = Schema(version.schema)
        self.attributes: Attributes = read_dictionary(root / version.dictionary)
        self._shards: dict[int, _Opened] = {}

    def match(self, shard: int, events: Events) -> Matches:
        """The slots of all subscriptions in a shard that each event satisfies."""
        if shard not in self._shards:
            name = self.version.shards[shard].name
            found = read_shard(self.root / name, self.attributes)
            if found.ids.type != self.version.ids and len(found.ids):
                raise FormatError(f"the ids of {name} are not of the index's type")
            self._shards[shard] = _Opened(found.engine.reader(), found.ids)
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
        """Which events concern which shards: the position of an event and the number of a shard, ordered by shard."""
        routes = self._routes
        count = len(events.start) - 1
        owner = np.repeat(np.arange(count), np.diff(events.start))
        # On a presence domain the point 0 says that the attribute is absent: then the event does not carry it.
        carried = ~(routes.is_presence[events.domain] & (events.high == 0))
        first, which = gather(routes.start, routes.attribute[events.domain[carried]])
        pairs = routes.shard[which] << SHARD_BITS | np.repeat(owner[carried], np.diff(first))
        always = np.array(self.version.pivots.get(EVERY, []), dtype=np.int64)
        every = (always[:, None] << SHARD_BITS | np.arange(count)[None, :]).ravel()
        pairs = np.unique(np.concatenate([pairs, every]))
        return pairs & ((1 << SHARD_BITS) - 1), pairs >> SHARD_BITS

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
        """The version is still in use."""
        lease(self.root, self.version.version)


_served: OrderedDict[tuple[str, str, float], Served] = OrderedDict()


def serve(root: Path, number: int) -> Served:
    """The version, opened now or before."""
    # Read every time: the index may have been deleted and built again, with the same numbers.
    version = read_version(root, number)
    key = str(root), version.dictionary, version.created
    found = _served.get(key)
    if found is None:
        found = _served[key] = Served(root, version)
        while len(_served) > MAX_OPEN:
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
        return pin(root, stream, int(batch))
    tags = context.getLocalProperty("spark.job.tags")  # they name the session and the query
    return current(root) if tags is None else pin(root, QUERY + hashlib.sha256(tags.encode()).hexdigest(), 0)
