"""The same commands on the pipeline: files are read, and results written, by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tellwhen.cli.reading import format_of
from tellwhen.cli.told import Doing, progress, told
from tellwhen.cli.writing import write
from tellwhen.errors import FormatError
from tellwhen.schema import Schema
from tellwhen.subscriptions import Rejected
from tellwhen.validation import Finding, Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EventsFile(NamedTuple):
    """Where events are, how they are written, and the attribute that they are called by."""

    path: str
    form: str | None
    event_id: str | None


class Target(NamedTuple):
    """Where results go, and in which format."""

    path: str
    form: str | None


@contextmanager
def _session(master: str) -> Iterator[tuple[SparkSession, Doing]]:
    from tellwhen import spark as tws
    from tellwhen.spark.watching import watched

    with progress("starting Spark") as doing:
        spark = tws.session("tellwhen", master)
        with watched(spark, lambda done, total: doing.note(f"{done} of {total} tasks")):
            yield spark, doing


def _read(spark: SparkSession, path: str, form: str | None) -> DataFrame:
    kind = format_of(path, form)
    if path == "-":
        raise FormatError("Spark reads files, not the standard input")
    address = Path(path).absolute().as_uri() if "://" not in path else path
    if kind == "jsonl":
        return spark.read.json(address)
    if kind == "csv":
        return spark.read.csv(address, header=True)
    if kind == "parquet":
        return spark.read.parquet(address)
    raise FormatError(f"{path}: Spark reads JSON lines, CSV and Parquet")


def _raw(spark: SparkSession, files: list[str], form: str | None) -> DataFrame:
    """The subscriptions of all files."""
    frames = [_read(spark, file, form) for file in files]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def validate_on_spark(master: str, files: list[str], schema: Schema, form: str | None) -> Report:
    """What `ingest` puts into quarantine, as errors."""
    from tellwhen import spark as tws

    with _session(master) as (spark, doing):
        doing.now("checking")
        subs, quarantined = tws.ingest(_raw(spark, files, form), schema=schema)
        faulty = [Finding("error", *one) for one in _rejected(quarantined)]
        return Report(subs.count() + len(faulty), faulty)


def build_on_spark(
    master: str, files: list[str], output: Path, engine: str, schema: Schema, observe: str | None, form: str | None
) -> tuple[int, list[Rejected]]:
    """Ingest and build; returns the number of subscriptions, and the faulty ones."""
    from tellwhen import spark as tws

    with _session(master) as (spark, doing):
        doing.now("checking")
        subs, quarantined = tws.ingest(_raw(spark, files, form), schema=schema, engine=engine)
        profile = None
        if observe is not None:
            doing.now("looking at events")
            profile = tws.profile(subs, _read(spark, observe, None), attributes=None)
        doing.now("building the index")
        version = tws.build(subs, output, profile=profile, engine=engine)
        return version.subscriptions, _rejected(quarantined)


def _rejected(quarantined: DataFrame) -> list[Rejected]:
    return [Rejected(row.id, row.expression, row.position, row.reason) for row in quarantined.collect()]


def match_on_spark(master: str, index: Path, events: EventsFile, target: Target) -> None:
    """Match, and write what is found."""
    from tellwhen import spark as tws

    _answer(master, events, target, lambda frame, **named: tws.match(frame, index, **named))


def top_k_on_spark(master: str, index: Path, events: EventsFile, target: Target, k: int, relaxed: bool) -> None:
    """Rank, and write what is found."""
    from tellwhen import spark as tws

    _answer(master, events, target, lambda frame, **named: tws.top_k(frame, index, k, relaxed=relaxed, **named))


def _answer(master: str, events: EventsFile, target: Target, ask: Callable[..., DataFrame]) -> None:
    """Write what is found: a folder of files, or all of it to the standard output."""
    from pyspark.sql import functions as F  # noqa: N812

    with _session(master) as (spark, doing):
        doing.now("matching")
        frame: Any = _read(spark, events.path, events.form)
        name = events.event_id or "event_id"
        if events.event_id is None:
            frame = frame.withColumn(name, F.monotonically_increasing_id())
            told.print("events are numbered by Spark: pass --event-id to call them by an attribute")
        attributes = [column for column in frame.columns if column != name]
        found = ask(frame, event_id=name, attributes=attributes).withColumnRenamed(name, "event_id")  # as in process
        if target.path == "-":
            batches = found.toArrow().to_batches()
        else:
            kind = format_of(*target)
            if kind not in ("parquet", "csv", "jsonl"):
                raise FormatError(f"Spark writes JSON lines, CSV and Parquet, not {kind}")
            getattr(found.write, {"jsonl": "json"}.get(kind, kind))(Path(target.path).absolute().as_uri())
            return
    write(batches, *target)
