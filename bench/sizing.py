"""Measure one shard, to size a cluster (`docs/sizing.md`): `python -m bench.sizing`.

Two kinds of subscriptions are built on Spark. Events of the first kind, an equality with one of many users, meet few
shards; events of the second, broad kind meet most shards. Two sizes show which figures grow. An event is matched, from
a dict to ids, with every shard, and for comparison with one index of all subscriptions.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench.timing import Measurement, time_interleaved
from tellwhen import spark as tws
from tellwhen.workloads import BEGen
from tellwhen.workloads.base import take_events

SIZES, SHARDS, EVENTS, EVENTS_ON_SPARK = (250_000, 500_000), 8, 2_000, 200_000


class Kind(NamedTuple):
    """A kind of subscriptions (id, expression), and events for them."""

    title: str
    subscriptions: Callable[[SparkSession, int], DataFrame]
    events: Callable[[int], list[dict[str, Any]]]


def _make_user_subscriptions(spark: SparkSession, size: int) -> DataFrame:
    text = "format_string(\"user = %d AND country IN ('C%d', 'C%d') AND amount > %d AND hour <> %d\", {values})"
    values = f"pmod(id * 48271, {size // 2}), id % 30, id % 7, id % 900, id % 24"
    return spark.range(size).select("id", F.expr(text.format(values=values)).alias("expression"))


def _make_user_events(size: int) -> list[dict[str, Any]]:
    return [
        {"user": n * 7919 % (size // 2), "country": f"C{n % 30}", "amount": n * 31 % 1000, "hour": n % 24}
        for n in range(EVENTS)
    ]


BROAD = BEGen(match=0.0001)

KINDS = [
    Kind("one of many users", _make_user_subscriptions, _make_user_events),
    Kind(
        "broad (BEGen)",
        lambda spark, size: tws.generate(spark, BROAD, size, "subscriptions"),
        lambda _: take_events(BROAD, EVENTS),
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sizing", description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1 for the sizes of the documents, a fraction for a trial"
    )
    scale = parser.parse_args().scale
    folder = Path(tempfile.mkdtemp(prefix="tellwhen-bench-"))
    table = Table(
        "subscriptions", "how many", "ingest, profile, build: core-s / million", "bytes each", "open a shard, s",
        "shards an event meets", "us / event and shard", "us / event, one index", "local: us / event and core",
        "routed: us / event and core", "noise", "matches",
        title=f"{SHARDS} shards; two cores build, one thread matches",
    )  # fmt: skip
    try:
        spark = tws.start_session("bench")
        for kind in KINDS:
            for size in SIZES:
                _measure(spark, kind, int(size * scale), folder / f"{kind.title} {size}", table)
        spark.stop()
        Console(width=170).print(table)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(spark: SparkSession, kind: Kind, size: int, path: Path, table: Table) -> None:
    raw, events = kind.subscriptions(spark, size), kind.events(size)
    log = spark.createDataFrame([(json.dumps(event),) for event in events], "attributes string")
    begin = time.perf_counter()
    subs, _ = tws.ingest(raw)
    subs.count()
    version = tws.build(subs, path, profile=tws.profile(subs, log), shards=SHARDS)
    seconds = time.perf_counter() - begin
    subs.unpersist()
    folders = sorted(path.glob("shard-*"))
    begin = time.perf_counter()
    shards = [tw.Index.load(folder) for folder in folders]
    opened = (time.perf_counter() - begin) / len(shards)
    whole = tw.Index.load(path)
    in_process = time_interleaved({
        "one index": lambda: [whole.match(event) for event in events],
        "shards": lambda: [shard.match(event) for event in events for shard in shards],
    }, 5)  # fmt: skip
    one_index_us, all_shards_us = (in_process[name].median / EVENTS * 1e6 for name in ("one index", "shards"))
    plans = _measure_plans(spark, log, path)
    noise = max(measured.noise for measured in (*in_process.values(), *plans.values()))
    matches = whole.count_many(events)["count"].to_numpy().mean()
    cores, met = spark.sparkContext.defaultParallelism, version.shards_per_event
    table.add_row(
        kind.title, f"{size:,}", f"{seconds * cores / size * 1e6:,.0f}", f"{version.bytes / size:,.0f}",
        f"{opened:.3f}", "" if met is None else f"{met:.2f}", f"{all_shards_us / len(shards):,.1f}",
        f"{one_index_us:,.1f}",
        *(f"{measured.median * cores / EVENTS_ON_SPARK * 1e6:,.0f}" for measured in plans.values()),
        f"{noise:.0%}", f"{matches:,.1f}",
    )  # fmt: skip


def _measure_plans(spark: SparkSession, log: DataFrame, path: Path) -> dict[str, Measurement]:
    """Measure both plans on many events, which repeat the same few."""
    times = EVENTS_ON_SPARK // EVENTS
    many = spark.range(times).crossJoin(log).select(F.monotonically_increasing_id().alias("event_id"), "attributes")
    stored = str(path) + "-events"
    many.repartition(4).write.parquet(stored)

    def drain(plan: Literal["local", "routed"]) -> None:
        matches = tws.match(spark.read.parquet(stored), path, plan=plan)
        matches.write.format("noop").mode("overwrite").save()

    return time_interleaved({"local": lambda: drain("local"), "routed": lambda: drain("routed")}, 3)


if __name__ == "__main__":
    main()
