"""Placement of subscriptions in shards.

The cover of a subscription gives it a place: a stage and a point on it (`warehouse/stages.py`). The stages are chosen
from a sample of the subscriptions, and cut into *cells*: ranges of places. Shards are filled with one cell after the
other; a cell with many subscriptions is split among several shards.

    blocks --sample--> stages and cells --find places--> covers and cells --split cells--> slots by shard

Covers are chosen once: they also determine the routes of the shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.extract import Extract, extract
from tellwhen.compile.store import Store
from tellwhen.compile.translation import translate_predicates
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.kernels.arrays import I32, I64
from tellwhen.persistence import directory
from tellwhen.profile import TypicalEvents
from tellwhen.spark.blocks import Block, Blocks
from tellwhen.spark.tasks import Task, count_cores, make_rows, run_tasks
from tellwhen.warehouse.commits import make_folder
from tellwhen.warehouse.opening import read_dictionary, read_profile
from tellwhen.warehouse.routes import Cells, Covers, Routes, Routing, ShardRoutes, read_routing, write_routing
from tellwhen.warehouse.stages import Stages, choose_stages, estimate_shares
from tellwhen.warehouse.versions import Version

SUBSCRIPTIONS_PER_SHARD_MAX = 250_000
"""Most subscriptions of a shard, unless the number of shards is given."""

SUBSCRIPTIONS_PER_SHARD_MIN, SMALL_SHARDS_MAX = 8_000, 64
"""Make up to 64 shards with at least 8,000 subscriptions each.

An event meets only some of many shards, but each shard has twenty files.
"""

SAMPLED_SUBSCRIPTIONS_MAX = 1 << 16
"""Most subscriptions from which the stages are chosen."""

CELLS_PER_SHARD = 16

SPLIT_SHARE = 1 / 4
"""Split a cell among shards if it has more than this share of the subscriptions of a shard."""


class Placement(NamedTuple):
    """The stages, their cells, and the shards of each cell."""

    stages: Stages
    cells: Cells
    stages_folder: Path  # the folder with both
    places: list[str]  # by block: the folder with the cells and covers of its subscriptions
    shares: list[dict[int, float]]  # by cell: its shards, and the share of its new subscriptions for each
    shard_count: int

    def make_routing(self, routes: Routes) -> Routing:
        """Combine the placement with the routes, to be saved with the version."""
        return Routing(self.stages, self.cells.replace_shards([list(shares) for shares in self.shares]), routes)


def place_blocks(spark: SparkSession, blocks: Blocks, dictionary: Path, shards: int | None) -> Placement:
    """Choose the stages for the subscriptions of a build, and distribute the subscriptions to shards of equal size."""
    total = blocks.subscriptions
    usual_count = max(
        count_cores(spark),
        -(-total // SUBSCRIPTIONS_PER_SHARD_MAX),
        min(SMALL_SHARDS_MAX, total // SUBSCRIPTIONS_PER_SHARD_MIN),
    )
    shard_count = min(shards or usual_count, max(1, total))
    stages, cells = _choose_stages_and_cells(_sample_blocks(spark, blocks, dictionary), shard_count)
    stages_folder = _write_stages_and_cells(blocks.staged, stages, cells)
    places, sizes = _write_places(spark, blocks, dictionary, stages_folder, len(cells.stage) + 1)
    return Placement(stages, cells, stages_folder, places, distribute_to_new_shards(sizes, shard_count), shard_count)


def _sample_blocks(spark: SparkSession, blocks: Blocks, dictionary: Path) -> Store:
    """Return a sample of the subscriptions, in terms of the dictionary and with the typical events."""
    store = Store()
    store.attributes = read_dictionary(dictionary)
    store.set_typical(TypicalEvents(read_profile(dictionary), store))
    share = min(1.0, SAMPLED_SUBSCRIPTIONS_MAX / max(1, blocks.subscriptions))
    sampled = run_tasks(spark, len(blocks), _BlockSampler(blocks, dictionary, share), RESULT_FOLDER).collect()
    for row in sorted(sampled, key=lambda row: row.number):
        arrays = directory.load(blocks.staged / row.name, verify=False)[0]
        part = Store()
        part.restore(arrays["store"], store.attributes, 0, 0)
        store.adopt(extract(part.snapshot(), part.find_alive()))
    return store


def _choose_stages_and_cells(sample: Store, shards: int) -> tuple[Stages, Cells]:
    """Choose the stages for a sample of the subscriptions, and cut them into cells."""
    snapshot, typical = sample.snapshot(), sample.typical()
    subscriptions = extract(snapshot, sample.find_alive())
    marginals = typical.marginals_if_known(snapshot.domains)
    stages = choose_stages(subscriptions, estimate_shares(subscriptions, snapshot.domains, marginals), shards)
    places = stages.find_places(subscriptions)
    return stages, cut_into_cells(places.stage, places.point, CELLS_PER_SHARD * shards)


def cut_into_cells(stage: I64, point: I64, count: int) -> Cells:
    """Cut the stages into about `count` cells with equally many subscriptions.

    `stage` and `point` are the places of the subscriptions. Each stage begins a new cell, and a point that many
    subscriptions share has a cell to itself.

    >>> cut_into_cells(np.array([0, 0, 0, 0, 1]), np.array([5, 5, 5, 7, 5]), 2)[:2]
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


def distribute_to_new_shards(sizes: Sequence[int], count: int) -> list[dict[int, float]]:
    """Distribute the subscriptions of cells to `count` new shards of equal size.

    Return, by cell, its shards and the share of its subscriptions that each of them gets. Shards are filled one after
    the other. A small cell is not split.

    >>> distribute_to_new_shards([90, 6, 24], 2)
    [{0: 0.6666666666666666, 1: 0.3333333333333333}, {1: 1.0}, {1: 1.0}]
    """
    capacity = max(1.0, sum(sizes) / count)
    shares: list[dict[int, float]] = []
    begin = 0.0
    for size in sizes:
        end = begin + size
        first, last = (min(count - 1, int(at / capacity)) for at in (begin, max(begin, end - 1)))
        if first == last or size <= SPLIT_SHARE * capacity:
            shares.append({min(count - 1, int((begin + end) / 2 / capacity)): 1.0})
        else:
            bounds = [begin, *(shard * capacity for shard in range(first + 1, last + 1)), end]
            shards = range(first, last + 1)
            shares.append({shard: (bounds[i + 1] - bounds[i]) / size for i, shard in enumerate(shards)})
        begin = end
    return shares


def place_additions(
    spark: SparkSession, blocks: Blocks, version: Version, dictionary: Path, moved: Mapping[int, LabelMoves]
) -> Placement:
    """Find the places of new subscriptions on the stages of the version, and distribute them to its shards."""
    stages, cells, _ = read_routing(blocks.staged.parent / version.routing)
    if moved:
        stages, cells = stages.move_labels(moved), _move_labels(stages, cells, moved)
    stages_folder = _write_stages_and_cells(blocks.staged, stages, cells)
    places, sizes = _write_places(spark, blocks, dictionary, stages_folder, len(cells.stage) + 1)
    loads = [shard.subscriptions for shard in version.shards]
    shares, shard_count = distribute_to_existing_shards(sizes, cells.list_shards(), loads, SUBSCRIPTIONS_PER_SHARD_MAX)
    return Placement(stages, cells, stages_folder, places, shares, shard_count)


def _move_labels(stages: Stages, cells: Cells, moved: Mapping[int, LabelMoves]) -> Cells:
    point = cells.point.copy()
    domains = stages.find_domains(cells.stage)
    for domain, moves in moved.items():
        point[domains == domain] = moves.map_points(point[domains == domain])
    return cells._replace(point=point)


def distribute_to_existing_shards(
    sizes: Sequence[int],
    cells: Sequence[Sequence[int]],
    loads: Sequence[int],
    capacity: int,
) -> tuple[list[dict[int, float]], int]:
    """Distribute the new subscriptions of cells to shards that have subscriptions already.

    Return, by cell, its shards and the share of its new subscriptions that each of them gets; and the number of shards
    after that. Subscriptions go to the least full shard of their cell that has room. If there is none, they go to the
    least full of all shards, and if all are full, to a new shard.

    Parameters
    ----------
    sizes
        The number of new subscriptions by cell.
    cells
        The shards of each cell.
    loads
        The number of subscriptions in each shard.
    capacity
        The number of subscriptions of a full shard.

    Examples
    --------
    >>> distribute_to_existing_shards([1, 2], [[0, 1], [1]], [8, 7], 10)
    ([{0: 1.0, 1: 0.0}, {1: 1.0}], 2)
    """
    loads = list(loads)
    found = [dict.fromkeys(shards, 0.0) for shards in cells]
    for cell, size in sorted(enumerate(sizes), key=lambda item: (-item[1], item[0])):
        shares = found[cell]
        left = size
        while left:
            least_full = min(shares, key=loads.__getitem__, default=None)
            has_room = least_full is not None and loads[least_full] < capacity
            shard = least_full if least_full is not None and has_room else int(np.argmin(loads))
            if loads[shard] >= capacity:
                shard = len(loads)
                loads.append(0)
            count = min(left, capacity - loads[shard])
            shares[shard] = shares.get(shard, 0.0) + count / size
            loads[shard] += count
            left -= count
    return found, len(loads)


RESULT_FOLDER = "number int, name string"
"""Row of a task: the number of a block, and the staged folder with the result.

A task may run twice; each run has a folder of its own.
"""


class _BlockSampler(Task):
    """Task that samples the subscriptions of a block."""

    def __init__(self, blocks: Blocks, dictionary: Path, share: float) -> None:
        self._blocks, self._dictionary, self._share = blocks, dictionary, share

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        block = self._blocks.read(block_number)
        count = len(block.store)
        slots = np.linspace(0, count - 1, -int(-count * self._share // 1)).astype(np.int32)
        sample = Store()
        sample.attributes = read_dictionary(self._dictionary)
        sample.adopt(_translate_slots(sample.attributes, block, slots))
        folder = make_folder(self._blocks.staged, "sample")
        directory.save(folder, {"store": sample.arrays()}, {}, make=False, durable=False)
        yield make_rows(RESULT_FOLDER, [block_number], [folder.name])


def _translate_slots(attributes: Attributes, block: Block, slots: I32) -> Extract:
    """Extract subscriptions from a block, with the labels of the dictionary."""
    subscriptions = extract(block.store.snapshot(), slots)
    literals = translate_predicates(subscriptions.literals, block.store.attributes, attributes)
    return subscriptions._replace(literals=literals)


def _write_stages_and_cells(staged: Path, stages: Stages, cells: Cells) -> Path:
    """Write the stages and cells for the tasks; return the folder."""
    folder = make_folder(staged, "stages")
    write_routing(folder, Routing(stages, cells, Routes.from_shards([])), durable=False)
    return folder


def _write_places(
    spark: SparkSession, blocks: Blocks, dictionary: Path, stages_folder: Path, cells: int
) -> tuple[list[str], list[int]]:
    """Write the cells and covers of all subscriptions; return the folder of each block, and the size of each cell."""
    sizes = np.zeros(cells, dtype=np.int64)
    work = _PlaceWriter(blocks, dictionary, stages_folder)
    rows = run_tasks(spark, len(blocks), work, RESULT_FOLDER).collect() if blocks else []
    names = [row.name for row in sorted(rows, key=lambda row: row.number)]
    for name in names:
        sizes += directory.load(blocks.staged / name, verify=False)[0]["cell"]["size"]
    return names, sizes.tolist()


class _PlaceWriter(Task):
    """Task that chooses the covers of the subscriptions of a block, finds their cells, and writes both."""

    def __init__(self, blocks: Blocks, dictionary: Path, stages_folder: Path) -> None:
        self._blocks, self._dictionary, self._stages_folder = blocks, dictionary, stages_folder

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        block = self._blocks.read(block_number)
        stages, cells, _ = read_routing(self._stages_folder, verify=False)
        slots = np.arange(len(block.store), dtype=np.int32)
        subscriptions = _translate_slots(read_dictionary(self._dictionary), block, slots)
        places = stages.find_places(subscriptions)
        cell = cells.find_cells(places.stage, places.point)
        size = np.bincount(cell, minlength=len(cells.stage) + 1)
        parts: dict[str, dict[str, np.ndarray]] = {
            "cell": {"by_slot": cell.astype(np.int32), "size": size},
            "covers": flatten(Covers.from_places(places, subscriptions)),
        }
        folder = make_folder(self._blocks.staged, "places")
        directory.save(folder, parts, {}, make=False, durable=False)
        yield make_rows(RESULT_FOLDER, [block_number], [folder.name])


class _Assignment(Task):
    """Task that assigns the subscriptions of a block to shards.

    start  |0|2|5|          shard s gets the slots slot[start[s]:start[s+1]]
    slot   |4 7|0 1 9|
    """

    def __init__(self, staged: Path, placement: Placement) -> None:
        self._staged, self._places = staged, placement.places
        self._shares, self._shard_count = placement.shares, placement.shard_count

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        cells = directory.load(self._staged / self._places[block_number], verify=False)[0]["cell"]["by_slot"]
        shards = split_cells(cells, self._shares, block_number)
        order = np.argsort(shards, kind="stable").astype(np.int32)
        start = np.searchsorted(shards[order], np.arange(self._shard_count + 1))
        folder = make_folder(self._staged, "slots")
        directory.save(folder, {"shard": {"start": start, "slot": order}}, {}, make=False, durable=False)
        yield make_rows(RESULT_FOLDER, [block_number], [folder.name])


def split_cells(cells: I32, shares: list[dict[int, float]], block: int) -> I64:
    """Return the shard of every subscription of a block; split cells follow the shares of their shards."""
    shards = np.zeros(len(cells), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    present, begin = np.unique(cells[order], return_index=True)
    for cell, slots in zip(present.tolist(), np.split(order, begin[1:]), strict=False):
        # Rotated by the golden ratio from block to block: otherwise all small blocks would choose the same shard.
        position = ((np.arange(len(slots)) + 0.5) / len(slots) + block * 0.618) % 1
        which = np.searchsorted(np.cumsum(list(shares[cell].values())), position)
        shards[slots] = np.array(list(shares[cell]))[np.minimum(which, len(shares[cell]) - 1)]
    return shards


@dataclass(frozen=True)
class Assignments:
    """The slots that each shard gets from each block, and the covers of these subscriptions, in staging."""

    staged: Path
    places: list[str]  # by block: the folder with its covers
    slots: list[str]  # by block: the folder with its slots by shard

    def read_slots(self, shard: int) -> list[tuple[int, I32]]:
        """Return the slots that a shard gets, from each block that has any for it."""
        found = []
        for block, folder in enumerate(self.slots):
            by_shard = directory.load(self.staged / folder, verify=False)[0]["shard"]
            slots = by_shard["slot"][by_shard["start"][shard] : by_shard["start"][shard + 1]]
            if len(slots):
                found.append((block, slots))
        return found

    def read_routes(self, block: int, slots: I32) -> ShardRoutes:
        """Return the routes to subscriptions of a block."""
        arrays = directory.load(self.staged / self.places[block], verify=False)[0]["covers"]
        return unflatten(Covers, arrays).find_routes(slots)


def assign_slots(spark: SparkSession, blocks: Blocks, placement: Placement) -> Assignments:
    """Assign the subscriptions of all blocks to the shards of the placement."""
    work = _Assignment(blocks.staged, placement)
    rows = run_tasks(spark, len(blocks), work, RESULT_FOLDER).collect() if blocks else []
    names = [row.name for row in sorted(rows, key=lambda row: row.number)]
    return Assignments(blocks.staged, placement.places, names)
