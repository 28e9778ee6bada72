"""DataFrames of subscriptions and events -> one small `Profile`: a partial one per partition, then merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from tellwhen.errors import SchemaError
from tellwhen.profile import Profile, Side
from tellwhen.spark.columns import parsed_column
from tellwhen.spark.events import Form, objects, prepare
from tellwhen.spark.parsed_column import read_parsed
from tellwhen.spark.tasks import mapped, own_errors, partitions

MAX_PARTIALS = 16
"""Partial profiles that reach the driver; more of them are merged into this number before."""

BATCHES = 5
"""Batches profiled together: with one alone, the work per attribute may cost more than the work for its few values."""

SIDES: tuple[Side, ...] = ("events", "subscriptions")


def profile(
    subs: DataFrame | None = None,
    events: DataFrame | None = None,
    attributes: str | Sequence[str] | None = "attributes",
    event_id: str | None = None,
) -> Profile:
    """The statistics of subscriptions (a column `expression`), of events, or of both.

    Expressions that come from `ingest` are not parsed again; one that does not parse is an error. Events come in any
    form that `match` takes; with `event_id` its column is not taken for an attribute. The text of a map<string,string>
    stays text: only histograms read numbers from it, where all of it is numbers. An event that is not an object counts
    as one without attributes, and as malformed.
    """
    found = Profile()
    if subs is not None:
        if "expression" not in subs.columns or not isinstance(subs.schema["expression"].dataType, StringType):
            raise SchemaError("subscriptions have a column 'expression' of strings; ingest() makes it")
        with own_errors():
            found.add(_collected(subs.select("expression", parsed_column(subs)), _subscriptions))
    if events is not None:
        if event_id is None:
            event_id = "_event"
            while event_id in events.columns:
                event_id += "_"
            events = events.withColumn(event_id, F.lit(0))
        frame, form = prepare(events, event_id, attributes, {})
        found.add(_collected(frame, _objects if form.kind == "json" else partial(_tables, form)))
    return found


def _collected(frame: DataFrame, profiled: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Profile:
    schema, limit = "profile binary", partitions(frame.sparkSession)
    partials = mapped(frame.coalesce(limit), profiled, schema)
    if limit > MAX_PARTIALS:
        partials = mapped(partials.repartition(MAX_PARTIALS), _merging, schema)
    return Profile.merge(Profile.from_bytes(bytes(row.profile)) for row in partials.collect())


def _subscriptions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found = Profile()
    found.add_subscriptions(
        read_parsed(parsed, text)
        for batch in batches
        for text, parsed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
    )
    yield _packed(found)


def _tables(form: Form, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events as columns, after that of their ids."""
    found = Profile()
    while some := list(islice(batches, BATCHES)):
        if not form.names:  # a table without columns has no rows either
            found.add_events({} for batch in some for _ in range(batch.num_rows))
        else:
            found.add_events(pa.concat_tables(form.table(batch) for batch in some))
    yield _packed(found)


def _objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events as JSON, after their ids."""
    found = Profile()
    found.add_events(_loaded(found, batches))
    yield _packed(found)


def _loaded(found: Profile, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for event in objects(batch.column(1)):
            found.malformed += event is None
            yield event or {}


def _merging(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    some = [Profile.from_bytes(data) for batch in batches for data in batch.column(0).to_pylist()]
    if some:
        yield _packed(Profile.merge(some))


def _packed(found: Profile) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"profile": pa.array([found.to_bytes()], pa.binary())})


def frames(profile: Profile, spark: SparkSession) -> dict[str, DataFrame]:
    """The profile as DataFrames: attributes, heavy_hitters, histograms (of events; times in microseconds), sharing."""
    names = profile.attributes
    asked, seen = profile.subscription_frequency, profile.event_frequency
    attributes = [
        (
            name,
            asked.get(name, 0.0),
            seen.get(name, 0.0),
            sorted({family for side in SIDES for family in profile.families(name, side)}),
        )
        for name in names
    ]
    heavy = [
        (name, side, str(value), count)
        for name in names
        for side in SIDES
        for value, count in profile.heavy_hitters(name, side)
    ]
    histograms = [
        (name, float(low), float(high), count) for name in names for low, high, count in profile.histogram(name)
    ]
    sharing = [(level.level, level.total, level.distinct, level.ratio) for level in profile.sharing()]
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    tables = {
        "attributes": _table(
            attributes, attribute=text, subscription_frequency=real, event_frequency=real, families=pa.list_(text)
        ),
        "heavy_hitters": _table(heavy, attribute=text, side=text, value=text, count=whole),
        "histograms": _table(histograms, attribute=text, low=real, high=real, count=whole),
        "sharing": _table(sharing, level=whole, total=whole, distinct=whole, ratio=real),
    }
    return {name: spark.createDataFrame(table) for name, table in tables.items()}


def _table(rows: Sequence[tuple[Any, ...]], **types: pa.DataType) -> pa.Table:
    names = list(types)
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(list(types.items())))
