"""The same commands on the pipeline: files are read, and results written, by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tellwhen.cli.console_output import Doing, fail, progress, told
from tellwhen.cli.input_files import NOTED, format_of, unused_hint
from tellwhen.cli.output_files import write
from tellwhen.errors import FormatError, pluralize
from tellwhen.index.subscriptions import COLUMNS, Rejected
from tellwhen.inspect.validation import Finding, Report
from tellwhen.language.schema import Schema
from tellwhen.warehouse.versions import read_version

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ATTRIBUTES, EVENT_ID = "_attributes", "event_id"


class EventsFile(NamedTuple):
    """Where events are, how they are written, and the attribute that they are called by."""

    path: str
    form: str | None
    event_id: str | None


class Target(NamedTuple):
    """Where results go, and in which format."""

    path: str
    form: str | None

    def check(self) -> None:
        """Raises an error for what Spark cannot write."""
        if self.path == "-":
            return
        kind = format_of(self.path, self.form, "--output-format")
        if kind not in ("parquet", "csv", "jsonl"):
            raise FormatError(f"Spark writes JSON lines, CSV and Parquet, not {kind}")
        if Path(self.path).exists():
            raise FormatError(f"{self.path} exists; Spark writes a new folder of files")


@contextmanager
def _session(master: str, files: list[str], form: str | None) -> Iterator[tuple[SparkSession, Doing]]:
    """A session, once it is clear that the files can be read: to start Spark takes a while."""
    for file in files:
        _address(file, form)
    from pyspark.errors import PySparkException

    from tellwhen import spark as tws
    from tellwhen.spark.progress import watched

    try:
        with progress("starting Spark") as doing:
            spark = tws.session("tellwhen", master)
            with watched(spark, lambda done, total: doing.note(f"{done} of {total} tasks")):
                yield spark, doing
    except PySparkException as error:
        fail(f"Spark: {str(error).partition(chr(10))[0]}")


def _address(path: str, form: str | None) -> str:
    """How Spark finds a file."""
    if path == "-":
        raise FormatError("Spark reads files, not the standard input")
    if format_of(path, form) not in ("jsonl", "csv", "parquet"):
        raise FormatError(f"{path}: Spark reads JSON lines, CSV and Parquet")
    if "://" in path:
        return path
    if set(path) & set("*?[{"):  # which as_uri would hide
        return f"file:{Path(path).absolute()}"
    if not Path(path).exists():
        raise FormatError(f"{path}: No such file or directory")
    return Path(path).absolute().as_uri()


CSV = {"header": True, "quote": '"', "escape": '"', "multiLine": True}


def _raw(spark: SparkSession, files: list[str], form: str | None) -> DataFrame:
    """The subscriptions of all files."""

    def read(path: str) -> DataFrame:
        kind, address = format_of(path, form), _address(path, form)
        if kind == "csv":
            return spark.read.csv(address, **CSV)  # type: ignore[arg-type]
        return _json_rows(spark, path, address) if kind == "jsonl" else spark.read.parquet(address)

    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), map(read, files))


def _json_rows(spark: SparkSession, path: str, address: str) -> DataFrame:
    """Subscriptions in lines of JSON, whose members stay text: Spark would make structs of weights and payloads, with
    all names that any of them has. A line that is no object is an expression without an id, which `ingest` refuses."""
    from pyspark.sql import functions as F  # noqa: N812

    lines = _json_lines(spark, address)
    names = {row[0] for row in lines.select(F.explode(F.json_object_keys(ATTRIBUTES))).distinct().collect()}
    for name in sorted(names - {*NOTED}):
        told.print(f"{name} is not used: {unused_hint(name)}", markup=False)
    if "id" not in names or "expression" not in names:
        raise FormatError(f"{path}: a subscription has an id and an expression, not only {', '.join(sorted(names))}")
    is_object = F.json_object_keys(ATTRIBUTES).isNotNull()
    return lines.select(
        _member(lines, "id").alias("id"),
        F.when(is_object, F.get_json_object(ATTRIBUTES, "$.expression"))
        .otherwise(F.col(ATTRIBUTES))
        .alias("expression"),
        *(F.get_json_object(ATTRIBUTES, f"$.{name}").alias(name) for name in COLUMNS[2:] if name in names),
    )


def _json_lines(spark: SparkSession, address: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return spark.read.text(address).where(F.trim("value") != "").withColumnRenamed("value", ATTRIBUTES)


def _events(spark: SparkSession, events: EventsFile) -> tuple[DataFrame, str | list[str]]:
    """A DataFrame with a column `event_id`, and where the attributes are.

    JSON stays text, and the cells of a CSV file are a map of text: Spark would give a column one type, and one odd
    value would change all others.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kind, address = format_of(events.path, events.form), _address(events.path, events.form)
    name = events.event_id
    if kind == "jsonl":
        frame = _json_lines(spark, address)
        id_ = None if name is None else _member(frame, name)
    elif kind == "csv":
        cells = spark.read.csv(address, **CSV)  # type: ignore[arg-type]
        if name is not None and name not in cells.columns:
            raise FormatError(f"there is no column {name} to call events by; there are {', '.join(cells.columns)}")
        pairs = [one for column in cells.columns for one in (F.lit(column), F.col(f"`{column}`"))]
        filled = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull() & (value != ""))
        frame = cells.select(filled.alias(ATTRIBUTES))
        id_ = None if name is None else F.col(ATTRIBUTES)[name]
    else:
        frame = spark.read.parquet(address)
        columns = list(frame.columns)
        if name is not None:
            return frame.withColumnRenamed(name, EVENT_ID), [column for column in columns if column != name]
        return frame.withColumn(EVENT_ID, _numbered()), columns
    return frame.withColumn(EVENT_ID, _numbered() if id_ is None else id_), ATTRIBUTES


def _numbered() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    told.print("events are numbered by Spark: pass --event-id to call them by an attribute")
    return F.monotonically_increasing_id()


def _member(frame: DataFrame, name: str) -> Column:
    """A member of JSON objects: an integer if all that have it have one, else text."""
    from pyspark.sql import functions as F  # noqa: N812

    path = "$" + "".join(f"['{part}']" for part in name.split("."))
    member = F.try_variant_get(F.try_parse_json(F.col(ATTRIBUTES)), path, "variant")
    kinds = {row[0] for row in frame.select(F.schema_of_variant(member)).distinct().collect()} - {None, "VOID"}
    if not kinds:
        raise FormatError(f"there is no column {name} to call events by")
    found = F.get_json_object(ATTRIBUTES, path)
    return found.cast("long") if kinds == {"BIGINT"} else found


def validate_on_spark(master: str, files: list[str], schema: Schema, form: str | None) -> Report:
    """What `ingest` puts into quarantine, as errors."""
    from tellwhen import spark as tws

    with _session(master, files, form) as (spark, doing):
        doing.now("checking")
        subs, quarantined = tws.ingest(_raw(spark, files, form), schema=schema)
        faulty = [Finding.error(one) for one in _rejected(quarantined)]
        return Report(subs.count() + len(faulty), faulty)


def build_on_spark(
    master: str, files: list[str], output: Path, engine: str, schema: Schema, observe: str | None, form: str | None
) -> tuple[int, list[Rejected]]:
    """Ingest and build; returns the number of subscriptions, and the faulty ones."""
    from tellwhen import spark as tws

    with _session(master, files, form) as (spark, doing):
        doing.now("checking")
        subs, quarantined = tws.ingest(_raw(spark, files, form), schema=schema, engine=engine)
        profile = None
        if observe is not None:
            doing.now("looking at events")
            frame, attributes = _events(spark, EventsFile(observe, None, None))
            profile = tws.profile(subs, frame.drop(EVENT_ID), attributes=attributes)
        doing.now("building the index")
        version = tws.build(subs, output, profile=profile, engine=engine)
        return version.subscriptions, _rejected(quarantined)


def _rejected(quarantined: DataFrame) -> list[Rejected]:
    return [Rejected(**row.asDict()) for row in quarantined.collect()]


def match_on_spark(master: str, index: Path, events: EventsFile, target: Target) -> None:
    """Match, and write what is found."""
    from tellwhen import spark as tws

    _answer(master, index, events, target, tws.match)


def top_k_on_spark(master: str, index: Path, events: EventsFile, target: Target, k: int, relaxed: bool) -> None:
    """Rank, and write what is found."""
    from tellwhen import spark as tws

    def ranked(frame: DataFrame, path: Path, **named: Any) -> DataFrame:
        return tws.top_k(frame, path, k, relaxed=relaxed, **named)

    _answer(master, index, events, target, ranked)


def _answer(master: str, index: Path, events: EventsFile, target: Target, ask: Callable[..., DataFrame]) -> None:
    """Write what is found: a folder of files, or all of it to the standard output."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    read_version(index)
    target.check()
    with _session(master, [events.path], events.form) as (spark, doing):
        doing.now("matching")
        frame, attributes = _events(spark, events)
        wrong, rows = Observation("wrong"), Observation("rows")
        found = ask(frame, index, event_id=EVENT_ID, attributes=attributes, observe=wrong)
        found = found.observe(rows, F.count(F.lit(1)).alias("count"))
        if target.path == "-":
            batches = found.toArrow().to_batches()
        else:
            kind = format_of(target.path, target.form, "--output-format")
            writer = found.write.option("header", True) if kind == "csv" else found.write
            getattr(writer, {"jsonl": "json"}.get(kind, kind))(Path(target.path).absolute().as_uri())
    if target.path == "-":
        write(batches, *target)
    told.print(pluralize(rows.get["count"], "row"))
    if wrong.get["undefined"]:
        told.print(f"{pluralize(wrong.get['undefined'], 'value')} of a wrong type, or events that are no JSON object")
