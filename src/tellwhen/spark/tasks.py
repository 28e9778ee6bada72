"""How is work handed to Spark: in how many tasks, as which rows, and what comes back of its errors?"""

from __future__ import annotations

import gc
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from tellwhen import errors
from tellwhen.language.user_functions import own_functions, register

Batches = Iterator[pa.RecordBatch]

FREEZE_TASKS = 8
"""Tasks of a worker after which all modules and kernels are loaded, about."""

SPARK_DEFAULT_PARTITIONS = 200
"""What `spark.sql.shuffle.partitions` is where nobody has set it."""


def mapped(frame: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """`frame.mapInArrow`, with workers that spend little time between two tasks."""
    return frame.mapInArrow(_InWorker(function), schema)


class _InWorker:
    """Calls a function in a worker, and freezes what the worker has loaded.

    PySpark collects garbage after every task. That takes 50 to 100 ms with Numba loaded, ten times as long as a small
    task of ours. Frozen objects are skipped. No garbage is frozen: a collection has just been made when a task starts.
    """

    tasks = 0

    def __init__(self, function: Callable[[Batches], Batches]) -> None:
        self._function = function
        self._own = own_functions()  # which expressions may call

    def __call__(self, batches: Batches) -> Batches:
        register(self._own)
        if _InWorker.tasks < FREEZE_TASKS:
            _InWorker.tasks += 1
            gc.freeze()
        return self._function(batches)


class Task(ABC):
    """A function for `mapped`, run for every number."""

    @abstractmethod
    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows that come of one number."""

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.run(number)


def run(spark: SparkSession, count: int, task: Task, schema: str) -> DataFrame:
    """The rows of the task for all numbers below `count`, each in a partition of its own."""
    return mapped(spark.range(0, count, 1, max(1, count)), task, schema)


def rows(schema: str, *columns: Any) -> pa.RecordBatch:
    """A batch of exactly the types that the schema declares; Spark takes no others."""
    fields = [field.strip().rsplit(" ", 1) for field in schema.split(",")]
    kinds = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "boolean": pa.bool_(), "binary": pa.binary()}
    arrays = [pa.array(column, kinds[kind]) for column, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in fields])


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise an error of ours that happened in a worker as itself, instead of as Spark's report of it."""
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
    """Tasks that run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; a range has as many partitions as there are cores
        last = spark.range(1 << 16).select(F.spark_partition_id().alias("number")).agg(F.max("number")).collect()[0][0]
        return int(last) + 1


def partitions(spark: SparkSession) -> int:
    """Partitions of our own shuffles: as configured, or two for each core where nobody has configured anything.

    Spark's default of 200 makes a small job wait for 200 Python workers, and a build write 200 blocks. Adaptive
    execution would merge them, but it is off in streams.
    """
    try:
        configured = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    except ValueError:  # some platforms have "auto"
        configured = 0
    return 2 * cores(spark) if configured in (0, SPARK_DEFAULT_PARTITIONS) else configured
