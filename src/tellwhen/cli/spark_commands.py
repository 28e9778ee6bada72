"""`validate`, `build`, `match` and `top-k` with `--spark`: Spark reads the files and writes the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tellwhen.cli.console_output import ProgressLine, err, fail, show_progress
from tellwhen.cli.file_formats import detect_format
from tellwhen.cli.output_files import write_batches
from tellwhen.cli.subscription_files import READ_COLUMNS, make_column_hint
from tellwhen.errors import FormatError, pluralize
from tellwhen.index.subscriptions import COLUMNS, Rejected
from tellwhen.inspect.validation import Finding, ValidationReport
from tellwhen.language.schema import Schema
from tellwhen.warehouse.versions import read_version

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ATTRIBUTES, EVENT_ID = "_attributes", "event_id"


class EventsFile(NamedTuple):
    """Path and format of events, and the attribute with their ids."""

    path: str
    format_name: str | None
    event_id: str | None


class Target(NamedTuple):
    """Path and format of the results."""

    path: str
    format_name: str | None

    def check(self) -> None:
        """Raise an error if Spark cannot write this target."""
        if self.path == "-":
            return
        kind = detect_format(self.path, self.format_name, "--output-format")
        if kind not in ("parquet", "csv", "jsonl"):
            raise FormatError(f"Spark writes JSON lines, CSV and Parquet, not {kind}")
        if Path(self.path).exists():
            raise FormatError(f"{self.path} exists; Spark writes a new folder of files")


@contextmanager
def _start_session(
    master: str, files: list[str], format_name: str | None
) -> Iterator[tuple[SparkSession, ProgressLine]]:
    """Start Spark, after checking that the files can be read, because starting takes a while."""
    for file in files:
        _build_address(file, format_name)
    from pyspark.errors import PySparkException

    from tellwhen import spark as tws
    from tellwhen.spark.progress import watch_tasks

    try:
        with show_progress("starting Spark") as line:
            spark = tws.start_session("tellwhen", master)
            with watch_tasks(spark, lambda done, total: line.show_amount(f"{done} of {total} tasks")):
                yield spark, line
    except PySparkException as error:
        fail(f"Spark: {str(error).partition(chr(10))[0]}")


def _build_address(path: str, format_name: str | None) -> str:
    """Return the URI by which Spark finds a file."""
    if path == "-":
        raise FormatError("Spark reads files, not the standard input")
    if detect_format(path, format_name) not in ("jsonl", "csv", "parquet"):
        raise FormatError(f"{path}: Spark reads JSON lines, CSV and Parquet")
    if "://" in path:
        return path
    if set(path) & set("*?[{"):  # as_uri would quote them
        return f"file:{Path(path).absolute()}"
    if not Path(path).exists():
        raise FormatError(f"{path}: No such file or directory")
    return Path(path).absolute().as_uri()


CSV = {"header": True, "quote": '"', "escape": '"', "multiLine": True}


def _read_subscriptions(spark: SparkSession, files: list[str], format_name: str | None) -> DataFrame:
    """Read the subscriptions of all files as they are written."""

    def read_file(path: str) -> DataFrame:
        kind, address = detect_format(path, format_name), _build_address(path, format_name)
        if kind == "csv":
            return spark.read.csv(address, **CSV)  # type: ignore[arg-type]
        return _read_json_rows(spark, path, address) if kind == "jsonl" else spark.read.parquet(address)

    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), map(read_file, files))


def _read_json_rows(spark: SparkSession, path: str, address: str) -> DataFrame:
    """Read subscriptions in lines of JSON, with members as text.

    Spark would turn weights and payloads into structs with the names of all rows. A line that is no object becomes an
    expression without an id, which `ingest` rejects.
    """
    from pyspark.sql import functions as F  # noqa: N812

    lines = _read_json_lines(spark, address)
    names = {row[0] for row in lines.select(F.explode(F.json_object_keys(ATTRIBUTES))).distinct().collect()}
    for name in sorted(names - {*READ_COLUMNS}):
        err.print(f"column {name} is not read: {make_column_hint(name)}", markup=False)
    if "id" not in names or "expression" not in names:
        raise FormatError(f"{path}: subscriptions lack id or expression; found {', '.join(sorted(names))}")
    is_object = F.json_object_keys(ATTRIBUTES).isNotNull()
    return lines.select(
        _extract_json_member(lines, "id").alias("id"),
        F.when(is_object, F.get_json_object(ATTRIBUTES, "$.expression"))
        .otherwise(F.col(ATTRIBUTES))
        .alias("expression"),
        *(F.get_json_object(ATTRIBUTES, f"$.{name}").alias(name) for name in COLUMNS[2:] if name in names),
    )


def _read_json_lines(spark: SparkSession, address: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return spark.read.text(address).where(F.trim("value") != "").withColumnRenamed("value", ATTRIBUTES)


def _read_events(spark: SparkSession, events: EventsFile) -> tuple[DataFrame, str | list[str]]:
    """Return a DataFrame with a column `event_id`, and the column or columns with the attributes.

    JSON stays text, and the cells of a CSV file become a map of text, because Spark would give a column one type, and
    one odd value would change all others.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kind, address = detect_format(events.path, events.format_name), _build_address(events.path, events.format_name)
    name = events.event_id
    if kind == "jsonl":
        frame = _read_json_lines(spark, address)
        id_ = None if name is None else _extract_json_member(frame, name)
    elif kind == "csv":
        cells = spark.read.csv(address, **CSV)  # type: ignore[arg-type]
        if name is not None and name not in cells.columns:
            raise FormatError(
                f"there is no column {name!r} (--event-id {name}); the columns are: {', '.join(cells.columns)}"
            )
        pairs = [part for column in cells.columns for part in (F.lit(column), F.col(f"`{column}`"))]
        filled = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull() & (value != ""))
        frame = cells.select(filled.alias(ATTRIBUTES))
        id_ = None if name is None else F.col(ATTRIBUTES)[name]
    else:
        frame = spark.read.parquet(address)
        columns = list(frame.columns)
        if name is not None:
            return frame.withColumnRenamed(name, EVENT_ID), [column for column in columns if column != name]
        return frame.withColumn(EVENT_ID, _number_events()), columns
    return frame.withColumn(EVENT_ID, _number_events() if id_ is None else id_), ATTRIBUTES


def _number_events() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    err.print("Spark numbers the events; pass --event-id to use an attribute as their id")
    return F.monotonically_increasing_id()


def _extract_json_member(frame: DataFrame, name: str) -> Column:
    """Return a column with a member of JSON objects: integers if all its values are integers, or else text."""
    from pyspark.sql import functions as F  # noqa: N812

    path = "$" + "".join(f"['{part}']" for part in name.split("."))
    member = F.try_variant_get(F.try_parse_json(F.col(ATTRIBUTES)), path, "variant")
    kinds = {row[0] for row in frame.select(F.schema_of_variant(member)).distinct().collect()} - {None, "VOID"}
    if not kinds:
        raise FormatError(f"no event has an attribute {name!r} (--event-id {name})")
    text = F.get_json_object(ATTRIBUTES, path)
    return text.cast("long") if kinds == {"BIGINT"} else text


def validate_on_spark(master: str, files: list[str], schema: Schema, format_name: str | None) -> ValidationReport:
    """Return a report of the subscriptions that `ingest` puts into quarantine."""
    from tellwhen import spark as tws

    with _start_session(master, files, format_name) as (spark, line):
        line.start_step("checking")
        subs, quarantined = tws.ingest(_read_subscriptions(spark, files, format_name), schema=schema)
        faulty = [Finding.from_rejected(row) for row in _collect_rejected(quarantined)]
        return ValidationReport(subs.count() + len(faulty), faulty)


def build_on_spark(
    master: str,
    files: list[str],
    output: Path,
    engine: str,
    schema: Schema,
    typical_events: str | None,
    format_name: str | None,
) -> tuple[int, list[Rejected]]:
    """Build an index from files; return the number of subscriptions, and the faulty ones."""
    from tellwhen import spark as tws

    with _start_session(master, files, format_name) as (spark, line):
        line.start_step("checking")
        subs, quarantined = tws.ingest(_read_subscriptions(spark, files, format_name), schema=schema, engine=engine)
        profile = None
        if typical_events is not None:
            line.start_step("reading events")
            frame, attributes = _read_events(spark, EventsFile(typical_events, None, None))
            profile = tws.profile(subs, frame.drop(EVENT_ID), attributes=attributes)
        line.start_step("building the index")
        version = tws.build(subs, output, profile=profile, engine=engine)
        return version.subscriptions, _collect_rejected(quarantined)


def _collect_rejected(quarantined: DataFrame) -> list[Rejected]:
    return [Rejected(**row.asDict()) for row in quarantined.collect()]


def match_on_spark(master: str, index: Path, events: EventsFile, target: Target) -> None:
    """Write the matches of a file of events."""
    from tellwhen import spark as tws

    _write_results(master, index, events, target, tws.match)


def top_k_on_spark(master: str, index: Path, events: EventsFile, target: Target, k: int, relaxed: bool) -> None:
    """Write the best k subscriptions of each event of a file."""
    from tellwhen import spark as tws

    def rank(frame: DataFrame, path: Path, **options: Any) -> DataFrame:
        return tws.top_k(frame, path, k, relaxed=relaxed, **options)

    _write_results(master, index, events, target, rank)


def _write_results(
    master: str, index: Path, events: EventsFile, target: Target, compute: Callable[..., DataFrame]
) -> None:
    """Compute results of a file of events; write a folder of files, or lines to the standard output."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    read_version(index)
    target.check()
    with _start_session(master, [events.path], events.format_name) as (spark, line):
        line.start_step("matching")
        frame, attributes = _read_events(spark, events)
        wrong, rows = Observation("wrong"), Observation("rows")
        results = compute(frame, index, event_id=EVENT_ID, attributes=attributes, observe=wrong)
        results = results.observe(rows, F.count(F.lit(1)).alias("count"))
        if target.path == "-":
            batches = results.toArrow().to_batches()
        else:
            kind = detect_format(target.path, target.format_name, "--output-format")
            writer = results.write.option("header", True) if kind == "csv" else results.write
            getattr(writer, {"jsonl": "json"}.get(kind, kind))(Path(target.path).absolute().as_uri())
    if target.path == "-":
        write_batches(batches, *target)
    err.print(pluralize(rows.get["count"], "row"))
    if wrong.get["undefined"]:
        err.print(f"{pluralize(wrong.get['undefined'], 'value')} of a wrong type, or events that are not JSON objects")
