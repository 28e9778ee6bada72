"""Generation of workloads as DataFrames of any size: every task generates its own rows, the driver holds none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tellwhen.errors import ArgumentError
from tellwhen.spark.tasks import Task, make_rows, run_tasks
from tellwhen.workloads import BLOCK, Workload

SUBSCRIPTIONS = "id long, expression string"
EVENTS = "event_id long, attributes string"


def generate(
    spark: SparkSession, workload: Workload, count: int, what: Literal["subscriptions", "events"] = "subscriptions"
) -> DataFrame:
    """Generate the first subscriptions or events of a workload.

    The rows are the same as in one process, whatever their partitions.

    Parameters
    ----------
    spark
        The session.
    workload
        A workload of `tellwhen.workloads`.
    count
        The number of rows.
    what
        "subscriptions" or "events".

    Returns
    -------
    DataFrame
        Subscriptions (id, expression), or events (event_id, attributes), whose attributes are JSON.

    Raises
    ------
    ArgumentError
        If `count` is negative, or `what` is something else.

    Examples
    --------
    >>> from tellwhen.workloads import BEGen
    >>> subs = tws.generate(spark, BEGen(match=0.001), 1_000_000)  # doctest: +SKIP
    """
    if count < 0:
        raise ArgumentError(f"expected count to be at least 0, found {count}")
    if what not in ("subscriptions", "events"):
        raise ArgumentError(f"expected what to be subscriptions or events, found {what!r}")
    workload.prepare()
    work = _WorkloadGenerator(workload, count, what == "events")
    return run_tasks(spark, -(-count // BLOCK), work, EVENTS if what == "events" else SUBSCRIPTIONS)


class _WorkloadGenerator(Task):
    """Task that generates a block of a workload."""

    def __init__(self, workload: Workload, count: int, is_events: bool) -> None:
        self._workload, self._count, self._is_events = workload, count, is_events

    def run(self, block_number: int) -> Iterator[pa.RecordBatch]:
        first = block_number * BLOCK
        numbers = np.arange(first, min(first + BLOCK, self._count))
        if self._is_events:
            yield make_rows(
                EVENTS,
                numbers,
                [json.dumps(event) for event in self._workload.generate_events(block_number)[: len(numbers)]],
            )
        else:
            yield make_rows(SUBSCRIPTIONS, numbers, self._workload.generate_subscriptions(block_number)[: len(numbers)])
