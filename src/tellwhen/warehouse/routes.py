"""Routes of events to the shards whose subscriptions they may satisfy.

Every subscription has a cover: predicates of which one must be true. The *routes* of a shard are the union of the
stretches of all covers of its subscriptions. An event that touches none of them satisfies no subscription in the shard.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tellwhen.compile.extract import Extract, extract
from tellwhen.compile.store import Store
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import I32, I64, NEVER, U8, Events
from tellwhen.persistence import directory
from tellwhen.warehouse.kernels.routes import mark_shards, merge_sorted_stretches
from tellwhen.warehouse.stages import Places, Shares, Stages

STRETCHES_PER_SHARD_MAX = 4_096
"""Most stretches of a shard, in addition to one for each domain."""


class Stretches(NamedTuple):
    """Ranges of points, each on one domain."""

    domain: I32  # |0|0|3|
    low: I64  # |20|90|-inf|
    high: I64  # |40|90|7|

    def select(self, which: I64 | slice) -> Stretches:
        return Stretches(self.domain[which], self.low[which], self.high[which])

    @classmethod
    def concatenate(cls, parts: Iterable[Stretches]) -> Stretches:
        nothing = cls(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
        return cls(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))


class Covers(NamedTuple):
    """The covers of subscriptions, with the stretches of their predicates."""

    start: I64  # |0|2|3|          the cover of slot i has the predicates predicate[start[i]:start[i+1]]
    predicate: I64  # |0 4|4|
    is_always: U8  # |0|0|         1 if any event may satisfy the subscription
    stretch_start: I64  # |0|1|3|  predicate p has the stretches stretch_start[p]:stretch_start[p+1]
    stretches: Stretches

    @classmethod
    def from_places(cls, places: Places, subscriptions: Extract) -> Covers:
        """Keep the stretches of the predicates that are part of a cover."""
        lists, literals = places.covers, subscriptions.literals
        is_always = (np.diff(lists.start) == 0) & (subscriptions.kind != NEVER)
        used, predicate = np.unique(lists.predicate, return_inverse=True)
        start, which = gather(literals.start, used)
        domain = np.repeat(literals.domain[used], np.diff(start))
        stretches = Stretches(domain, literals.low[which], literals.high[which])
        return cls(lists.start, predicate, is_always.astype(np.uint8), start, stretches)

    def find_routes(self, slots: I32) -> ShardRoutes:
        """Return the routes to some of the subscriptions; their stretches may overlap."""
        _, at = gather(self.start, slots)
        _, which = gather(self.stretch_start, np.unique(self.predicate[at]))
        return ShardRoutes(bool(self.is_always[slots].any()), self.stretches.select(which))


class ShardRoutes(NamedTuple):
    """The routes of one shard: an event meets the shard if it touches one of the stretches."""

    is_always: bool  # all events meet the shard: any event may satisfy one of its subscriptions
    stretches: Stretches  # by domain and ascending; those of one domain do not touch

    def estimate_share(self, shares: Shares) -> float:
        """Estimate the share of the events that meet the shard, as if domains were independent."""
        if self.is_always:
            return 1.0
        share = shares.estimate_without_overlap(*self.stretches)
        by_domain = np.minimum(1.0, np.bincount(self.stretches.domain, share))
        return float(1 - np.prod(1 - by_domain))

    def to_bytes(self) -> bytes:
        return np.stack([array.astype(np.int64) for array in self.stretches]).tobytes()

    @classmethod
    def from_bytes(cls, is_always: bool, data: bytes) -> ShardRoutes:
        domain, low, high = np.frombuffer(data, dtype=np.int64).reshape(3, -1)
        return cls(is_always, Stretches(domain.astype(np.int32), low, high))


def find_covers(store: Store, stages: Stages) -> Covers:
    """Choose the covers of all subscriptions in a store, which has no removed ones."""
    subscriptions = extract(store.snapshot(), store.find_alive())
    return Covers.from_places(stages.find_places(subscriptions), subscriptions)


def merge_routes(parts: Iterable[ShardRoutes], shares: Shares, gaps_max: int = STRETCHES_PER_SHARD_MAX) -> ShardRoutes:
    """Return the routes to the subscriptions of all parts, with at most `gaps_max` gaps between stretches."""
    parts = list(parts)
    stretches = sort_and_merge_stretches(Stretches.concatenate(part.stretches for part in parts))
    is_always = any(part.is_always for part in parts)
    return ShardRoutes(is_always, coarsen_stretches(stretches, shares, gaps_max))


def sort_and_merge_stretches(stretches: Stretches) -> Stretches:
    """Sort stretches, and merge those that overlap or touch."""
    ordered = stretches.select(np.lexsort((stretches.low, stretches.domain)))
    return ordered.select(slice(merge_sorted_stretches(*ordered)))


def coarsen_stretches(stretches: Stretches, shares: Shares, gaps_max: int) -> Stretches:
    """Close gaps between stretches of one domain until `gaps_max` are left, first those with the fewest events."""
    domain, low, high = stretches
    before = np.flatnonzero(domain[1:] == domain[:-1])  # the stretches with a gap behind them
    if len(before) <= gaps_max:
        return stretches
    gap_share = shares.estimate(domain[before], high[before] + 1, low[before + 1] - 1)
    closed = before[np.argsort(gap_share, kind="stable")[: len(before) - gaps_max]]
    high = high.copy()
    high[closed] = low[closed + 1] - 1
    return sort_and_merge_stretches(Stretches(domain, low, high))


class Routes(NamedTuple):
    """The routes of all shards."""

    is_always: U8  # |0|0|1|       by shard
    start: I64  # |0|2|7|9|     the stretches of shard s are start[s]:start[s+1]
    stretches: Stretches

    @classmethod
    def from_shards(cls, shards: list[ShardRoutes]) -> Routes:
        start = np.cumsum([0, *(len(shard.stretches.domain) for shard in shards)])
        is_always = np.array([shard.is_always for shard in shards], dtype=np.uint8)
        return cls(is_always, start, Stretches.concatenate(shard.stretches for shard in shards))

    def get_shard(self, number: int) -> ShardRoutes:
        own = slice(self.start[number], self.start[number + 1])
        return ShardRoutes(bool(self.is_always[number]), self.stretches.select(own))


class Router:
    """A search structure for the shards that events meet."""

    def __init__(self, routes: Routes, domains: int) -> None:
        domain, low, high = routes.stretches
        shard = np.repeat(np.arange(len(routes.is_always)), np.diff(routes.start))
        order = np.lexsort((low, shard, domain))
        domain, shard = domain[order], shard[order]
        is_first = np.ones(len(order), dtype=np.bool_)  # of its shard, on its domain
        is_first[1:] = (domain[1:] != domain[:-1]) | (shard[1:] != shard[:-1])
        begin = np.flatnonzero(is_first)
        self._always = np.flatnonzero(routes.is_always)
        self._shards = len(routes.is_always)
        self._rows = (
            np.searchsorted(domain[begin], np.arange(domains + 1)),
            shard[begin],
            np.append(begin, len(order)),
            low[order],
            high[order],
        )

    def find_shards(self, events: Events) -> U8:
        """Return a matrix whose entry [shard, event] is 1 if the event meets the shard."""
        met = np.zeros((self._shards, len(events.start) - 1), dtype=np.uint8)
        met[self._always] = 1
        mark_shards(events.start, events.domain, events.low, events.high, *self._rows, met)
        return met


class Cells(NamedTuple):
    """The cells into which the stages are cut, and the shards of each cell. A cell is a range of places.

    Cell i begins at the place (stage[i-1], point[i-1]).
    """

    stage: I64
    point: I64
    start: I64  # |0|1|3|     the shards of cell i are shard[start[i]:start[i+1]]
    shard: I64  # |0|0 1|

    def find_cells(self, stage: I64, point: I64) -> I64:
        """Return the number of the cell that contains each place (stage, point)."""
        found = np.zeros(len(stage), dtype=np.int64)
        if not len(stage):
            return found
        order = np.argsort(stage, kind="stable")
        present, begin = np.unique(stage[order], return_index=True)
        first, last = (np.searchsorted(self.stage, present, side) for side in ("left", "right"))
        for k, mine in enumerate(np.split(order, begin[1:])):
            found[mine] = first[k] + np.searchsorted(self.point[first[k] : last[k]], point[mine], side="right")
        return found

    def list_shards(self) -> list[list[int]]:
        """Return the shards of each cell."""
        return [part.tolist() for part in np.split(self.shard, self.start[1:-1])]

    def replace_shards(self, shards: list[list[int]]) -> Cells:
        """Return a copy of the cells with other shards; `shards` has the shards of each cell."""
        start = np.cumsum([0, *(len(numbers) for numbers in shards)])
        return self._replace(start=start, shard=np.array([s for numbers in shards for s in numbers], dtype=np.int64))


class Routing(NamedTuple):
    """The stages and cells that place subscriptions, and the routes of events."""

    stages: Stages
    cells: Cells
    routes: Routes


def write_routing(folder: Path, routing: Routing, durable: bool = True) -> None:
    """Save stages, cells and routes to a folder that exists."""
    directory.save(folder, {"routing": flatten(routing)}, {}, make=False, durable=durable)


def read_routing(folder: Path, verify: bool = True) -> Routing:
    """Read stages, cells and routes from a folder, mapped into memory."""
    parts, _ = directory.load(folder, verify)
    return unflatten(Routing, parts["routing"])
