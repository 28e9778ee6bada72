"""Blocks -> the dictionary: every domain and every string constant of all of them, found and sorted by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes, DomainKey
from tellwhen.compile.dictionary import Moved, spread
from tellwhen.containers.texts import Texts
from tellwhen.persistence import attributes as saved
from tellwhen.persistence import directory
from tellwhen.spark.blocks import read_block
from tellwhen.spark.tasks import Task, rows, run
from tellwhen.spark.warehouse import fresh

LINE = ["attribute", "kind", "pattern"]
CONSTANT = "attribute string, kind string, pattern string, zero boolean, text string"
RUN = "part int, place int, file string, attribute string, kind string, size long"
"""Constants of one domain that lie together in a file."""


def make_dictionary(spark: SparkSession, staged: Path, blocks: list[str]) -> tuple[str, Attributes]:
    """Write the dictionary of the blocks; returns the name of its directory, and the attributes in it."""
    found = run(spark, len(blocks), _Constants(staged, blocks), CONSTANT)
    # Where text is null, the row stands for the domain itself.
    distinct = found.groupBy(*LINE, "text").agg(F.max("zero").alias("zero")).persist()
    try:
        domains = [
            DomainKey(row.attribute, row.kind, row.pattern, row.zero)
            for row in distinct.where(F.col("text").isNull()).collect()
        ]
        constants = distinct.where(F.col("text").isNotNull()).select(*LINE[:2], "text")
        ordered = constants.repartitionByRange("attribute", "kind", "text").sortWithinPartitions(
            "attribute", "kind", "text"
        )
        runs = ordered.mapInArrow(_Writing(staged), RUN).collect()
    finally:
        distinct.unpersist()
    attributes = Attributes()
    for key in sorted(domains):
        attributes.add(key)
    arrays = _assembled(
        staged, attributes, sorted((r.part, r.place, r.file, r.attribute, r.kind, r.size) for r in runs)
    )
    directory = fresh(staged, "dictionary")
    directory.save(directory, {"dictionaries": arrays}, {"attributes": saved.attributes_meta(attributes)}, make=False)
    return directory.name, read_dictionary(directory)


class _Constants(Task):
    """The domains and constants of blocks."""

    def __init__(self, staged: Path, blocks: list[str]) -> None:
        self._staged, self._blocks = staged, blocks

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        attributes = read_block(self._staged / self._blocks[number]).store.attributes
        for domain, key in enumerate(attributes.domain_keys()):
            texts: list[str | None] = [None]
            if key.kind in LABELLED_KINDS:
                texts += attributes.dictionary(domain).keys
            yield rows(CONSTANT, *([part] * len(texts) for part in key), texts)


class _Writing:
    """Sorted constants into a file; out come its runs of one domain each."""

    def __init__(self, staged: Path) -> None:
        self._staged = staged

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        directory = fresh(self._staged, "constants")
        texts = Texts()
        runs: list[tuple[tuple[str, str], int]] = []
        for batch in batches:
            names, kinds, values = (column.to_pylist() for column in batch.columns)
            texts.extend(values)
            for domain in zip(names, kinds, strict=True):
                if runs and runs[-1][0] == domain:
                    runs[-1] = domain, runs[-1][1] + 1
                else:
                    runs.append((domain, 1))
        if runs:
            start, data = texts.arrays()
            directory.save(directory, {"texts": {"start": start, "data": data}}, {}, make=False)
            count = len(runs)
            domains = [domain for domain, _ in runs]
            yield rows(
                RUN, [context.partitionId()] * count, range(count), [directory.name] * count,
                [name for name, _ in domains], [kind for _, kind in domains], [length for _, length in runs],
            )  # fmt: skip


def _assembled(
    staged: Path, attributes: Attributes, runs: list[tuple[int, int, str, str, str, int]]
) -> dict[str, np.ndarray]:
    """The files of all parts in order, as one; the driver holds them only as mapped pages."""
    files = list(dict.fromkeys(file for _, _, file, _, _, _ in runs))
    parts = [directory.load(staged / file, verify=False)[0]["texts"] for file in files]
    totals: dict[tuple[str, str], int] = {}
    for _, _, _, attribute, kind, count in runs:
        totals[attribute, kind] = totals.get((attribute, kind), 0) + count
    numbers: dict[tuple[str, str], int] = {
        (name, kind): domain for domain, (name, kind) in enumerate(attributes.domains) if kind in LABELLED_KINDS
    }
    # The domains were sorted as the constants are, so both come in the same order.
    domains = sorted((numbers[key], count) for key, count in totals.items())
    joined = _mapped(staged / "text.npy", np.uint8, sum(len(part["data"]) for part in parts))
    start = _mapped(staged / "start.npy", np.int64, sum(len(part["start"]) - 1 for part in parts) + 1)
    at = size = 0
    for part in parts:
        count = len(part["start"]) - 1
        start[at + 1 : at + 1 + count] = part["start"][1:] + size
        joined[size : size + len(part["data"])] = part["data"]
        at, size = at + count, size + len(part["data"])
    return {
        "domain": np.repeat(np.array([domain for domain, _ in domains], np.int32), [count for _, count in domains]),
        "label": np.concatenate([np.zeros(0, np.int64), *(spread(count) for _, count in domains)]),
        "start": start,
        "text": joined,
    }


def _mapped(file: Path, dtype: type, size: int) -> np.ndarray:
    if not size:
        return np.zeros(0, dtype=dtype)
    return np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(size,))


def read_dictionary(directory: Path) -> Attributes:
    """The attributes of an index, mapped into memory."""
    parts, meta = directory.load(directory)
    return saved.restored_attributes(meta["attributes"], parts["dictionaries"])


def extend_dictionary(directory: Path, staged: Path, blocks: list[str]) -> tuple[str, Attributes, dict[int, Moved]]:
    """The dictionary with what new blocks need besides; labels stay, except on the domains given back as moved."""
    attributes = read_dictionary(directory)
    moved: dict[int, Moved] = {}
    for block in blocks:
        own = read_block(staged / block).store.attributes
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
    after_directory = fresh(staged, "dictionary")
    parts = {"dictionaries": saved.dictionary_arrays(attributes)}
    directory.save(after_directory, parts, {"attributes": saved.attributes_meta(attributes)}, make=False)
    return after_directory.name, read_dictionary(after_directory), moved
