"""The second part of the demo: 100,000 readers and 20,000 books, from raw text to matches, on Spark."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.demo.shop import Books, Readers, book, text
from tellwhen.profile import Profile
from tellwhen.report import Page, bars
from tellwhen.schema import FAMILIES, Schema, Type, value_from_text
from tellwhen.spark.matcher import described

SUBSCRIPTIONS, EVENTS = 100_000, 20_000

CHECKED_EVENTS = 20
"""Events whose matches are compared with the oracle's."""

TYPES: dict[str, Type] = {
    "price": "float", "ranking": "int", "stock": "int", "signed": "bool", "preorder": "bool", "published": "date",
    "genre": "string", "era": "string", "format": "string", "title": "string",
}  # fmt: skip
SCHEMA = Schema(TYPES)


def show(console: Console, folder: Path, subscriptions: int = SUBSCRIPTIONS, events: int = EVENTS) -> Path:
    """Run every stage, print a summary, and write a page; returns its file."""
    console.print(f"\n[bold]{subscriptions:,} readers and {events:,} books, on Spark[/bold]")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with console.status("Starting Spark ..."):
        spark = tws.session("tellwhen demo")
    stages = Stages(spark, console)
    with stages.progress:
        with stages.stage("make readers and books"):
            _generate(spark, folder, subscriptions, events)
        with stages.stage("ingest"):
            subs, quarantined = tws.ingest(spark.read.parquet(str(folder / "raw")), schema=SCHEMA)
            accepted, refused = subs.count(), quarantined.count()
            quarantined.write.parquet(str(folder / "quarantine"))
        log = spark.read.parquet(str(folder / "events"))
        with stages.stage("profile"):
            profile = tws.profile(subs, log)
        with stages.stage("build"):
            version = tws.build(subs, folder / "index", profile=profile, schema=SCHEMA)
        with stages.stage("match"):
            observed = Observation("observed")
            tws.match(log, folder / "index", observe=observed).write.parquet(str(folder / "matches"))
        with stages.stage("compare with the oracle"):
            _check(subs, spark.read.parquet(str(folder / "matches")))
    matches = spark.read.parquet(str(folder / "matches"))
    facts = {
        "subscriptions": accepted,
        "rows in quarantine": refused,
        "shards": len(version.shards),
        "largest shard / mean": round(version.balance, 3),
        "bytes of the index": version.bytes,
        "events": events,
        "matches": matches.count(),
        "event values of a wrong type": observed.get["undefined"],
    }
    console.print(_summary(facts, stages.seconds))
    for row in quarantined.orderBy("id").limit(3).collect():
        console.print(f"  in quarantine: {row.id}: {row.reason}", highlight=False)
    console.print(f"The oracle, which evaluates expressions in plain Python, agrees on {CHECKED_EVENTS} books.")
    file = _page(folder, facts, stages.seconds, version, matches, profile)
    console.print(f"A page with plots: {file}")
    subs.unpersist()
    spark.stop()
    return file


def _summary(facts: dict[str, Any], seconds: dict[str, float]) -> Table:
    table = Table("what", "how much", title="Result")
    table.columns[1].justify = "right"
    for name, value in facts.items():
        table.add_row(name, f"{value:,}")
    for name, value in seconds.items():
        table.add_row(f"{name}, seconds", f"{value:.1f}")
    return table


def _generate(spark: SparkSession, folder: Path, subscriptions: int, events: int) -> None:
    raw = spark.range(subscriptions).mapInArrow(Readers(), "id string, expression string")
    raw.write.parquet(str(folder / "raw"))
    books = spark.range(events).mapInArrow(Books(), "event_id long, attributes map<string, string>")
    books.write.parquet(str(folder / "events"))


def _check(subs: DataFrame, matches: DataFrame) -> None:
    """Compare the matches of some events, and of a tenth of the subscriptions, with the oracle's."""
    tenth = F.crc32("id") % 10 == 0
    parsed = {row.id: tw.parse(row.expression) for row in subs.where(tenth).collect()}
    matched: dict[int, set[str]] = {number: set() for number in range(CHECKED_EVENTS)}
    for row in matches.where(F.col("event_id") < CHECKED_EVENTS).collect():
        if row.subscription_id in parsed:
            matched[row.event_id].add(row.subscription_id)
    for number in range(CHECKED_EVENTS):
        event = {name: _typed(name, text(value)) for name, value in book(number).items()}
        truth = {id_ for id_, expression in parsed.items() if expression.evaluate(event) is True}
        if matched[number] != truth:
            raise AssertionError(f"the index and the oracle disagree on {event}")


def _typed(name: str, value: str) -> Any:
    return value_from_text(value, FAMILIES[SCHEMA.types[name]])


class Stages:
    """A progress bar for each stage: the share of its Spark tasks that are done."""

    def __init__(self, spark: SparkSession, console: Console) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        columns = (
            TextColumn("{task.description:24}"),
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
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(bar, done), daemon=True)
        watcher.start()
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start
            done.set()
            watcher.join()
        self.progress.update(bar, total=1, completed=1, note="")

    def _watch(self, bar: Any, done: threading.Event) -> None:
        while not done.wait(0.2):
            stages = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage is not None)
            finished = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            if total:
                self.progress.update(bar, total=total, completed=finished, note=f"{finished} of {total} tasks")


def _page(
    folder: Path, facts: dict[str, Any], seconds: dict[str, float], version: tws.Version, matches: DataFrame,
    profile: Profile,
) -> Path:  # fmt: skip
    page = Page("tellwhen: a bookshop on Spark")
    page.text(
        "Readers subscribe with expressions, and books arrive as events. Every stage ran on Spark: raw text was "
        "parsed, validated, profiled, built into an index, and matched. This page opens without a network."
    )
    page.table(["what", "how much"], list(facts.items()))
    page.text(f"The index: {described(version)}.")
    stages = [{"stage": name, "seconds": round(value, 2)} for name, value in seconds.items()]
    page.chart(bars(stages, "stage", "seconds"), "Seconds per stage, without the start of Spark.")
    page.chart(bars(_reach(matches), "matches", "events"), "Events by the number of readers they match.")
    shards = [{"shard": str(i), "subscriptions": shard.subscriptions} for i, shard in enumerate(version.shards)]
    page.chart(
        bars(shards, "shard", "subscriptions"),
        "Subscriptions by shard. Of what a subscription asks for, values that few books have decide its shard: a book "
        "meets few shards.",
    )
    for side, frequency in (("subscriptions", profile.subscription_frequency), ("books", profile.event_frequency)):
        rows = [{"attribute": name, "share": round(value, 4)} for name, value in sorted(frequency.items())]
        page.chart(bars(rows, "attribute", "share"), f"The share of {side} with each attribute.")
    return page.save(folder / "report.html")


def _reach(matches: DataFrame, buckets: int = 12) -> list[dict[str, Any]]:
    """A histogram: events by their number of matches."""
    counts = matches.groupBy("event_id").agg(F.count("*").alias("matches"))
    most = counts.agg(F.max("matches").alias("most")).collect()[0].most or 1
    unit = 10 ** max(0, len(str(most // buckets)) - 1)
    width = -(-most // (buckets * unit)) * unit
    low = (F.floor(F.col("matches") / width) * width).alias("low")
    rows = counts.groupBy(low).agg(F.count("*").alias("events")).orderBy("low").collect()
    return [{"matches": f"{row.low} to {row.low + width - 1}", "events": row.events} for row in rows]
