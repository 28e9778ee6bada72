"""Blocks -> the dictionary: every domain and every string constant of all blocks, found and sorted by Spark.

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
from tellwhen.compile.dictionary import Moved, spread
from tellwhen.containers.texts import Texts
from tellwhen.persistence import directory
from tellwhen.persistence.attributes import attributes_meta, dictionary_arrays
from tellwhen.profile import Profile
from tellwhen.spark.blocks import Blocks
from tellwhen.spark.tasks import Task, mapped, rows, run
from tellwhen.warehouse.commits import fresh
from tellwhen.warehouse.opening import read_dictionary, read_profile

ENTRIES_PER_TASK = 1_000_000
"""Entries of the dictionary that one task sorts, about."""

ENTRY = "attribute string, kind string, pattern string, text string, zero boolean"
"""A domain, with `text` null; or a constant of it."""

ORDER = ["attribute", "kind", "pattern", "text"]

RUN = "part int, number int, file string, attribute string, kind string, pattern string, zero boolean, size long"
"""Entries of one domain: `size` constants that lie one after the other in a file."""


def make_dictionary(spark: SparkSession, blocks: Blocks, profile: Profile) -> str:
    """Write the dictionary of the blocks, and the profile beside it; returns the name of its directory in staging."""
    found = run(spark, len(blocks), _Entries(blocks), ENTRY)
    tasks = -(-blocks.entries // ENTRIES_PER_TASK)
    # One task needs no bounds, which Spark would have to sample.
    ordered = found.repartitionByRange(tasks, *ORDER) if tasks > 1 else found.repartition(1)
    runs = sorted(mapped(ordered.sortWithinPartitions(*ORDER), _Writing(blocks.staged), RUN).collect())
    zeros: dict[tuple[str, Any, str], bool] = {}
    for row in runs:
        key = row.attribute, row.kind, row.pattern
        zeros[key] = zeros.get(key, False) or row.zero
    attributes = Attributes()
    for key, zero in sorted(zeros.items()):
        attributes.add(DomainKey(*key, zero))
    return write_dictionary(blocks.staged, attributes, _assembled(blocks.staged, attributes, runs), profile).name


class _Entries(Task):
    """The domains and constants of a block."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        attributes = self._blocks.read(number).store.attributes
        for domain, key in enumerate(attributes.domain_keys()):
            texts: list[str | None] = [None]
            if key.kind in LABELLED_KINDS:
                texts += attributes.dictionary(domain).keys
            count = len(texts)
            same = ([part] * count for part in (key.attribute, key.kind, key.pattern))
            yield rows(ENTRY, *same, texts, [key.zero] * count)


class _Run:
    """Entries of one domain that lie together: as a row of RUN."""

    __slots__ = ("size", "zero")

    def __init__(self) -> None:
        self.zero, self.size = False, 0


class _Writing:
    """Sorted entries in; distinct constants into a file, and a row for every domain out."""

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
                found = runs.setdefault(tuple(key), _Run())
                found.zero |= zero
                if text is not None and (found, text) != last:
                    last = found, text
                    found.size += 1
                    new.append(text)
            texts.extend(new)
        if not runs:
            return
        folder = fresh(self._staged, "constants")
        start, data = texts.arrays()
        directory.save(folder, {"texts": {"start": start, "data": data}}, {}, make=False, durable=False)
        count = len(runs)
        names, kinds, patterns = zip(*runs, strict=True)
        facts = zip(*((found.zero, found.size) for found in runs.values()), strict=True)
        yield rows(
            RUN, [context.partitionId()] * count, range(count), [folder.name] * count, names, kinds, patterns, *facts
        )


def _assembled(staged: Path, attributes: Attributes, runs: Iterable[Any]) -> dict[str, np.ndarray]:
    """The files of all tasks as one, in order; the driver has them as mapped pages only."""
    files = list(dict.fromkeys(row.file for row in runs))
    parts = [directory.load(staged / file, verify=False)[0]["texts"] for file in files]
    numbers = {(name, kind): domain for domain, (name, kind) in enumerate(attributes.domains) if kind in LABELLED_KINDS}
    sizes = dict.fromkeys(numbers.values(), 0)  # ascending, and the constants come in the order of their domains
    for row in runs:
        if row.size:
            sizes[numbers[row.attribute, row.kind]] += row.size
    joined = _mapped(staged / "text.npy", np.uint8, sum(len(part["data"]) for part in parts))
    start = _mapped(staged / "start.npy", np.int64, sum(len(part["start"]) - 1 for part in parts) + 1)
    at = size = 0
    for part in parts:
        count = len(part["start"]) - 1
        start[at + 1 : at + 1 + count] = part["start"][1:] + size
        joined[size : size + len(part["data"])] = part["data"]
        at, size = at + count, size + len(part["data"])
    return {
        "domain": np.repeat(np.array(list(sizes), np.int32), list(sizes.values())),
        "label": np.concatenate([np.zeros(0, np.int64), *(spread(count) for count in sizes.values())]),
        "start": start,
        "text": joined,
    }


def _mapped(file: Path, dtype: type, size: int) -> np.ndarray:
    if not size:
        return np.zeros(0, dtype=dtype)
    return np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(size,))


def extend_dictionary(before: Path, blocks: Blocks) -> tuple[str, dict[int, Moved]]:
    """The dictionary with what new blocks need besides; labels stay, except on the domains returned as moved."""
    attributes = read_dictionary(before)
    moved: dict[int, Moved] = {}
    for block in range(len(blocks)):
        own = blocks.read(block).store.attributes
        for number, key in enumerate(own.domain_keys()):
            domain = attributes.add(key)
            if key.kind in LABELLED_KINDS:
                dictionary = attributes.dictionary(domain)
                new = dictionary.missing(own.dictionary(number).keys)
                if new and not dictionary.add(new):
                    after, moves = dictionary.relabelled(new)
                    attributes = attributes.with_dictionary(after)
                    earlier = moved.get(domain)
                    moved[domain] = moves if earlier is None else Moved(earlier.old, moves(earlier.new))
    folder = write_dictionary(blocks.staged, attributes, dictionary_arrays(attributes), read_profile(before))
    return folder.name, moved


def write_dictionary(staged: Path, attributes: Attributes, arrays: dict[str, np.ndarray], profile: Profile) -> Path:
    """Write a dictionary, and beside it the profile that shards are built by; returns its directory."""
    folder = fresh(staged, "dictionary")
    parts = {"dictionaries": arrays, "profile": {"json": np.frombuffer(profile.to_bytes(), dtype=np.uint8)}}
    directory.save(folder, parts, {"attributes": attributes_meta(attributes)}, make=False)
    return folder
