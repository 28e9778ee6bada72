"""Progress of Spark jobs, for callers that display it; the library itself prints nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

REPORT_INTERVAL_SECONDS = 0.2


@contextmanager
def watch_tasks(spark: SparkSession, report: Callable[[int, int], None]) -> Iterator[None]:
    """Call `report(completed, total)` again and again with the numbers of tasks of the running stages."""
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(REPORT_INTERVAL_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage is not None)
            if total:
                report(sum(stage.numCompletedTasks for stage in stages if stage is not None), total)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
