"""Tasks on Spark: their number, the rows that they return, and the errors that they raise."""

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
from tellwhen.language.user_functions import get_user_functions, register_functions

Batches = Iterator[pa.RecordBatch]

TASKS_BEFORE_FREEZE = 8
"""Freeze the loaded modules and kernels in the first 8 tasks of a worker; later tasks rarely load more."""

SPARK_DEFAULT_PARTITIONS = 200
"""Default of `spark.sql.shuffle.partitions`."""


def map_batches(frame: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """Call `frame.mapInArrow` with a function whose workers spend little time between two tasks."""
    return frame.mapInArrow(_WorkerFunction(function), schema)


class _WorkerFunction:
    """A function that runs in a worker, and freezes the objects that the worker has loaded.

    PySpark collects garbage after every task. With Numba loaded a collection takes 50 to 100 ms, ten times as long as a
    small task of ours. A collection skips frozen objects. No garbage is frozen, because one has just ended when a task
    starts.
    """

    tasks = 0

    def __init__(self, function: Callable[[Batches], Batches]) -> None:
        self._function = function
        self._user_functions = get_user_functions()  # which expressions may call

    def __call__(self, batches: Batches) -> Batches:
        register_functions(self._user_functions)
        if _WorkerFunction.tasks < TASKS_BEFORE_FREEZE:
            _WorkerFunction.tasks += 1
            gc.freeze()
        return self._function(batches)


class Task(ABC):
    """A function for `map_batches` that runs once for every number, such as the number of a block or of a shard."""

    @abstractmethod
    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the task with this number."""

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.run(number)


def run_tasks(spark: SparkSession, count: int, task: Task, schema: str) -> DataFrame:
    """Return a DataFrame that runs the task for all numbers below `count`, one partition per number."""
    return map_batches(spark.range(0, count, 1, max(1, count)), task, schema)


def make_rows(schema: str, *columns: Any) -> pa.RecordBatch:
    """Make a batch of exactly the types that the schema declares; Spark accepts no others."""
    fields = [field.strip().rsplit(" ", 1) for field in schema.split(",")]
    kinds = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "boolean": pa.bool_(), "binary": pa.binary()}
    arrays = [pa.array(column, kinds[kind]) for column, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in fields])


@contextmanager
def raise_own_errors() -> Iterator[None]:
    """Raise a tellwhen error of a worker as itself, instead of as Spark's report of it."""
    try:
        yield
    except PySparkException as error:
        for line in reversed(str(error).splitlines()):
            report = re.match(r"tellwhen\.errors\.(\w+): (.*)", line)
            kind = getattr(errors, report[1], None) if report else None
            if report and kind is not None:
                raise kind(report[2]) from None
        raise


def count_cores(spark: SparkSession) -> int:
    """Return the number of tasks that run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; a range has as many partitions as there are cores
        last = spark.range(1 << 16).select(F.spark_partition_id().alias("number")).agg(F.max("number")).collect()[0][0]
        return int(last) + 1


def count_partitions(spark: SparkSession) -> int:
    """Return the number of partitions of a shuffle: as configured, or two for each core by default.

    With Spark's default of 200, a small job waits for 200 Python workers, and a build writes 200 blocks. Adaptive
    execution would merge them, but streams run without it.
    """
    try:
        configured = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    except ValueError:  # some platforms have "auto"
        configured = 0
    return 2 * count_cores(spark) if configured in (0, SPARK_DEFAULT_PARTITIONS) else configured
