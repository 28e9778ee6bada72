"""The second part of the demo: the same files on Spark, from raw text to matches."""

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
from tellwhen.demo.story import listings
from tellwhen.language.values import flatten
from tellwhen.spark.progress import watched

CHECKED, CHECKED_EVERY = 20, 20
"""Listings whose matches are compared with the oracle's, on a part of the subscriptions."""

FAULTY_SHOWN = 5


class Piped(NamedTuple):
    """What the pipeline did."""

    seconds: dict[str, float]
    version: tws.Version
    faulty: list[tuple[str, str, str]]
    """Some of the rows in quarantine: id, expression, reason."""
    quarantined: int
    listings: int
    matches: int
    undefined: int
    reach: list[tuple[str, int]]
    """How many listings have how many matches."""


def show(spark: SparkSession, folder: Path, index: tw.Index, console: Console) -> Piped:
    """Run every stage and print what comes out."""
    console.print("\n[bold]The same on Spark, from raw text[/bold]")
    stages = Stages(spark, console)
    with stages.progress:
        with stages.stage("ingest"):
            raw = spark.read.json(str(folder / "subscriptions.jsonl"))
            subs, quarantined = tws.ingest(raw, schema=market.SCHEMA, score="score")
            accepted, refused = subs.count(), quarantined.count()
            quarantined.write.parquet(str(folder / "quarantine"))
        log = _numbered(spark, folder / "listings.jsonl")
        with stages.stage("profile"):
            profile = tws.profile(subs, log)
        with stages.stage("build"):
            version = tws.build(subs, folder / "index", profile=profile)
        with stages.stage("match"):
            observed = Observation("observed")
            tws.match(log, folder / "index", observe=observed).write.parquet(str(folder / "matches"))
        with stages.stage("compare"):
            matches = spark.read.parquet(str(folder / "matches")).cache()
            _check(matches, folder, index)
    reasons = {row.reason: (row.id, row.expression, row.reason) for row in quarantined.orderBy("id").collect()}
    piped = Piped(
        stages.seconds, version, [reasons[reason] for reason in sorted(reasons)][:FAULTY_SHOWN], refused,
        log.count(), matches.count(), observed.get["undefined"], _reach(matches),
    )  # fmt: skip
    console.print(
        f"  {accepted:,} subscriptions in {len(version.shards)} shards, {version.bytes / 1e6:.0f} MB; "
        f"{piped.listings:,} listings, {piped.matches:,} matches: the same as in this process. On {CHECKED} "
        f"listings, a part was compared with the oracle, which evaluates expressions in plain Python.",
        highlight=False,
    )
    console.print(f"  {refused} rows are in quarantine, each with the reason, for example", highlight=False)
    for id_, text, reason in piped.faulty[:3]:
        console.print(f"    {id_}: {text}: {reason}", highlight=False, markup=False)
    subs.unpersist()
    return piped


def _numbered(spark: SparkSession, path: Path) -> DataFrame:
    """Lines of JSON with the numbers that they have in the file."""
    with path.open() as file:
        lines = [(number, line) for number, line in enumerate(file)]
    return spark.createDataFrame(lines, "event_id long, attributes string")


def _check(matches: DataFrame, folder: Path, index: tw.Index) -> None:
    """All matches are those of the index in process, and some of them those of the oracle."""
    events = listings(folder)
    table = index.match_many(events)
    order = [("event_id", "ascending"), ("subscription_id", "ascending")]
    ours, theirs = (found.cast(table.schema).sort_by(order).combine_chunks() for found in (table, matches.toArrow()))
    if not ours.equals(theirs):
        raise AssertionError(f"Spark found {theirs.num_rows} matches, and this process {ours.num_rows} or other ones")
    few = ours.filter(pc.field("event_id") < CHECKED).to_pydict()
    true = set(zip(few["event_id"], few["subscription_id"], strict=True))
    some = [(id_, index[id_]) for id_ in list(index)[::CHECKED_EVERY]]
    for number, event in enumerate(events[:CHECKED]):
        read = market.SCHEMA.read_event(flatten(event))
        for id_, expression in some:
            if (expression.evaluate(read) is True) != ((number, id_) in true):
                raise AssertionError(f"the index and the oracle disagree on {id_} and {json.dumps(event)}")


class Stages:
    """A progress bar for each stage: the share of its Spark tasks that are done."""

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
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, and move its bar."""
        bar = self.progress.add_task(name, total=None, note="")

        def tell(done: int, total: int) -> None:
            self.progress.update(bar, total=total, completed=done, note=f"{done} of {total} tasks")

        start = time.perf_counter()
        with watched(self._spark, tell):
            yield
        self.seconds[name] = time.perf_counter() - start
        self.progress.update(bar, total=1, completed=1, note="")


BUCKETS = 12


def _reach(matches: DataFrame) -> list[tuple[str, int]]:
    """A histogram: listings by their number of matches."""
    counts = matches.groupBy("event_id").agg(F.count("*").alias("matches"))
    most = counts.agg(F.max("matches").alias("most")).collect()[0].most or 1
    unit = 10 ** max(0, len(str(most // BUCKETS)) - 1)
    width = -(-most // (BUCKETS * unit)) * unit
    low = (F.floor(F.col("matches") / width) * width).alias("low")
    rows = counts.groupBy(low).agg(F.count("*").alias("listings")).orderBy("low").collect()
    return [(f"{row.low} to {row.low + width - 1}", row.listings) for row in rows]
