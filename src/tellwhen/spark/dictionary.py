"""The dictionary of an index: every domain and every string constant of all blocks, collected and sorted by Spark.

blocks   sorted: attribute  kind    pattern  text       a file per task, and its runs      dictionary
  o --.          genre      string           null  --.
  o ---+-->      genre      string           crime ---+-->  genre string: 2 texts  ------>     o
  o --'          genre      string           travel  '      price int
                 price      int              null
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes, DomainKey
from tellwhen.compile.dictionary import LabelMoves, spread_labels
from tellwhen.containers.texts import Texts
from tellwhen.persistence import directory
from tellwhen.persistence.attributes import collect_dictionary_arrays, describe_attributes
from tellwhen.profile import Profile
from tellwhen.spark.blocks import Blocks
from tellwhen.spark.tasks import Task, make_rows, map_batches, run_tasks
from tellwhen.warehouse.commits import make_folder
from tellwhen.warehouse.opening import read_dictionary, read_profile

ENTRIES_PER_TASK = 1_000_000
"""Entries of the dictionary that one task sorts, approximately."""

ENTRY = "attribute string, kind string, pattern string, text string, zero boolean"
"""Row of a domain, where `text` is null, or of one of its constants."""

SORT_COLUMNS = ["attribute", "kind", "pattern", "text"]

RUN = "part int, number int, file string, attribute string, kind string, pattern string, zero boolean, size long"
"""Row of a run: `size` constants of one domain that are adjacent in a file."""


def make_dictionary(spark: SparkSession, blocks: Blocks, profile: Profile) -> str:
    """Write the dictionary of the blocks, and the profile beside it; return the name of its staged folder."""
    entries = run_tasks(spark, len(blocks), _Entries(blocks), ENTRY)
    tasks = -(-blocks.entries // ENTRIES_PER_TASK)
    # One task needs no bounds, for which Spark would take a sample.
    parts = entries.repartitionByRange(tasks, *SORT_COLUMNS) if tasks > 1 else entries.repartition(1)
    runs = sorted(map_batches(parts.sortWithinPartitions(*SORT_COLUMNS), _RunWriter(blocks.staged), RUN).collect())
    zeros: dict[tuple[str, Any, str], bool] = {}
    for row in runs:
        key = row.attribute, row.kind, row.pattern
        zeros[key] = zeros.get(key, False) or row.zero
    attributes = Attributes()
    for key, zero in sorted(zeros.items()):
        attributes.get_or_create_by_key(DomainKey(*key, zero))
    return write_dictionary(blocks.staged, attributes, _join_runs(blocks.staged, attributes, runs), profile).name


class _Entries(Task):
    """Task that reads the domains and constants of a block."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        attributes = self._blocks.read(block_number).store.attributes
        for domain, key in enumerate(attributes.list_domain_keys()):
            texts: list[str | None] = [None]
            if key.kind in LABELLED_KINDS:
                texts += attributes.get_dictionary(domain).keys
            count = len(texts)
            same = ([part] * count for part in (key.attribute, key.kind, key.pattern))
            yield make_rows(ENTRY, *same, texts, [key.zero] * count)


class _Run:
    """Constants of one domain that are adjacent in a file."""

    __slots__ = ("size", "zero")

    def __init__(self) -> None:
        self.zero, self.size = False, 0


class _RunWriter:
    """A function for `map_batches` that writes distinct constants of sorted entries, and returns a row for each run."""

    def __init__(self, staged: Path) -> None:
        self._staged = staged

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        texts = Texts()
        runs: dict[tuple[str, str, str], _Run] = {}
        last = None
        for batch in batches:
            new: list[str] = []
            for *key, text, zero in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                run = runs.setdefault(tuple(key), _Run())
                run.zero |= zero
                if text is not None and (run, text) != last:
                    last = run, text
                    run.size += 1
                    new.append(text)
            texts.extend(new)
        if not runs:
            return
        folder = make_folder(self._staged, "constants")
        start, data = texts.arrays()
        directory.save(folder, {"texts": {"start": start, "data": data}}, {}, make=False, durable=False)
        count = len(runs)
        names, kinds, patterns = zip(*runs, strict=True)
        zeros, sizes = zip(*((run.zero, run.size) for run in runs.values()), strict=True)
        part, folders = [context.partitionId()] * count, [folder.name] * count
        yield make_rows(RUN, part, range(count), folders, names, kinds, patterns, zeros, sizes)


def _join_runs(staged: Path, attributes: Attributes, runs: Iterable[Any]) -> dict[str, np.ndarray]:
    """Concatenate the files of all tasks in order; in the driver they are only mapped into memory."""
    files = list(dict.fromkeys(row.file for row in runs))
    parts = [directory.load(staged / file, verify=False)[0]["texts"] for file in files]
    numbers = {(name, kind): domain for domain, (name, kind) in enumerate(attributes.domains) if kind in LABELLED_KINDS}
    sizes = dict.fromkeys(numbers.values(), 0)  # ascending, and the constants come in the order of their domains
    for row in runs:
        if row.size:
            sizes[numbers[row.attribute, row.kind]] += row.size
    joined = _map_array(staged / "text.npy", np.uint8, sum(len(part["data"]) for part in parts))
    start = _map_array(staged / "start.npy", np.int64, sum(len(part["start"]) - 1 for part in parts) + 1)
    at = size = 0
    for part in parts:
        count = len(part["start"]) - 1
        start[at + 1 : at + 1 + count] = part["start"][1:] + size
        joined[size : size + len(part["data"])] = part["data"]
        at, size = at + count, size + len(part["data"])
    return {
        "domain": np.repeat(np.array(list(sizes), np.int32), list(sizes.values())),
        "label": np.concatenate([np.zeros(0, np.int64), *(spread_labels(count) for count in sizes.values())]),
        "start": start,
        "text": joined,
    }


def _map_array(file: Path, dtype: type, size: int) -> np.ndarray:
    if not size:
        return np.zeros(0, dtype=dtype)
    return np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(size,))


def extend_dictionary(before: Path, blocks: Blocks) -> tuple[str, dict[int, LabelMoves]]:
    """Add the domains and constants of new blocks to a dictionary.

    Return the name of its staged folder, and the moves of labels by domain. Labels of all other domains stay.
    """
    attributes = read_dictionary(before)
    moved: dict[int, LabelMoves] = {}
    for block in range(len(blocks)):
        attributes, all_moves = attributes.extend(blocks.read(block).store.attributes)
        for domain, moves in all_moves:
            earlier = moved.get(domain)
            moved[domain] = moves if earlier is None else LabelMoves(earlier.old, moves.map_points(earlier.new))
    folder = write_dictionary(blocks.staged, attributes, collect_dictionary_arrays(attributes), read_profile(before))
    return folder.name, moved


def write_dictionary(staged: Path, attributes: Attributes, arrays: dict[str, np.ndarray], profile: Profile) -> Path:
    """Write a dictionary, and beside it the profile with which shards are built; return its folder."""
    folder = make_folder(staged, "dictionary")
    parts = {"dictionaries": arrays, "profile": {"json": np.frombuffer(profile.to_bytes(), dtype=np.uint8)}}
    directory.save(folder, parts, {"attributes": describe_attributes(attributes)}, make=False)
    return folder
