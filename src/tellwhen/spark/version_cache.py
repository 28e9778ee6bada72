"""Open versions of a worker process: each is opened once, mapped into memory, and kept for later tasks."""

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
from tellwhen.relaxed.index import StoreView
from tellwhen.spark.columns import convert_ids
from tellwhen.warehouse.leases import QUERY_PIN_PREFIX, pin_version, renew_lease
from tellwhen.warehouse.opening import read_dictionary, read_shard
from tellwhen.warehouse.routes import Router, read_routing
from tellwhen.warehouse.versions import Version, read_current_number, read_version

OPEN_VERSIONS_MAX = 2
"""Most versions that a worker keeps open."""


class _OpenShard(NamedTuple):
    shard: Shard
    reader: Reader


class OpenVersion:
    """A version whose shards are opened on first use."""

    def __init__(self, root: Path, version: Version) -> None:
        self.root, self.version = root, version
        self.schema = version.schema
        self.attributes: Attributes = read_dictionary(root / version.dictionary)
        self._shards: dict[int, _OpenShard] = {}

    def match(self, shard: int, events: Events) -> Matches:
        """Return the slots of all subscriptions in a shard that each event satisfies."""
        return self._open_shard(shard).reader.match(events)

    def rank(self, shard: int, events: Events, k: int, factors: Mapping[str, float] | None = None) -> Best:
        """Return the best k slots in a shard for each event. With factors, rank by relaxed matching."""
        found, reader = self._open_shard(shard)
        k = min(k, max(1, self.version.shards[shard].subscriptions))
        if factors is not None:
            return found.relaxed.rank(StoreView.from_store(found.store), events, k, factors)
        scores = found.store.scores
        return find_best(reader.list_tiers(scores.changes), events, k, scores.scores_by_slot)

    def _open_shard(self, shard: int) -> _OpenShard:
        if shard not in self._shards:
            name = self.version.shards[shard].name
            found = read_shard(self.root / name, self.attributes)
            if found.ids.type != self.version.ids and len(found.ids):
                raise FormatError(f"{name}: expected ids of type {self.version.ids}, found {found.ids.type}")
            self._shards[shard] = _OpenShard(found, found.engines.reader())
        return self._shards[shard]

    def get_ids(self, shard: int, slots: I32) -> pa.Array:
        """Return the ids of slots that `match` found in the shard."""
        return convert_ids(self._shards[shard].shard.ids, self.version.ids, slots)

    def group_by_shard(self, events: Events, is_all: bool = False) -> Iterator[tuple[int, I64]]:
        """Yield the shards that events meet, each with the positions of these events."""
        positions, shards = self.route(events, is_all)
        bounds = np.searchsorted(shards, np.arange(len(self.version.shards) + 1)).tolist()
        for shard, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield shard, positions[begin:end]

    def route(self, events: Events, is_all: bool = False) -> tuple[I64, I64]:
        """Return the pairs of an event and a shard that it meets, as positions and numbers, ordered by shard.

        An event meets a shard with a subscription that it may satisfy. With `is_all`, every event meets every shard, as
        relaxed matching requires.
        """
        if is_all:
            count, shards = len(events.single_valued), np.arange(len(self.version.shards))
            return np.tile(np.arange(count), len(shards)), np.repeat(shards, count)
        shards, positions = np.nonzero(self._router.find_shards(events))
        return positions, shards

    @cached_property
    def _router(self) -> Router:
        return Router(read_routing(self.root / self.version.routing).routes, len(self.attributes.domains))

    def renew_lease(self) -> None:
        renew_lease(self.root, self.version.version)


_open_versions: OrderedDict[tuple[str, str, float], OpenVersion] = OrderedDict()


def get_open_version(root: Path, number: int) -> OpenVersion:
    """Return an open version; open it if it is not in the cache."""
    # Read at every call: the index may have been deleted and built again, with the same numbers.
    version = read_version(root, number)
    key = str(root), version.dictionary, version.created
    found = _open_versions.get(key)
    if found is None:
        found = _open_versions[key] = OpenVersion(root, version)
        while len(_open_versions) > OPEN_VERSIONS_MAX:
            _open_versions.popitem(last=False)
    _open_versions.move_to_end(key)
    return found


def choose_task_version(root: Path) -> int:
    """Return the version for the running task: one version for all tasks of a micro-batch, or of a query."""
    context = TaskContext.get()
    if context is None:
        return read_current_number(root)
    stream, batch = (context.getLocalProperty(name) for name in ("sql.streaming.queryId", "streaming.sql.batchId"))
    if stream is not None and batch is not None:
        return pin_version(root, stream, int(batch))
    tags = context.getLocalProperty("spark.job.tags")  # they name the session and the query
    return (
        read_current_number(root)
        if tags is None
        else pin_version(root, QUERY_PIN_PREFIX + hashlib.sha256(tags.encode()).hexdigest(), 0)
    )
