"""The same commands on the pipeline: files are read, and results written, by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellwhen.cli.reading import format_of
from tellwhen.cli.told import told
from tellwhen.errors import FormatError
from tellwhen.schema import Schema
from tellwhen.subscriptions import Rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def build_on_spark(
    master: str, files: list[str], output: Path, engine: str, schema: Schema, observe: str | None, form: str | None
) -> tuple[int, list[Rejected]]:
    """Ingest and build; returns the number of subscriptions, and the faulty ones."""
    from functools import reduce

    from tellwhen import spark as tws

    spark = tws.session("tellwhen", master)
    frames = [_read(spark, file, form) for file in files]
    raw = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    subs, quarantined = tws.ingest(raw, schema=schema, engine=engine)
    profile = None
    if observe is not None:
        profile = tws.profile(subs, _read(spark, observe, None), attributes=None)
    version = tws.build(subs, output, profile=profile, engine=engine)
    faulty = [Rejected(row.id, row.expression, row.position, row.reason) for row in quarantined.collect()]
    return version.subscriptions, faulty


def match_on_spark(
    master: str,
    index: Path,
    events: str,
    output: str,
    event_id: str | None,
    form: str | None,
    output_format: str | None,
) -> None:
    """Match, and write what is found: a folder of files, or all of it to the standard output."""
    from pyspark.sql import functions as F  # noqa: N812

    from tellwhen import spark as tws
    from tellwhen.cli.writing import write

    spark = tws.session("tellwhen", master)
    frame: Any = _read(spark, events, form)
    name = event_id or "event_id"
    if event_id is None:
        frame = frame.withColumn(name, F.monotonically_increasing_id())
        told.print("events are numbered by Spark: pass --event-id to call them by an attribute")
    attributes = [column for column in frame.columns if column != name]
    found = tws.match(frame, index, event_id=name, attributes=attributes)
    found = found.withColumnRenamed(name, "event_id")  # as in process
    if output == "-":
        write(found.toArrow().to_batches(), output, output_format)
        return
    kind = format_of(output, output_format)
    if kind not in ("parquet", "csv", "jsonl"):
        raise FormatError(f"Spark writes JSON lines, CSV and Parquet, not {kind}")
    getattr(found.write, {"jsonl": "json"}.get(kind, kind))(Path(output).absolute().as_uri())
