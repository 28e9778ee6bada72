"""Profiles of subscriptions and events in DataFrames: one for each partition, then merged into one."""

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
from tellwhen.spark.columns import select_parsed
from tellwhen.spark.events import Form, parse_objects, prepare_events
from tellwhen.spark.parsed_column import read_parsed
from tellwhen.spark.tasks import count_partitions, map_batches, raise_own_errors

PARTIAL_PROFILES_MAX = 16
"""Most partial profiles that reach the driver; workers merge a larger number first."""

BATCHES_PER_STEP = 5
"""Batches profiled together: the work for an attribute in one batch may cost more than the work for its few values."""

SIDES: tuple[Side, ...] = ("events", "subscriptions")


def profile(
    subs: DataFrame | None = None,
    events: DataFrame | None = None,
    attributes: str | Sequence[str] | None = "attributes",
    event_id: str | None = None,
) -> Profile:
    """Compute the statistics of subscriptions, of events, or of both.

    Parameters
    ----------
    subs
        Subscriptions with a column `expression`. Expressions from `ingest` are not parsed again.
    events
        Events in any form that `match` accepts. The text of a map<string,string> stays text: only histograms read
        numbers from it, if all of it is numbers. An event that is not an object counts as one without attributes, and
        as malformed.
    attributes
        As for `match`.
    event_id
        The column of the event ids, which is then no attribute.

    Returns
    -------
    Profile
        Frequencies, heavy hitters, histograms and more.

    Raises
    ------
    SchemaError
        If a column is missing or of a wrong type.
    ParseError
        If an expression cannot be parsed.

    Examples
    --------
    >>> profile = tws.profile(subs, events)  # doctest: +SKIP
    """
    merged = Profile()
    if subs is not None:
        if "expression" not in subs.columns or not isinstance(subs.schema["expression"].dataType, StringType):
            raise SchemaError("subscriptions have a column 'expression' of strings; ingest() makes it")
        with raise_own_errors():
            merged.add(_collect_profiles(subs.select("expression", select_parsed(subs)), _profile_subscriptions))
    if events is not None:
        if event_id is None:
            event_id = "_event"
            while event_id in events.columns:
                event_id += "_"
            events = events.withColumn(event_id, F.lit(0))
        frame, form = prepare_events(events, event_id, attributes, {})
        function = _profile_objects if form.kind == "json" else partial(_profile_tables, form)
        merged.add(_collect_profiles(frame, function))
    return merged


def _collect_profiles(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> Profile:
    schema, limit = "profile binary", count_partitions(frame.sparkSession)
    partials = map_batches(frame.coalesce(limit), function, schema)
    if limit > PARTIAL_PROFILES_MAX:
        partials = map_batches(partials.repartition(PARTIAL_PROFILES_MAX), _merge_profiles, schema)
    return Profile.merge(Profile.from_bytes(bytes(row.profile)) for row in partials.collect())


def _profile_subscriptions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    partial_profile = Profile()
    partial_profile.add_subscriptions(
        read_parsed(parsed, text)
        for batch in batches
        for text, parsed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
    )
    yield _make_profile_row(partial_profile)


def _profile_tables(form: Form, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Profile events that are columns, after that of their ids."""
    partial_profile = Profile()
    while step := list(islice(batches, BATCHES_PER_STEP)):
        if not form.names:  # a table without columns has no rows either
            partial_profile.add_events({} for batch in step for _ in range(batch.num_rows))
        else:
            partial_profile.add_events(pa.concat_tables(form.select(batch) for batch in step))
    yield _make_profile_row(partial_profile)


def _profile_objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Profile events that are JSON, after their ids."""
    partial_profile = Profile()
    partial_profile.add_events(_iter_objects(partial_profile, batches))
    yield _make_profile_row(partial_profile)


def _iter_objects(profile: Profile, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield the events, and count those that are not an object."""
    for batch in batches:
        for event in parse_objects(batch.column(1)):
            profile.malformed += event is None
            yield event or {}


def _merge_profiles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    profiles = [Profile.from_bytes(data) for batch in batches for data in batch.column(0).to_pylist()]
    if profiles:
        yield _make_profile_row(Profile.merge(profiles))


def _make_profile_row(profile: Profile) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"profile": pa.array([profile.to_bytes()], pa.binary())})


def convert_profile(profile: Profile, spark: SparkSession) -> dict[str, DataFrame]:
    """Convert a profile to DataFrames.

    Parameters
    ----------
    profile
        A profile, as `profile` returns it.
    spark
        The session.

    Returns
    -------
    dict of str to DataFrame
        `attributes`, `heavy_hitters`, `histograms` (of events; times are in microseconds) and `sharing`.

    Examples
    --------
    >>> tws.convert_profile(profile, spark)["attributes"].show()  # doctest: +SKIP
    """
    names = profile.attributes
    subscription_frequency, event_frequency = profile.subscription_frequency, profile.event_frequency
    attributes = [
        (
            name,
            subscription_frequency.get(name, 0.0),
            event_frequency.get(name, 0.0),
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
        "attributes": _make_table(
            attributes, attribute=text, subscription_frequency=real, event_frequency=real, families=pa.list_(text)
        ),
        "heavy_hitters": _make_table(heavy, attribute=text, side=text, value=text, count=whole),
        "histograms": _make_table(histograms, attribute=text, low=real, high=real, count=whole),
        "sharing": _make_table(sharing, level=whole, total=whole, distinct=whole, ratio=real),
    }
    return {name: spark.createDataFrame(table) for name, table in tables.items()}


def _make_table(rows: Sequence[tuple[Any, ...]], **types: pa.DataType) -> pa.Table:
    names = list(types)
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(list(types.items())))
