"""A workload -> DataFrames of any size: every task generates its own rows, and the driver holds none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tellwhen.errors import TellwhenError
from tellwhen.spark.tasks import Task, rows, run
from tellwhen.workloads import BLOCK, Workload

SUBSCRIPTIONS = "id long, expression string"
EVENTS = "event_id long, attributes string"


def generate(
    spark: SparkSession, workload: Workload, count: int, what: Literal["subscriptions", "events"] = "subscriptions"
) -> DataFrame:
    """The first `count` subscriptions (id, expression) or events (event_id, attributes as JSON) of a workload.

    The rows are the same as in one process, however they are partitioned.
    """
    if count < 0:
        raise TellwhenError(f"there are at least 0 rows, not {count}")
    if what not in ("subscriptions", "events"):
        raise TellwhenError(f"a workload has subscriptions and events, not {what!r}")
    workload.prepare()
    made = _Making(workload, count, what == "events")
    return run(spark, -(-count // BLOCK), made, EVENTS if what == "events" else SUBSCRIPTIONS)


class _Making(Task):
    """A block of a workload, as rows."""

    def __init__(self, workload: Workload, count: int, is_events: bool) -> None:
        self._workload, self._count, self._is_events = workload, count, is_events

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        first = number * BLOCK
        numbers = np.arange(first, min(first + BLOCK, self._count))
        if self._is_events:
            yield rows(
                EVENTS, numbers, [json.dumps(event) for event in self._workload.generate_events(number)[: len(numbers)]]
            )
        else:
            yield rows(SUBSCRIPTIONS, numbers, self._workload.generate_subscriptions(number)[: len(numbers)])
