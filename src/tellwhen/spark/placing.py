"""Which shard does a subscription go to?

Its cover has a place on a line (`warehouse/stages.py`), which is chosen from a sample of the subscriptions and cut into
*cells*. Shards are filled with one cell after the other; a cell with many subscriptions is split among several shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.compile.extract import Extract, extract
from tellwhen.compile.store import Store
from tellwhen.compile.translation import translated
from tellwhen.kernels.arrays import I32, I64
from tellwhen.persistence import directory
from tellwhen.profile import TypicalEvents
from tellwhen.spark.blocks import Block, Blocks
from tellwhen.spark.tasks import Task, cores, rows, run
from tellwhen.warehouse.commits import fresh
from tellwhen.warehouse.opening import read_dictionary, read_profile
from tellwhen.warehouse.routes import Cells, Routes, Routing, read_routing, write_routing
from tellwhen.warehouse.stages import Stages, chosen_stages, expected_shares
from tellwhen.warehouse.versions import Version

MAX_SUBSCRIPTIONS = 250_000
"""Subscriptions in a shard."""

MIN_SUBSCRIPTIONS, MANY_SHARDS = 8_000, 64
"""Up to 64 shards, each has at least 8,000 subscriptions: an event meets only some of many shards, but each of them is
twenty files."""

SAMPLE = 1 << 16
"""Subscriptions by which the line is chosen."""

CELLS_PER_SHARD = 16

SPLIT_SHARE = 1 / 4
"""A cell with more than this share of a shard's subscriptions may be split among shards."""


class Placement(NamedTuple):
    """Where subscriptions go."""

    stages: Stages
    cells: Cells
    line: Path  # the directory with both
    found: list[str]  # by block: the directory with the cell of each subscription
    shares: list[dict[int, float]]  # by cell: its shards, and the share of its new subscriptions for each
    size: int  # shards

    def routing(self, routes: Routes) -> Routing:
        """To be saved with the version."""
        return Routing(self.stages, self.cells.having([list(shares) for shares in self.shares]), routes)


def place(spark: SparkSession, blocks: Blocks, dictionary: Path, shards: int | None) -> Placement:
    """Balanced shards along a line that is chosen for these subscriptions."""
    total = blocks.subscriptions
    wanted = shards or max(cores(spark), -(-total // MAX_SUBSCRIPTIONS), min(MANY_SHARDS, total // MIN_SUBSCRIPTIONS))
    size = min(wanted, max(1, total))
    stages, cells = _line(_sampled(spark, blocks, dictionary), size)
    line = _written(blocks.staged, stages, cells)
    found, sizes = _found(spark, blocks, dictionary, line, len(cells.stage) + 1)
    return Placement(stages, cells, line, found, balanced(sizes, size), size)


def _sampled(spark: SparkSession, blocks: Blocks, dictionary: Path) -> Store:
    """A sample of the subscriptions, with the dictionary and the events to expect."""
    store = Store()
    store.attributes = read_dictionary(dictionary)
    store.expect(TypicalEvents(read_profile(dictionary), store))
    share = min(1.0, SAMPLE / max(1, blocks.subscriptions))
    sampled = run(spark, len(blocks), _Sampling(blocks, dictionary, share), NAMED).collect()
    for row in sorted(sampled, key=lambda row: row.number):
        arrays = directory.load(blocks.staged / row.name, verify=False)[0]
        part = Store()
        part.restore(arrays["store"], store.attributes, 0, 0)
        store.adopt(extract(part.snapshot(), part.alive()))
    return store


def _line(sample: Store, shards: int) -> tuple[Stages, Cells]:
    """The stages, and the cells into which a sample of subscriptions cuts them."""
    snapshot, typical = sample.snapshot(), sample.typical()
    some = extract(snapshot, sample.alive())
    marginals = typical.marginals_if_known(snapshot.domains)
    stages = chosen_stages(some, expected_shares(some, snapshot.domains, marginals), shards)
    found = stages.find(some)
    return stages, cut(found.stage, found.point, CELLS_PER_SHARD * shards)


def cut(stage: I64, point: I64, count: int) -> Cells:
    """Cut the line into about `count` cells of equal size. Each stage begins a new cell, and a point that many
    subscriptions share is a cell of its own.

    >>> cut(np.array([0, 0, 0, 0, 1]), np.array([5, 5, 5, 7, 5]), 2)[:2]
    (array([0, 1]), array([7, 5]))
    """
    order = np.lexsort((point, stage))
    stage, point = stage[order], point[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (stage[1:] != stage[:-1]) | (point[1:] != point[:-1])
    begin = np.append(np.flatnonzero(is_new), len(order))  # where the subscriptions of each place begin
    number = np.cumsum(is_new) - 1
    at = number[(np.arange(1, count) * len(order)) // count] if len(order) else np.zeros(0, dtype=np.int64)
    is_large = np.diff(begin)[at] * count > len(order)
    is_first = np.flatnonzero(is_new & np.append(True, stage[1:] != stage[:-1])[: len(order)])
    chosen = np.unique(np.concatenate([at, at[is_large] + 1, number[is_first]]))
    where = begin[chosen[(chosen > 0) & (chosen < len(begin) - 1)]]
    return Cells(stage[where], point[where], np.zeros(len(where) + 2, np.int64), np.zeros(0, np.int64))


def balanced(sizes: Sequence[int], count: int) -> list[dict[int, float]]:
    """The shards of every cell, and the share of its subscriptions that each of them gets.

    Shards are filled one after the other. A small cell stays whole.

    >>> balanced([90, 6, 24], 2)
    [{0: 0.6666666666666666, 1: 0.3333333333333333}, {1: 1.0}, {1: 1.0}]
    """
    capacity = max(1.0, sum(sizes) / count)
    found: list[dict[int, float]] = []
    begin = 0.0
    for size in sizes:
        end = begin + size
        first, last = (min(count - 1, int(at / capacity)) for at in (begin, max(begin, end - 1)))
        if first == last or size <= SPLIT_SHARE * capacity:
            found.append({min(count - 1, int((begin + end) / 2 / capacity)): 1.0})
        else:
            bounds = [begin, *(shard * capacity for shard in range(first + 1, last + 1)), end]
            shards = range(first, last + 1)
            found.append({shard: (bounds[i + 1] - bounds[i]) / size for i, shard in enumerate(shards)})
        begin = end
    return found


def place_more(
    spark: SparkSession, blocks: Blocks, version: Version, dictionary: Path, moved: Mapping[int, Moved]
) -> Placement:
    """Where the subscriptions of an update go: on the same line as before, as `extended` says."""
    stages, cells, _ = read_routing(blocks.staged.parent / version.routing)
    if moved:
        stages, cells = stages.moved(moved), _moved(stages, cells, moved)
    line = _written(blocks.staged, stages, cells)
    found, sizes = _found(spark, blocks, dictionary, line, len(cells.stage) + 1)
    shares, size = extended(sizes, cells.shards(), [shard.subscriptions for shard in version.shards])
    return Placement(stages, cells, line, found, shares, size)


def _moved(stages: Stages, cells: Cells, moved: Mapping[int, Moved]) -> Cells:
    point = cells.point.copy()
    domains = stages.domains(cells.stage)
    for domain, moves in moved.items():
        point[domains == domain] = moves(point[domains == domain])
    return cells._replace(point=point)


def extended(
    sizes: Sequence[int], cells: Sequence[Sequence[int]], loads: list[int]
) -> tuple[list[dict[int, float]], int]:
    """As `balanced`, with shards that have something in them already; also returns the number of shards.

    A subscription goes to the least full shard of its cell that has room; else to the least full of all; else to a
    new one.

    >>> extended([1, 2], [[0, 1], [1]], [8, 7])
    ([{0: 1.0, 1: 0.0}, {1: 1.0}], 2)
    """
    loads = list(loads)
    found = [dict.fromkeys(shards, 0.0) for shards in cells]
    for cell, size in sorted(enumerate(sizes), key=lambda item: (-item[1], item[0])):
        shares = found[cell]
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


NAMED = "number int, name string"
"""A block, and a directory in staging with what was found of it. A task may be run twice: each time it has its own."""


class _Sampling(Task):
    """Some subscriptions of a block, in terms of the dictionary."""

    def __init__(self, blocks: Blocks, dictionary: Path, share: float) -> None:
        self._blocks, self._dictionary, self._share = blocks, dictionary, share

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        block = self._blocks.read(number)
        count = len(block.store)
        slots = np.linspace(0, count - 1, -int(-count * self._share // 1)).astype(np.int32)
        sample = Store()
        sample.attributes = read_dictionary(self._dictionary)
        sample.adopt(_in_terms_of(sample.attributes, block, slots))
        folder = fresh(self._blocks.staged, "sample")
        directory.save(folder, {"store": sample.arrays()}, {}, make=False, durable=False)
        yield rows(NAMED, [number], [folder.name])


def _in_terms_of(attributes: Attributes, block: Block, slots: I32) -> Extract:
    found = extract(block.store.snapshot(), slots)
    return found._replace(literals=translated(found.literals, block.store.attributes, attributes))


def _written(staged: Path, stages: Stages, cells: Cells) -> Path:
    """Where tasks read the line."""
    folder = fresh(staged, "line")
    write_routing(folder, Routing(stages, cells, Routes.of([])), durable=False)
    return folder


def _found(
    spark: SparkSession, blocks: Blocks, dictionary: Path, line: Path, cells: int
) -> tuple[list[str], list[int]]:
    """Directories with the cell of every subscription, block by block, and how many each cell has."""
    sizes = np.zeros(cells, dtype=np.int64)
    found = run(spark, len(blocks), _Finding(blocks, dictionary, line), NAMED).collect() if blocks else []
    names = [row.name for row in sorted(found, key=lambda row: row.number)]
    for name in names:
        sizes += directory.load(blocks.staged / name, verify=False)[0]["cell"]["size"]
    return names, sizes.tolist()


class _Finding(Task):
    """The cell of every subscription of a block."""

    def __init__(self, blocks: Blocks, dictionary: Path, line: Path) -> None:
        self._blocks, self._dictionary, self._line = blocks, dictionary, line

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        block = self._blocks.read(number)
        stages, cells, _ = read_routing(self._line, verify=False)
        slots = np.arange(len(block.store), dtype=np.int32)
        found = stages.find(_in_terms_of(read_dictionary(self._dictionary), block, slots))
        cell = cells.of(found.stage, found.point)
        folder = fresh(self._blocks.staged, "found")
        size = np.bincount(cell, minlength=len(cells.stage) + 1)
        arrays: dict[str, np.ndarray] = {"of": cell.astype(np.int32), "size": size}
        directory.save(folder, {"cell": arrays}, {}, make=False, durable=False)
        yield rows(NAMED, [number], [folder.name])


class _Placing(Task):
    """Notes for a block which of its subscriptions go to which shard.

    start  |0|2|5|          the slots for shard s are slot[start[s]:start[s+1]]
    slot   |4 7|0 1 9|
    """

    def __init__(self, staged: Path, placement: Placement) -> None:
        self._staged, self._found = staged, placement.found
        self._shares, self._size = placement.shares, placement.size

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        cells = directory.load(self._staged / self._found[number], verify=False)[0]["cell"]["of"]
        shards = dealt(cells, self._shares, number)
        order = np.argsort(shards, kind="stable").astype(np.int32)
        start = np.searchsorted(shards[order], np.arange(self._size + 1))
        folder = fresh(self._staged, "placed")
        directory.save(folder, {"shard": {"start": start, "slot": order}}, {}, make=False, durable=False)
        yield rows(NAMED, [number], [folder.name])


def dealt(cells: I32, shares: list[dict[int, float]], block: int) -> I64:
    """The shard of every subscription of a block. Those of a split cell are dealt out by its shards' shares."""
    shards = np.zeros(len(cells), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    present, begin = np.unique(cells[order], return_index=True)
    for cell, mine in zip(present.tolist(), np.split(order, begin[1:]), strict=False):
        # Rotated by the golden ratio from block to block: otherwise small blocks would all choose alike.
        position = ((np.arange(len(mine)) + 0.5) / len(mine) + block * 0.618) % 1
        which = np.searchsorted(np.cumsum(list(shares[cell].values())), position)
        shards[mine] = np.array(list(shares[cell]))[np.minimum(which, len(shares[cell]) - 1)]
    return shards


def placed(spark: SparkSession, blocks: Blocks, placement: Placement) -> list[str]:
    """The names of the directories that say, block by block, which subscription goes where."""
    found = run(spark, len(blocks), _Placing(blocks.staged, placement), NAMED).collect()
    return [row.name for row in sorted(found, key=lambda row: row.number)]


def slots_for(staged: Path, placed: str, shard: int) -> I32:
    """The subscriptions of a block that go to a shard."""
    noted = directory.load(staged / placed, verify=False)[0]["shard"]
    return noted["slot"][noted["start"][shard] : noted["start"][shard + 1]]
