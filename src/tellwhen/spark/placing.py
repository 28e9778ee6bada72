"""Which shard does a subscription go to?

To the shard of its *pivot*: of the attributes that it needs, the one that fewest events carry (OpIndex, section 4.1).
An event then concerns only the shards of the attributes that it carries. A subscription that needs no attribute has the
pivot "", which every event carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.kernels.arrays import I32, I64
from tellwhen.persistence import directory
from tellwhen.spark.blocks import NOWHERE, Block, Blocks
from tellwhen.spark.tasks import Task, cores, rows, run
from tellwhen.warehouse.commits import fresh
from tellwhen.warehouse.versions import Version

EVERY = ""
"""The pivot of subscriptions that any event may satisfy."""

MAX_SUBSCRIPTIONS = 250_000
"""Subscriptions in a shard."""

MIN_SUBSCRIPTIONS, MANY_SHARDS = 8_000, 64
"""Up to 64 shards, each has at least 8,000 subscriptions: an event concerns only some of many shards, but each of them
is twenty files."""


class Placement(NamedTuple):
    """Where subscriptions go."""

    rank: dict[str, int]  # by attribute: 0 for the one that fewest events carry
    shares: dict[str, dict[int, float]]  # by pivot: its shards, and the share of its new subscriptions for each
    size: int  # shards

    @property
    def pivots(self) -> dict[str, list[int]]:
        """The shards of every pivot."""
        return {pivot: list(shares) for pivot, shares in self.shares.items()}

    @property
    def order(self) -> list[str]:
        """The attributes by their rank."""
        return sorted(self.rank, key=self.rank.__getitem__)

    def of(self, block: Block, number: int) -> I64:
        """The shard of every subscription of a block. Those of a split pivot are dealt out by its shards' shares."""
        pivots = block.pivots(self.rank)
        shards = np.zeros(len(pivots), dtype=np.int64)
        for pivot in np.unique(pivots).tolist():
            if pivot != NOWHERE:
                mine = np.flatnonzero(pivots == pivot)
                shares = self.shares[EVERY if pivot < 0 else block.names[pivot]]
                # Rotated by the golden ratio from block to block: otherwise small blocks would all choose alike.
                dealt = ((np.arange(len(mine)) + 0.5) / len(mine) + number * 0.618) % 1
                which = np.searchsorted(np.cumsum(list(shares.values())), dealt)
                shards[mine] = np.array(list(shares))[np.minimum(which, len(shares) - 1)]
        return shards


def ranked(counts: Mapping[str, float], names: list[str]) -> dict[str, int]:
    """Attributes by their frequency; those never seen come first."""
    return {name: rank for rank, name in enumerate(sorted(names, key=lambda name: (counts.get(name, 0), name)))}


def place(
    spark: SparkSession, blocks: Blocks, frequency: Mapping[str, float], names: list[str], shards: int | None
) -> Placement:
    """Balanced shards; a pivot with many subscriptions is split."""
    rank = ranked(frequency, names)
    sizes = _pivot_sizes(spark, blocks, rank)
    total = sum(sizes.values())
    wanted = shards or max(cores(spark), -(-total // MAX_SUBSCRIPTIONS), min(MANY_SHARDS, total // MIN_SUBSCRIPTIONS))
    size = min(wanted, max(1, total))
    return Placement(rank, balanced(sizes, size), size)


def balanced(sizes: Mapping[str, int], count: int) -> dict[str, dict[int, float]]:
    """The shards of every pivot, and the share of its subscriptions that each of them gets.

    Shards are filled one after the other; a pivot that does not fit into one continues in the next.

    >>> balanced({"a": 90, "b": 20, "c": 10}, 2)
    {'a': {0: 0.6666666666666666, 1: 0.3333333333333333}, 'b': {1: 1.0}, 'c': {1: 1.0}}
    """
    capacity = sum(sizes.values()) / count
    shard, room = 0, capacity
    found: dict[str, dict[int, float]] = {}
    for pivot, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        left = float(size)
        found[pivot] = {}
        while left > 0:
            taken = left if shard == count - 1 else min(left, room)
            found[pivot][shard] = taken / size
            left, room = left - taken, room - taken
            if room < 0.5 and shard < count - 1:
                shard, room = shard + 1, room + capacity
    return found


def place_more(spark: SparkSession, blocks: Blocks, version: Version, names: list[str]) -> Placement:
    """Where the subscriptions of an update go: as `extended` says, with the pivots ranked as before."""
    rank = {name: number for number, name in enumerate(version.order)}
    # An attribute that was not known before is taken for a rare one.
    rank |= {name: number - len(names) for number, name in enumerate(name for name in names if name not in rank)}
    sizes = _pivot_sizes(spark, blocks, rank) if blocks else {}
    shares, size = extended(sizes, version.pivots, [shard.subscriptions for shard in version.shards])
    return Placement(rank, shares, size)


def extended(
    sizes: Mapping[str, int], pivots: Mapping[str, list[int]], loads: list[int]
) -> tuple[dict[str, dict[int, float]], int]:
    """As `balanced`, with shards that have something in them already; also returns the number of shards.

    A subscription goes to the least full shard of its pivot that has room; else to the least full of all; else to a
    new one.

    >>> extended({"a": 1, "b": 2}, {"a": [0, 1]}, [8, 7])
    ({'a': {0: 1.0, 1: 0.0}, 'b': {1: 1.0}}, 2)
    """
    loads = list(loads)
    found = {pivot: dict.fromkeys(shards, 0.0) for pivot, shards in pivots.items()}
    for pivot, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        shares = found.setdefault(pivot, {})
        left = size
        while left:
            own = min(shares, key=loads.__getitem__, default=None)
            shard = own if own is not None and loads[own] < MAX_SUBSCRIPTIONS else int(np.argmin(loads))
            if loads[shard] >= MAX_SUBSCRIPTIONS:
                shard = len(loads)
                loads.append(0)
            taken = min(left, MAX_SUBSCRIPTIONS - loads[shard])
            shares[shard] = shares.get(shard, 0.0) + taken / size
            loads[shard] += taken
            left -= taken
    return found, len(loads)


PIVOT = "name string, size long"


def _pivot_sizes(spark: SparkSession, blocks: Blocks, rank: dict[str, int]) -> dict[str, int]:
    """How many subscriptions have each attribute as their pivot."""
    found = run(spark, len(blocks), _Counting(blocks, rank), PIVOT)
    # One task is enough: there are at most as many rows as blocks times attributes.
    summed = found.repartition(1).groupBy("name").agg(F.sum("size").alias("size"))
    return {row.name: row.size for row in summed.collect()}


class _Counting(Task):
    """The pivots of a block, with the number of their subscriptions."""

    def __init__(self, blocks: Blocks, rank: dict[str, int]) -> None:
        self._blocks, self._rank = blocks, rank

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        block = self._blocks.read(number)
        pivots, sizes = np.unique(block.pivots(self._rank), return_counts=True)
        known = pivots != NOWHERE
        yield rows(PIVOT, [EVERY if p < 0 else block.names[p] for p in pivots[known].tolist()], sizes[known])


PLACED = "number int, name string"


class _Placing(Task):
    """Notes for a block which of its subscriptions go to which shard.

    start  |0|2|5|          the slots for shard s are slot[start[s]:start[s+1]]
    slot   |4 7|0 1 9|
    """

    def __init__(self, blocks: Blocks, placement: Placement) -> None:
        self._blocks, self._placement = blocks, placement

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        shards = self._placement.of(self._blocks.read(number), number)
        order = np.argsort(shards, kind="stable").astype(np.int32)
        start = np.searchsorted(shards[order], np.arange(self._placement.size + 1))
        # A directory of its own: a task may be run twice.
        folder = fresh(self._blocks.staged, "placed")
        directory.save(folder, {"shard": {"start": start, "slot": order}}, {}, make=False, durable=False)
        yield rows(PLACED, [number], [folder.name])


def placed(spark: SparkSession, blocks: Blocks, placement: Placement) -> list[str]:
    """The names of the directories that say, block by block, which subscription goes where."""
    found = run(spark, len(blocks), _Placing(blocks, placement), PLACED).collect()
    return [row.name for row in sorted(found, key=lambda row: row.number)]


def slots_for(staged: Path, placed: str, shard: int) -> I32:
    """The subscriptions of a block that go to a shard."""
    noted = directory.load(staged / placed, verify=False)[0]["shard"]
    return noted["slot"][noted["start"][shard] : noted["start"][shard + 1]]
