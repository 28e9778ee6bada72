"""A version in a worker: opened once, mapped into memory, kept for all later tasks of the process."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from tellwhen.compile.attributes import Attributes
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.top_k import Best, find_best
from tellwhen.errors import FormatError
from tellwhen.index.shard import Shard
from tellwhen.kernels.arrays import I32, I64, Events, Matches
from tellwhen.relaxed.index import View
from tellwhen.spark.columns import id_column
from tellwhen.warehouse.leases import QUERY, lease, pin
from tellwhen.warehouse.opening import read_dictionary, read_shard
from tellwhen.warehouse.routes import Router, read_routing
from tellwhen.warehouse.versions import Version, current, read_version

MAX_OPEN = 2
"""Versions that a worker keeps open."""


class _Opened(NamedTuple):
    shard: Shard
    reader: Reader


class Served:
    """A version, its shards opened as they are needed."""

    def __init__(self, root: Path, version: Version) -> None:
        self.root, self.version = root, version
        self.schema = version.schema
        self.attributes: Attributes = read_dictionary(root / version.dictionary)
        self._shards: dict[int, _Opened] = {}

    def match(self, shard: int, events: Events) -> Matches:
        """The slots of all subscriptions in a shard that each event satisfies."""
        return self._opened(shard).reader.match(events)

    def best(self, shard: int, events: Events, k: int, factors: Mapping[str, float] | None = None) -> Best:
        """The k best of them; with factors, by relaxed matching."""
        found, reader = self._opened(shard)
        k = min(k, max(1, self.version.shards[shard].subscriptions))
        if factors is not None:
            return found.relaxed.best(View.of(found.store), events, k, factors)
        scores = found.store.scores
        return find_best(reader.list_tiers(scores.changes), events, k, scores.score)

    def _opened(self, shard: int) -> _Opened:
        if shard not in self._shards:
            name = self.version.shards[shard].name
            found = read_shard(self.root / name, self.attributes)
            if found.ids.type != self.version.ids and len(found.ids):
                raise FormatError(f"the ids of {name} are not of the index's type")
            self._shards[shard] = _Opened(found, found.engines.reader())
        return self._shards[shard]

    def ids(self, shard: int, slots: I32) -> pa.Array:
        """The ids of slots that `match` found in the shard."""
        return id_column(self._shards[shard].shard.ids, self.version.ids, slots)

    def concerned(self, events: Events, is_all: bool = False) -> Iterator[tuple[int, I64]]:
        """The shards that events meet, each with the positions of these events."""
        positions, shards = self.routed(events, is_all)
        bounds = np.searchsorted(shards, np.arange(len(self.version.shards) + 1)).tolist()
        for shard, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield shard, positions[begin:end]

    def routed(self, events: Events, is_all: bool = False) -> tuple[I64, I64]:
        """Which events meet which shards: the position of an event and the number of a shard, ordered by shard.

        An event meets a shard that has something it may satisfy. All meet all if parts of that are enough.
        """
        if is_all:
            count, shards = len(events.single_valued), np.arange(len(self.version.shards))
            return np.tile(np.arange(count), len(shards)), np.repeat(shards, count)
        shards, positions = np.nonzero(self._router.met(events))
        return positions, shards

    @cached_property
    def _router(self) -> Router:
        return Router(read_routing(self.root / self.version.routing).routes, len(self.attributes.domains))

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
