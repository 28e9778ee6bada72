"""Matches of events on executors that map the shards of an index into memory.

Two plans have equal results:

    local     every worker opens all shards and matches its own events     no event moves
    routed    an event goes to workers that have the shards it meets       for an index that no machine could hold

In both an event meets only the shards with a subscription that it may satisfy (`warehouse/routes.py`).
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StructField, StructType

from tellwhen.deprecation import warn_deprecated
from tellwhen.errors import ArgumentError
from tellwhen.inspect.attribute_coverage import find_missing_attributes
from tellwhen.kernels.arrays import I64, Events
from tellwhen.spark.columns import get_column, get_id_type
from tellwhen.spark.events import list_attributes, prepare_events
from tellwhen.spark.tasks import count_cores, map_batches
from tellwhen.spark.version_cache import OpenVersion
from tellwhen.spark.workers import UNDEFINED, Finder, PackedFinder, Packer, RowFinder, make_packed_type
from tellwhen.warehouse.leases import renew_lease
from tellwhen.warehouse.opening import read_dictionary
from tellwhen.warehouse.versions import Version, locate_index, read_version

Plan = Literal["auto", "local", "routed"]

LOCAL_MAX_BYTES = 8 << 30
"""Size of an index up to which every machine is expected to hold it in its page cache."""

MATCHES_PER_BATCH = 1 << 20
"""Most matches handed to Spark together, unless a single event has more."""

SUBSCRIPTIONS = "_subscriptions"
"""Column of the matches of an event in one shard."""

log = logging.getLogger("tellwhen.spark")


def match(
    events: DataFrame,
    path: str | os.PathLike[str],
    *,
    event_id: str = "event_id",
    attributes: str | Sequence[str] | None = "attributes",
    plan: Plan = "auto",
    version: int | None = None,
    observe: str | Observation | None = None,
) -> DataFrame:
    """Match all events with the subscriptions of an index.

    The plan and its reason are logged; `choose_plan` returns them.

    Parameters
    ----------
    events
        A batch or a stream of events.
    path
        The folder of the index.
    event_id
        The column of the event ids.
    attributes
        The column of the attributes: a map, a struct, a variant or JSON. A list names columns that are attributes
        themselves; None stands for all columns.
    plan
        "local", where every worker opens all shards; "routed", where events are sent to shards; or "auto".
    version
        The number of the version. By default a batch is matched with the version that is current now, and each
        micro-batch of a stream with the version that is current when it starts.
    observe
        An Observation or a name for the metric `undefined`: the number of values of a wrong type, which are undefined,
        and of events that are not an object. The default name for a stream is "tellwhen".

    Returns
    -------
    DataFrame
        The matches (event_id, subscription_id).

    Raises
    ------
    FormatError
        If there is no index at `path`, or it is damaged or of another format.
    SchemaError
        If a column is missing, or its type contradicts the schema of the index.

    Examples
    --------
    >>> matches = tws.match(events, "warehouse/index")  # doctest: +SKIP
    """
    query = Query(events, path, event_id, attributes, plan, version, observe)
    matches = query.run(_RowMatching, _PackedMatching, _make_result_type(event_id, query.kind, query.version))
    return matches.select(get_column(event_id), F.explode(SUBSCRIPTIONS).alias("subscription_id"))


class Query:
    """Events, the version to find their subscriptions in, and the plan."""

    def __init__(
        self,
        events: DataFrame,
        path: str | os.PathLike[str],
        event_id: str,
        attributes: str | Sequence[str] | None,
        plan: Plan,
        version: int | None,
        observe: str | Observation | None,
    ) -> None:
        root = locate_index(path)
        self.version = read_version(root, version)
        self.plan, reason = _choose_plan(self.version, plan)
        log.info("%s", _describe_plan(self.version, self.plan, reason))
        self.frame, form = prepare_events(events, event_id, attributes, self.version.schema.types)
        if form.kind in ("columns", "struct"):
            names = [attributes] if isinstance(attributes, str) else attributes or events.columns
            fields = [field for field in events.schema.fields if field.name in names]
            self._warn_of_misspellings(root, fields[0].dataType if isinstance(attributes, str) else StructType(fields))
        number = None if events.isStreaming and version is None else self.version.version
        if number is not None:
            renew_lease(root, number)  # until the first task renews it
        if observe is None:  # a name may occur once in a query, which may match several times
            observe = "tellwhen" if events.isStreaming else f"tellwhen-{uuid.uuid4().hex}"
        self._observe, self._worker = observe, (root, number, form, event_id)

    def _warn_of_misspellings(self, root: Path, fields: DataType) -> None:
        """Log attributes of subscriptions that are no column if an unused column has a similar name."""
        assert isinstance(fields, StructType)
        maps = tuple(f"{field.name}." for field in fields.fields if isinstance(field.dataType, MapType))
        known = read_dictionary(root / self.version.dictionary, verify=False).by_name
        names = [name for name in known if not name.startswith(maps)]  # a map may have any key
        for name, near in find_missing_attributes(list_attributes(fields), names)[0].items():
            if near is not None:
                log.warning(
                    "subscriptions use the attribute %s, which is no column; there is a column %s, which none uses",
                    name,
                    near,
                )

    @property
    def kind(self) -> DataType:
        """The type of the event ids."""
        return self.frame.schema[0].dataType

    def run(
        self, rows: Callable[..., Finder], packed: Callable[..., Finder], schema: StructType, to_all: bool = False
    ) -> DataFrame:
        """Run the finder of the plan, and observe the number of undefined values.

        The local plan runs the finder `rows`. The routed plan packs events for the shards that they meet, or with
        `to_all` for all shards, and runs the finder `packed`.
        """
        if self.plan == "local":
            found = map_batches(self.frame, rows(*self._worker), schema)
        else:
            count = max(len(self.version.shards), count_cores(self.frame.sparkSession))
            sent = map_batches(self.frame, Packer(*self._worker, to_all=to_all), make_packed_type(self.kind))
            found = map_batches(sent.repartition(count, "shard"), packed(*self._worker), schema)
        return found.observe(self._observe, F.coalesce(F.sum(UNDEFINED), F.lit(0)).alias("undefined"))


def _make_result_type(event_id: str, kind: DataType, version: Version) -> StructType:
    """Return the columns of a row with all matches of an event in a shard: far fewer rows to hand over than matches."""
    return StructType([
        StructField(event_id, kind),
        StructField(SUBSCRIPTIONS, ArrayType(get_id_type(version.ids))),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip


def make_matcher(path: str | os.PathLike[str], **options: object) -> Callable[[DataFrame], DataFrame]:
    """Make a function for `DataFrame.transform` that matches events.

    Parameters
    ----------
    path
        The folder of the index.
    **options
        The other arguments of `match`.

    Examples
    --------
    >>> matches = events.transform(tws.make_matcher("warehouse/index"))  # doctest: +SKIP
    """
    return lambda events: match(events, path, **options)  # type: ignore[arg-type]


def choose_plan(path: str | os.PathLike[str], *, plan: Plan = "auto", version: int | None = None) -> str:
    """Choose the plan of `match` for an index, and describe it with its reason in one line.

    Parameters
    ----------
    path, plan, version
        As for `match`.

    Examples
    --------
    >>> print(tws.choose_plan("warehouse/index"))  # doctest: +SKIP
    local plan, because the index has 0 MB, which every machine can hold: version 2, ...
    """
    opened = read_version(path, version)
    return _describe_plan(opened, *_choose_plan(opened, plan))


def explain(path: str | os.PathLike[str], *, plan: Plan = "auto", version: int | None = None) -> str:
    """Call `choose_plan`. Deprecated: `explain` will tell why an expression is true or false for an event."""
    warn_deprecated(
        "tellwhen.spark.explain(path)",
        "tellwhen.spark.choose_plan(path) (a later explain() will tell why an expression is true or false)",
    )
    return choose_plan(path, plan=plan, version=version)


def _choose_plan(version: Version, plan: Plan) -> tuple[str, str]:
    """Return the plan and its reason."""
    if plan == "auto":
        size = f"the index has {version.bytes / 1e6:,.0f} MB"
        if version.bytes <= LOCAL_MAX_BYTES:
            return "local", f"because {size}, which every machine can hold"
        return "routed", f"because {size}, too much for every machine to hold"
    if plan not in ("local", "routed"):
        raise ArgumentError(f"there is no plan {plan!r}; there are auto, local and routed")
    return plan, "as requested"


def describe_version(version: Version) -> str:
    """Describe a version in one line."""
    met = version.shards_per_event
    return (
        f"version {version.version}, {version.subscriptions:,} subscriptions in {len(version.shards)} shards, "
        + ("" if met is None else f"of which an event meets about {met:.1f}, ")
        + f"engine {version.engine}, largest shard {version.balance:.2f} of the mean"
    )


def _describe_plan(version: Version, plan: str, reason: str) -> str:
    return f"{plan} plan, {reason}: {describe_version(version)}"


class _Matching(Finder):
    """Finder of all subscriptions that events satisfy."""

    def __init__(self, *args: Any, matches_per_batch: int = MATCHES_PER_BATCH) -> None:
        super().__init__(*args)
        self._matches_per_batch = matches_per_batch

    def make_undefined_count_row(self, count: int, id_type: pa.DataType, opened: OpenVersion) -> pa.RecordBatch:
        # The row has no list, so that exploding it leaves no row.
        lists = pa.nulls(1, pa.list_(pa.string() if opened.version.ids == "str" else pa.int64()))
        columns = [pa.nulls(1, id_type), lists, pa.array([count], pa.int32())]
        return pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])

    def find(
        self, opened: OpenVersion, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events that match in a shard, each with the list of its matches there."""
        for shard, events, positions in shards:
            start, slots = opened.match(shard, events)
            for first, last in split_matches(start, self._matches_per_batch):
                matching = first + np.flatnonzero(np.diff(start[first : last + 1]))
                bounds = np.append(start[matching], start[last]) - start[first]
                subscriptions = opened.get_ids(shard, slots[start[first] : start[last]])
                lists = pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), subscriptions)
                columns = [ids.take(pa.array(positions[matching])), lists, pa.nulls(len(matching), pa.int32())]
                yield pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])


class _RowMatching(_Matching, RowFinder):
    """Finder of all matches, for the local plan."""


class _PackedMatching(_Matching, PackedFinder):
    """Finder of all matches, for the routed plan."""


def split_matches(start: I64, matches_max: int) -> Iterator[tuple[int, int]]:
    """Split events into runs of at most `matches_max` matches, or of a single event with more.

    Runs without a match are skipped.

    >>> list(split_matches(np.array([0, 0, 3, 3, 8, 17]), 8))
    [(0, 4), (4, 5)]
    """
    first, count = 0, len(start) - 1
    while first < count and start[first] < start[count]:
        last = max(first + 1, int(np.searchsorted(start, start[first] + matches_max, side="right")) - 1)
        if start[last] > start[first]:
            yield first, last
        first = last
