"""How far is Spark? For whoever shows it: the library itself shows nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

EVERY_SECONDS = 0.2


@contextmanager
def watched(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """Meanwhile, tell how many tasks of the stages that run are done, and how many there are."""
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(EVERY_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage is not None)
            if total:
                tell(sum(stage.numCompletedTasks for stage in stages if stage is not None), total)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
