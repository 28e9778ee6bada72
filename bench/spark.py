"""Measure the pipeline on Spark, each figure with its rival, in one run: `python -m bench.spark`.

rival       matching, compared with the usual query on Spark: explode both sides, join on the attribute, count
overhead    the stages from text to an index; then matching, compared with `match_many` in one process on the same cores
settings    a small job with Spark's default settings, compared with those of `tws.start_session`
memory      the private memory of a worker, for a small and a large index
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench import workload
from bench.timing import Measurement, sum_times, summarize, time_interleaved, time_run
from bench.workload import CARDINALITY, PlainWorkload
from tellwhen import spark as tws

ATTRIBUTES, PRESENT, SLICES = 400, 15, 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    measurements = {
        "rival": measure_rival,
        "overhead": measure_overhead,
        "settings": measure_settings,
        "memory": measure_memory,
    }
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1 for the sizes of the documents, a fraction for a trial"
    )
    parser.add_argument("--only", choices=list(measurements), help="run only this measurement")
    options = parser.parse_args()
    console = Console(width=120)
    folder = Path(tempfile.mkdtemp(prefix="tellwhen-bench-"))
    try:
        for name, measure in measurements.items():
            if options.only in (None, name):
                console.print(measure(folder / name, options.scale))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_workload(work: PlainWorkload, folder: Path, files: int = 4) -> None:
    """Write subscriptions as text, their predicates as a table, and events as maps of ints."""
    count, (start, attribute, *_) = work.size, work.conjunctions
    texts = pa.array(work.conjunctions.format_texts(work.work.names))
    _write_parts(folder / "subscriptions", pa.table({"id": np.arange(count), "expression": texts}), files)
    owner = np.repeat(np.arange(count), np.diff(start))
    bits = (work.mask[:, None] >> np.arange(CARDINALITY, dtype=np.uint64)) & np.uint64(1) != 0
    members = [np.flatnonzero(row).tolist() if is_set else None for row, is_set in zip(bits, work.is_set, strict=True)]
    names = pa.array(work.work.names)
    _write_parts(folder / "predicates", pa.table({
        "id": owner, "attribute": names.take(pa.array(attribute)), "low": work.low, "high": work.high,
        "members": pa.array(members, pa.list_(pa.int64())), "need": np.repeat(np.diff(start), np.diff(start)),
    }), files)  # fmt: skip
    rows, columns = np.nonzero(work.events >= 0)
    offsets = pa.array(np.searchsorted(rows, np.arange(len(work.events) + 1)).astype(np.int32))
    values = pa.array(work.events[rows, columns].astype(np.int64))
    maps = pa.MapArray.from_arrays(offsets, names.take(pa.array(columns)), values)
    _write_parts(folder / "events", pa.table({"event_id": np.arange(len(work.events)), "attributes": maps}), files)


def _write_parts(folder: Path, table: pa.Table, files: int) -> None:
    folder.mkdir(parents=True)
    size = -(-table.num_rows // files)
    for part in range(files):
        pq.write_table(table.slice(part * size, size), folder / f"part-{part}.parquet")


def drain(frame: DataFrame) -> None:
    """Compute a DataFrame without storing it."""
    frame.write.format("noop").mode("overwrite").save()


def join_exploded(spark: SparkSession, folder: Path, events: DataFrame) -> DataFrame:
    """Match by the usual query: explode events, join predicates by attribute, count the true ones."""
    predicates = spark.read.parquet(str(folder / "predicates"))
    entries = events.select("event_id", F.explode("attributes").alias("attribute", "value"))
    true = (F.col("value").between(F.col("low"), F.col("high"))) & (
        F.col("members").isNull() | F.expr("array_contains(members, value)")
    )
    joined = entries.join(predicates, "attribute").where(true)
    counted = joined.groupBy("event_id", "id", "need").count()
    return counted.where("count = need").select("event_id", F.col("id").alias("subscription_id"))


def measure_rival(folder: Path, scale: float) -> Table:
    """Compare with the join: 100,000 subscriptions, 50,000 events, 0.1 % matches, in five slices that run once each."""
    work = workload.make(int(100_000 * scale), int(50_000 * scale), ATTRIBUTES, PRESENT, 0.001)
    write_workload(work, folder)
    spark = tws.start_session("bench")
    events = spark.read.parquet(str(folder / "events"))
    tws.build(spark.read.parquet(str(folder / "subscriptions")), folder / "index")
    size = -(-len(work.events) // SLICES)
    slices = [events.where(F.col("event_id").between(k * size, k * size + size - 1)) for k in range(SLICES)]
    few = events.where(F.col("event_id") < size // 5)
    same = _are_equal(tws.match(few, folder / "index"), join_exploded(spark, folder, few))
    drain(tws.match(events, folder / "index"))
    joins, matches = [], []
    for part in slices:
        joins.append(time_run(functools.partial(_drain_join, spark, folder, part)))
        matches.append(time_run(lambda: drain(tws.match(events, folder / "index"))))
    joined, matched = sum_times(joins), summarize(matches)
    table = Table("what", "seconds", "noise", "ms / event", title=f"{_describe_sizes(work)}; results equal: {same}")
    _add_row(table, "explode, join, count", joined, len(work.events))
    _add_row(table, "match", matched, len(work.events))
    table.add_row("how much faster", f"{joined.median / matched.median:.0f}x (target 20x)", "", "")
    spark.stop()
    return table


def _drain_join(spark: SparkSession, folder: Path, events: DataFrame) -> None:
    drain(join_exploded(spark, folder, events))


def _are_equal(one: DataFrame, other: DataFrame) -> bool:
    return one.exceptAll(other).isEmpty() and other.exceptAll(one).isEmpty()


def _add_row(table: Table, name: str, figure: Measurement, events: int) -> None:
    table.add_row(name, f"{figure.median:.2f}", f"{figure.noise:.0%}", f"{figure.median / events * 1000:.3f}")


def _describe_sizes(work: PlainWorkload) -> str:
    return f"{work.size:,} subscriptions, {len(work.events):,} events"


def measure_overhead(folder: Path, scale: float) -> Table:
    """Measure the stages with 1,000,000 subscriptions and 20,000 events, and compare Spark with one process."""
    work = workload.make(int(1_000_000 * scale), int(20_000 * scale), ATTRIBUTES, PRESENT, 0.001)
    write_workload(work, folder)
    spark = tws.start_session("bench")
    events = spark.read.parquet(str(folder / "events"))
    seconds, version = _run_stages(spark.read.parquet(str(folder / "subscriptions")), events, folder / "index")
    index = tw.Index()
    for part in sorted((folder / "subscriptions").iterdir()):
        rows = pq.read_table(part).to_pydict()
        index.add_many(zip(rows["id"], rows["expression"], strict=True))
    index.rebuild()
    counts: dict[str, int] = {}

    def in_process() -> None:
        files = sorted((folder / "events").iterdir())
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            each = pool.map(lambda file: _count_matches(index, file), files)
            counts["in process"] = sum(each)

    def on_spark() -> None:
        drain(tws.match(events, folder / "index"))

    counts["spark"] = tws.match(events, folder / "index").count()
    in_process()
    found = time_interleaved({"in process": in_process, "spark": on_spark}, 7)
    are_equal = counts["spark"] == counts["in process"]
    title = f"{_describe_sizes(work)}, {version.bytes / 1e6:,.0f} MB; matches equal: {are_equal}"
    table = Table("what", "seconds", "noise", "ms / event", title=title)
    for name, taken in seconds.items():
        table.add_row(name, f"{taken:.1f}", "", "")
    table.add_row("ingest and build", f"{seconds['ingest'] + seconds['build']:.1f} (target 180)", "", "")
    for name, figure in found.items():
        _add_row(table, name, figure, len(work.events))
    more = found["spark"].median / found["in process"].median - 1
    table.add_row("overhead of Spark", f"{more:.0%} (target 25%)", "", "")
    spark.stop()
    return table


def _run_stages(raw: DataFrame, events: DataFrame, path: Path) -> tuple[dict[str, float], tws.Version]:
    """Return the seconds of every stage from text to an index, and the version."""
    seconds = {}
    start = time.perf_counter()
    subs, quarantined = tws.ingest(raw)
    _ = subs.count(), quarantined.count()
    seconds["ingest"] = time.perf_counter() - start
    start = time.perf_counter()
    profile = tws.profile(subs, events)
    seconds["profile"] = time.perf_counter() - start
    start = time.perf_counter()
    version = tws.build(subs, path, profile=profile)
    seconds["build"] = time.perf_counter() - start
    subs.unpersist()
    return seconds, version


def measure_settings(folder: Path, scale: float) -> Table:
    """Compare 200 shuffle partitions, Spark's default, with ours: 2,000 subscriptions and 1,000 events."""
    work = workload.make(int(2_000 * scale), int(1_000 * scale), ATTRIBUTES, PRESENT, 0.01)
    write_workload(work, folder)
    spark = tws.start_session("bench")
    raw, events = (spark.read.parquet(str(folder / name)) for name in ("subscriptions", "events"))
    ours = spark.conf.get("spark.sql.shuffle.partitions") or ""

    def job(partitions: str) -> None:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        _run_stages(raw, events, folder / "index")
        drain(tws.match(events, folder / "index"))

    job(ours)
    found = time_interleaved({"default settings": lambda: job("200"), "tws.start_session": lambda: job(ours)}, 5)
    table = Table("what", "seconds", "noise", "ms / event", title=f"From text to matches: {_describe_sizes(work)}")
    for name, figure in found.items():
        _add_row(table, name, figure, len(work.events))
    more = found["default settings"].median / found["tws.start_session"].median
    table.add_row("how much slower", f"{more:.1f}x", "", "")
    spark.stop()
    return table


def _count_matches(index: tw.Index, file: Path) -> int:
    """Count the matches of a file's events, in slices as on Spark, so that the matches do not fill the memory."""
    events = pq.read_table(file).select(["attributes"])
    return sum(index.match_many(events.slice(at, 10_000)).num_rows for at in range(0, events.num_rows, 10_000))


class Probe:
    """A function for `mapInArrow` that reads the private memory of its worker, in kilobytes, without mapped files."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            time.sleep(0.5)  # so that every worker gets a batch
            lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
            facts = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
            kilobytes = int(facts["Anonymous"]), int(facts["Rss"])
            yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "own": [kilobytes[0]], "all": [kilobytes[1]]})


def measure_memory(folder: Path, scale: float) -> Table:
    """Match the same events with an index of 50 MB and one of 500 MB, each in new workers, and compare their memory."""
    table = Table("index MB", "subscriptions", "own memory of a worker, MB", "resident, MB", title="Memory of a worker")
    own: list[float] = []
    for size in (int(130_000 * scale), int(1_300_000 * scale)):
        work = workload.make(size, 4000, ATTRIBUTES, PRESENT, 0.001)
        here = folder / str(size)
        write_workload(work, here)
        spark = tws.start_session("bench", config={"spark.python.worker.reuse": "true"})
        version = tws.build(spark.read.parquet(str(here / "subscriptions")), here / "index")
        spark.stop()
        spark = tws.start_session("bench")  # new workers, which have built nothing
        drain(tws.match(spark.read.parquet(str(here / "events")), here / "index"))
        rows = spark.range(0, 4, 1, 4).mapInArrow(Probe(), "pid long, own long, all long").collect()
        worst = max(row.own for row in rows) / 1024
        own.append(worst)
        resident = max(row["all"] for row in rows) / 1024
        table.add_row(f"{version.bytes / 1e6:,.0f}", f"{version.subscriptions:,}", f"{worst:.0f}", f"{resident:.0f}")
        spark.stop()
    table.add_row("growth", "", f"{own[1] - own[0]:.0f} (target 20)", "")
    return table


if __name__ == "__main__":
    main()
