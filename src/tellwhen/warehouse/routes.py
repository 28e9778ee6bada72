"""Which shards must an event meet? Those with a subscription that it may satisfy.

Every subscription has a cover: predicates of which one must be true. The *routes* of a shard are the stretches of all
covers of its subscriptions, united. An event that touches none of them satisfies nothing in the shard.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tellwhen.compile.extract import extract
from tellwhen.compile.store import Store
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import I32, I64, NEVER, U8, Events
from tellwhen.persistence import directory
from tellwhen.warehouse.kernels.routes import meet, merge_stretches
from tellwhen.warehouse.stages import Shares, Stages

MAX_STRETCHES = 4_096
"""Stretches of a shard, besides one for each domain."""


class Stretches(NamedTuple):
    """Stretches of domains, by domain and ascending; those of one domain do not touch."""

    domain: I32  # |0|0|3|
    low: I64  # |20|90|-inf|
    high: I64  # |40|90|7|

    def chosen(self, which: I64 | slice) -> Stretches:
        """Some of them."""
        return Stretches(self.domain[which], self.low[which], self.high[which])


class ShardRoutes(NamedTuple):
    """What leads to one shard."""

    is_always: bool  # some subscription may be satisfied by any event
    stretches: Stretches

    def expected(self, shares: Shares) -> float:
        """The share of the events that meet the shard, if domains are independent."""
        if self.is_always:
            return 1.0
        share = shares.united(*self.stretches)
        by_domain = np.minimum(1.0, np.bincount(self.stretches.domain, share))
        return float(1 - np.prod(1 - by_domain))

    def to_bytes(self) -> bytes:
        """The stretches as bytes."""
        return np.stack([array.astype(np.int64) for array in self.stretches]).tobytes()

    @classmethod
    def from_bytes(cls, is_always: bool, data: bytes) -> ShardRoutes:
        """What `to_bytes` wrote."""
        domain, low, high = np.frombuffer(data, dtype=np.int64).reshape(3, -1)
        return cls(is_always, Stretches(domain.astype(np.int32), low, high))


def routes_of(store: Store, stages: Stages) -> ShardRoutes:
    """The routes of the subscriptions in a store, coarse ones if there are many."""
    some = extract(store.snapshot(), store.alive())
    covers = stages.find(some).covers
    is_always = bool(((np.diff(covers.start) == 0) & (some.kind != NEVER)).any())
    used = np.unique(covers.predicate)
    start, which = gather(some.literals.start, used)
    domain = np.repeat(some.literals.domain[used], np.diff(start))
    found = united(Stretches(domain, some.literals.low[which], some.literals.high[which]))
    return ShardRoutes(is_always, coarsened(found, stages.shares, MAX_STRETCHES))


def united(stretches: Stretches) -> Stretches:
    """In order, and those that overlap or touch as one."""
    ordered = stretches.chosen(np.lexsort((stretches.low, stretches.domain)))
    return ordered.chosen(slice(merge_stretches(*ordered)))


def coarsened(stretches: Stretches, shares: Shares, most: int) -> Stretches:
    """At most `most` gaps between stretches of one domain: those in which the fewest events are expected are closed."""
    domain, low, high = stretches
    before = np.flatnonzero(domain[1:] == domain[:-1])  # the stretches with a gap behind them
    if len(before) <= most:
        return stretches
    gap = shares.between(domain[before], high[before] + 1, low[before + 1] - 1)
    closed = before[np.argsort(gap, kind="stable")[: len(before) - most]]
    high = high.copy()
    high[closed] = low[closed + 1] - 1
    return united(Stretches(domain, low, high))


class Routes(NamedTuple):
    """The routes of all shards."""

    is_always: U8  # |0|0|1|       by shard
    start: I64  # |0|2|7|9|     the stretches of shard s are start[s]:start[s+1]
    stretches: Stretches

    @classmethod
    def of(cls, shards: list[ShardRoutes]) -> Routes:
        """Those of shards."""
        nothing = Stretches(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
        parts = zip(nothing, *(shard.stretches for shard in shards), strict=True)
        start = np.cumsum([0, *(len(shard.stretches.domain) for shard in shards)])
        always = np.array([shard.is_always for shard in shards], dtype=np.uint8)
        return cls(always, start, Stretches(*(np.concatenate(part) for part in parts)))

    def shard(self, number: int) -> ShardRoutes:
        """Those of one shard."""
        mine = slice(self.start[number], self.start[number + 1])
        return ShardRoutes(bool(self.is_always[number]), self.stretches.chosen(mine))


class Router:
    """Finds the shards that events meet."""

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

    def met(self, events: Events) -> U8:
        """met[shard, event] is 1 if the event meets the shard."""
        met = np.zeros((self._shards, len(events.start) - 1), dtype=np.uint8)
        met[self._always] = 1
        meet(events.start, events.domain, events.low, events.high, *self._rows, met)
        return met


class Cells(NamedTuple):
    """The line of the stages in pieces, and the shards of each: cell i begins at (stage[i-1], point[i-1])."""

    stage: I64
    point: I64
    start: I64  # |0|1|3|     the shards of cell i are shard[start[i]:start[i+1]]
    shard: I64  # |0|0 1|

    def of(self, stage: I64, point: I64) -> I64:
        """The cell of each place on the line."""
        found = np.zeros(len(stage), dtype=np.int64)
        if not len(stage):
            return found
        order = np.argsort(stage, kind="stable")
        present, begin = np.unique(stage[order], return_index=True)
        first, last = (np.searchsorted(self.stage, present, side) for side in ("left", "right"))
        for k, mine in enumerate(np.split(order, begin[1:])):
            found[mine] = first[k] + np.searchsorted(self.point[first[k] : last[k]], point[mine], side="right")
        return found

    def shards(self) -> list[list[int]]:
        """The shards of each cell."""
        return [part.tolist() for part in np.split(self.shard, self.start[1:-1])]

    def having(self, shards: list[list[int]]) -> Cells:
        """The same with other shards."""
        start = np.cumsum([0, *(len(some) for some in shards)])
        return self._replace(start=start, shard=np.array([s for some in shards for s in some], dtype=np.int64))


class Routing(NamedTuple):
    """How subscriptions and events find their shards."""

    stages: Stages
    cells: Cells
    routes: Routes


def write_routing(folder: Path, found: Routing, durable: bool = True) -> None:
    """Save to a directory that exists."""
    directory.save(folder, {"routing": flatten(found)}, {}, make=False, durable=durable)


def read_routing(folder: Path, verify: bool = True) -> Routing:
    """What `write_routing` saved, mapped into memory."""
    parts, _ = directory.load(folder, verify)
    return unflatten(Routing, parts["routing"])
