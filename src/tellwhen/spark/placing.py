"""Who goes to which shard?

A subscription goes to the shard of its *pivot*: of the attributes it cannot do without, the one that fewest events
carry (OpIndex, section 4.1). An event then concerns only the shards of the attributes it carries. What needs no
attribute at all has the pivot "", which every event carries.
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
from tellwhen.spark.blocks import NOWHERE, Block, read_block
from tellwhen.spark.tasks import Task, cores, rows, run
from tellwhen.spark.warehouse import Version, fresh

EVERY = ""
"""The pivot of subscriptions that any event may satisfy."""

SIZE, SMALL, MANY = 250_000, 8_000, 64
"""Subscriptions in a shard at most; and at least, as long as there are not so many shards.

Many shards are good, since an event concerns only some of them; and bad, since each is twenty files.
"""


class Placement(NamedTuple):
    """Where subscriptions go: the rank of every attribute, rare ones first, and the shards of every pivot with the
    share of its new subscriptions that each gets."""

    rank: dict[str, int]
    shares: dict[str, dict[int, float]]
    size: int

    @property
    def pivots(self) -> dict[str, list[int]]:
        return {pivot: list(shares) for pivot, shares in self.shares.items()}

    @property
    def order(self) -> list[str]:
        """The attributes, rare ones first."""
        return sorted(self.rank, key=self.rank.__getitem__)

    def of(self, block: Block, offset: int) -> I64:
        """The shard of every subscription of a block. Those of a split pivot are dealt out by its shards' shares."""
        pivots = block.pivots(self.rank)
        places = np.zeros(len(pivots), dtype=np.int64)
        for pivot in np.unique(pivots).tolist():
            if pivot != NOWHERE:
                mine = np.flatnonzero(pivots == pivot)
                shares = self.shares[EVERY if pivot < 0 else block.names[pivot]]
                # Turned by the golden section from block to block, so that small blocks do not all choose alike.
                dealt = ((np.arange(len(mine)) + 0.5) / len(mine) + offset * 0.618) % 1
                shard = np.searchsorted(np.cumsum(list(shares.values())), dealt)
                places[mine] = np.array(list(shares))[np.minimum(shard, len(shares) - 1)]
        return places


def ranked(counts: Mapping[str, float], names: list[str]) -> dict[str, int]:
    """Attributes in the order of their frequency; those never seen come first."""
    return {name: place for place, name in enumerate(sorted(names, key=lambda name: (counts.get(name, 0), name)))}


def place(
    spark: SparkSession, staged: Path, blocks: list[str], frequency: Mapping[str, float] | None, names: list[str],
    shards: int | None,
) -> Placement:  # fmt: skip
    """Balanced shards; a heavy pivot is split."""
    if frequency is None:
        # No event log: an attribute that few subscriptions need is taken for a rare one.
        frequency = _sums(spark, len(blocks), _Counting(staged, blocks, None))
    rank = ranked(frequency, names)
    sizes = _sums(spark, len(blocks), _Counting(staged, blocks, rank))
    total = sum(sizes.values())
    wanted = shards or max(cores(spark), -(-total // SIZE), min(MANY, total // SMALL))
    size = min(wanted, max(1, total))
    return Placement(rank, balanced(sizes, size), size)


def balanced(sizes: Mapping[str, int], count: int) -> dict[str, dict[int, float]]:
    """The shards of every pivot, each with the share of its subscriptions that goes there: shards are filled one after
    the other, and a pivot that does not fit goes on in the next.

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


def place_more(spark: SparkSession, staged: Path, blocks: list[str], version: Version, names: list[str]) -> Placement:
    """Where changes go: as `more` says, with the pivots chosen as they were before."""
    rank = {name: place for place, name in enumerate(version.order)}
    # An attribute that was not known before is taken for a rare one.
    rank |= {name: place - len(names) for place, name in enumerate(name for name in names if name not in rank)}
    sizes = _sums(spark, len(blocks), _Counting(staged, blocks, rank)) if blocks else {}
    shares, size = more(sizes, version.pivots, [shard.subscriptions for shard in version.shards])
    return Placement(rank, shares, size)


def more(
    sizes: Mapping[str, int], pivots: Mapping[str, list[int]], loads: list[int]
) -> tuple[dict[str, dict[int, float]], int]:
    """As `balanced`, for what comes later: to the shard of its pivot that has least, as long as that one has room;
    then to any; then to new shards. Returns the number of shards, too.

    >>> more({"a": 1, "b": 2}, {"a": [0, 1]}, [8, 7])
    ({'a': {0: 1.0, 1: 0.0}, 'b': {1: 1.0}}, 2)
    """
    loads = list(loads)
    found = {pivot: dict.fromkeys(shards, 0.0) for pivot, shards in pivots.items()}
    for pivot, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        shares = found.setdefault(pivot, {})
        left = size
        while left:
            own = min(shares, key=loads.__getitem__, default=None)
            shard = own if own is not None and loads[own] < SIZE else int(np.argmin(loads))
            if loads[shard] >= SIZE:
                shard = len(loads)
                loads.append(0)
            taken = min(left, SIZE - loads[shard])
            shares[shard] = shares.get(shard, 0.0) + taken / size
            loads[shard] += taken
            left -= taken
    return found, len(loads)


COUNT = "name string, size long"


def _sums(spark: SparkSession, blocks: int, task: Task) -> dict[str, int]:
    found = run(spark, blocks, task, COUNT).groupBy("name").agg(F.sum("size").alias("size"))
    return {row.name: row.size for row in found.collect()}


class _Counting(Task):
    """How many subscriptions of blocks need each attribute; or, given ranks, have it as their pivot."""

    def __init__(self, staged: Path, blocks: list[str], rank: dict[str, int] | None) -> None:
        self._staged, self._blocks, self._rank = staged, blocks, rank

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        block = read_block(self._staged / self._blocks[number])
        if self._rank is None:
            yield rows(COUNT, block.names, np.bincount(block.need, minlength=len(block.names)))
            return
        pivots, sizes = np.unique(block.pivots(self._rank), return_counts=True)
        known = pivots != NOWHERE
        yield rows(COUNT, [EVERY if p < 0 else block.names[p] for p in pivots[known].tolist()], sizes[known])


PLACES = "number int, name string"


class _Placing(Task):
    """Notes beside each block which of its subscriptions go to which shard."""

    def __init__(self, staged: Path, blocks: list[str], placement: Placement) -> None:
        self._staged, self._blocks, self._placement = staged, blocks, placement

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        directory = self._staged / self._blocks[number]
        places = self._placement.of(read_block(directory), number)
        order = np.argsort(places, kind="stable").astype(np.int32)
        bounds = np.searchsorted(places[order], np.arange(self._placement.size + 1))
        # A directory of its own: a task may be run twice.
        aside = fresh(self._staged, "places")
        directory.save(aside, {"shard": {"start": bounds, "slot": order}}, {}, make=False)
        yield rows(PLACES, [number], [aside.name])


def placed(spark: SparkSession, staged: Path, blocks: list[str], placement: Placement) -> list[str]:
    """Where it is noted, block by block, who goes where."""
    found = run(spark, len(blocks), _Placing(staged, blocks, placement), PLACES).collect()
    return [row.name for row in sorted(found, key=lambda row: row.number)]


def slots_for(staged: Path, places: str, number: int) -> I32:
    """The subscriptions of a block that go to a shard."""
    noted = directory.load(staged / places, verify=False)[0]["shard"]
    return noted["slot"][noted["start"][number] : noted["start"][number + 1]]
