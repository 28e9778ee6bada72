"""Work that is numbered, not data: one task for each number, on whichever executor is free."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tellwhen import errors


class Task(ABC):
    """A callable for mapInArrow, run for every number."""

    @abstractmethod
    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows that come of one number."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.run(number)


def run(spark: SparkSession, count: int, task: Task, schema: str) -> DataFrame:
    """The rows of the task for all numbers below `count`, each in a partition of its own."""
    return spark.range(0, count, 1, max(1, count)).mapInArrow(task, schema)


def rows(schema: str, *columns: Any) -> pa.RecordBatch:
    """A batch of exactly the types that the schema declares; Spark takes no others."""
    fields = [field.strip().rsplit(" ", 1) for field in schema.split(",")]
    kinds = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "boolean": pa.bool_()}
    arrays = [pa.array(column, kinds[kind]) for column, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in fields])


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what went wrong in a worker as what it is, instead of Spark's account of it."""
    try:
        yield
    except PySparkException as error:
        for line in reversed(str(error).splitlines()):
            found = re.match(r"tellwhen\.errors\.(\w+): (.*)", line)
            kind = getattr(errors, found[1], None) if found else None
            if found and kind is not None:
                raise kind(found[2]) from None
        raise


def cores(spark: SparkSession) -> int:
    """How much runs at once. Spark Connect does not tell; two is a fair guess."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # PySparkAttributeError and its kin, by version
        return 2
