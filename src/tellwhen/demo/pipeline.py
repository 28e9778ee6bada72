"""Second part of the demo: the same files on Spark, from raw text to matches."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.demo import market
from tellwhen.demo.story import read_listings
from tellwhen.language.values import flatten
from tellwhen.spark.progress import watch_tasks

CHECKED_LISTINGS, CHECKED_INTERVAL = 20, 20
"""The oracle checks the first 20 listings on every 20th subscription."""

FAULTY_SHOWN = 5


class PipelineResult(NamedTuple):
    """Times and results of the pipeline."""

    seconds: dict[str, float]
    version: tws.Version
    quarantine_examples: list[tuple[str, str, str]]
    """Rows in quarantine as (id, expression, reason)."""
    quarantined: int
    listings: int
    matches: int
    undefined: int
    matches_histogram: list[tuple[str, int]]
    """Listings by their number of matches."""


def run_pipeline(spark: SparkSession, folder: Path, index: tw.Index, console: Console) -> PipelineResult:
    """Run every stage and print the results."""
    console.print("\n[bold]The same on Spark, from raw text[/bold]")
    stages = Stages(spark, console)
    with stages.progress:
        with stages.time_stage("ingest"):
            raw = spark.read.json(str(folder / "subscriptions.jsonl"))
            subs, quarantined = tws.ingest(raw, schema=market.SCHEMA, score="score")
            accepted, rejected = subs.count(), quarantined.count()
            quarantined.write.parquet(str(folder / "quarantine"))
        log = _read_numbered_lines(spark, folder / "listings.jsonl")
        with stages.time_stage("profile"):
            profile = tws.profile(subs, log)
        with stages.time_stage("build"):
            version = tws.build(subs, folder / "index", profile=profile)
        with stages.time_stage("match"):
            observed = Observation("observed")
            tws.match(log, folder / "index", observe=observed).write.parquet(str(folder / "matches"))
        with stages.time_stage("compare"):
            matches = spark.read.parquet(str(folder / "matches")).cache()
            _check_matches(matches, folder, index)
    reasons = {row.reason: (row.id, row.expression, row.reason) for row in quarantined.orderBy("id").collect()}
    result = PipelineResult(
        stages.seconds, version, [reasons[reason] for reason in sorted(reasons)][:FAULTY_SHOWN], rejected,
        log.count(), matches.count(), observed.get["undefined"], _build_histogram(matches),
    )  # fmt: skip
    console.print(
        f"  {accepted:,} subscriptions in {len(version.shards)} shards, {version.bytes / 1e6:.0f} MB; "
        f"{result.listings:,} listings, {result.matches:,} matches: the same as in this process. On {CHECKED_LISTINGS} "
        f"listings, a part was compared with the oracle, which evaluates expressions in plain Python.",
        highlight=False,
    )
    console.print(f"  {rejected} rows are in quarantine, each with the reason, for example", highlight=False)
    for id_, text, reason in result.quarantine_examples[:3]:
        console.print(f"    {id_}: {text}: {reason}", highlight=False, markup=False)
    subs.unpersist()
    return result


def _read_numbered_lines(spark: SparkSession, path: Path) -> DataFrame:
    """Read lines of JSON with their line numbers as event ids."""
    with path.open() as file:
        lines = [(number, line) for number, line in enumerate(file)]
    return spark.createDataFrame(lines, "event_id long, attributes string")


def _check_matches(matches: DataFrame, folder: Path, index: tw.Index) -> None:
    """Raise an error unless all matches equal those of the index in process, and a sample those of the oracle."""
    events = read_listings(folder)
    table = index.match_many(events)
    order = [("event_id", "ascending"), ("subscription_id", "ascending")]
    ours, theirs = (rows.cast(table.schema).sort_by(order).combine_chunks() for rows in (table, matches.toArrow()))
    if not ours.equals(theirs):
        raise AssertionError(f"Spark found {theirs.num_rows} matches, and this process {ours.num_rows} or other ones")
    checked = ours.filter(pc.field("event_id") < CHECKED_LISTINGS).to_pydict()
    true = set(zip(checked["event_id"], checked["subscription_id"], strict=True))
    subscriptions = [(id_, index[id_]) for id_ in list(index)[::CHECKED_INTERVAL]]
    for number, event in enumerate(events[:CHECKED_LISTINGS]):
        read = market.SCHEMA.read_event(flatten(event))
        for id_, expression in subscriptions:
            if (expression.evaluate(read) is True) != ((number, id_) in true):
                raise AssertionError(f"the index and the oracle disagree on {id_} and {json.dumps(event)}")


class Stages:
    """Progress bars of the stages, with the share of Spark tasks that are done."""

    def __init__(self, spark: SparkSession, console: Console) -> None:
        self._spark = spark
        columns = (
            TextColumn("  {task.description:10}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self.progress = Progress(*columns, console=console)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time_stage(self, name: str) -> Iterator[None]:
        """Time a stage and move its progress bar."""
        bar = self.progress.add_task(name, total=None, note="")

        def show_tasks(done: int, total: int) -> None:
            self.progress.update(bar, total=total, completed=done, note=f"{done} of {total} tasks")

        start = time.perf_counter()
        with watch_tasks(self._spark, show_tasks):
            yield
        self.seconds[name] = time.perf_counter() - start
        self.progress.update(bar, total=1, completed=1, note="")


HISTOGRAM_BUCKETS = 12


def _build_histogram(matches: DataFrame) -> list[tuple[str, int]]:
    """Count listings by their number of matches."""
    counts = matches.groupBy("event_id").agg(F.count("*").alias("matches"))
    most = counts.agg(F.max("matches").alias("most")).collect()[0].most or 1
    unit = 10 ** max(0, len(str(most // HISTOGRAM_BUCKETS)) - 1)
    width = -(-most // (HISTOGRAM_BUCKETS * unit)) * unit
    low = (F.floor(F.col("matches") / width) * width).alias("low")
    rows = counts.groupBy(low).agg(F.count("*").alias("listings")).orderBy("low").collect()
    return [(f"{row.low} to {row.low + width - 1}", row.listings) for row in rows]
