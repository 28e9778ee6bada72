"""Events x an index -> (event_id, subscription_id), on executors that map the shards into memory.

Two plans with equal results:

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
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StructField, StructType

from tellwhen.errors import TellwhenError
from tellwhen.inspect.attribute_coverage import find_missing_attributes
from tellwhen.kernels.arrays import I64, Events
from tellwhen.spark.columns import column, id_type
from tellwhen.spark.events import column_names, prepare
from tellwhen.spark.tasks import cores, mapped
from tellwhen.spark.version_cache import Served
from tellwhen.spark.workers import UNDEFINED, Arriving, Finder, Local, Sending, packed_event
from tellwhen.warehouse.leases import lease
from tellwhen.warehouse.opening import read_dictionary
from tellwhen.warehouse.versions import Version, located, read_version

Plan = Literal["auto", "local", "routed"]

LOCAL_MAX_BYTES = 8 << 30
"""The size of an index that every machine is trusted to hold in its page cache."""

MATCHES_PER_BATCH = 1 << 20
"""Matches handed to Spark at a time, or those of a single event if it has more."""

SUBSCRIPTIONS = "_subscriptions"

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
    """The matches of all events, as (event_id, subscription_id); `attributes` as in `tellwhen.spark.events`.

    A batch is matched with the version that is current now, or the one given. A stream takes the version that is
    current at the start of each micro-batch. Values of a wrong type are undefined; they are counted in the observed
    metric `undefined`, under the name `observe` ("tellwhen" for a stream). The plan and why it was chosen are logged;
    `explain` returns them.
    """
    query = Query(events, path, event_id, attributes, plan, version, observe)
    matched = query.run(_Local, _Arriving, _matched(event_id, query.kind, query.version))
    return matched.select(column(event_id), F.explode(SUBSCRIPTIONS).alias("subscription_id"))


class Query:
    """Events and the version to find their subscriptions in, by one of the plans."""

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
        root = located(path)
        self.version = read_version(root, version)
        self.plan, why = choose(self.version, plan)
        log.info("%s", _told(self.version, self.plan, why))
        self.frame, form = prepare(events, event_id, attributes, self.version.schema.types)
        if form.kind in ("columns", "struct"):
            names = [attributes] if isinstance(attributes, str) else attributes or events.columns
            given = [field for field in events.schema.fields if field.name in names]
            self._tell_missing(root, given[0].dataType if isinstance(attributes, str) else StructType(given))
        number = None if events.isStreaming and version is None else self.version.version
        if number is not None:
            lease(root, number)  # until the first task renews it
        if observe is None:  # a name may occur once in a query, which may match several times
            observe = "tellwhen" if events.isStreaming else f"tellwhen-{uuid.uuid4().hex}"
        self._observe, self._worker = observe, (root, number, form, event_id)

    def _tell_missing(self, root: Path, fields: DataType) -> None:
        """Log what subscriptions ask for, if no column is called so, but one that nobody asks for nearly so."""
        assert isinstance(fields, StructType)
        maps = tuple(f"{field.name}." for field in fields.fields if isinstance(field.dataType, MapType))
        known = read_dictionary(root / self.version.dictionary, verify=False).by_name
        asked = [name for name in known if not name.startswith(maps)]  # a map may have any key
        for name, near in find_missing_attributes(column_names(fields), asked)[0].items():
            if near is not None:
                log.warning(
                    "subscriptions ask for %s, which is no column; there is %s, which nobody asks for", name, near
                )

    @property
    def kind(self) -> DataType:
        """The type of the ids of events."""
        return self.frame.schema[0].dataType

    def run(
        self, local: Callable[..., Finder], arriving: Callable[..., Finder], schema: StructType, to_all: bool = False
    ) -> DataFrame:
        """What one of the finders finds, with the undefined values counted; events are sent to all shards if asked."""
        if self.plan == "local":
            found = mapped(self.frame, local(*self._worker), schema)
        else:
            count = max(len(self.version.shards), cores(self.frame.sparkSession))
            sent = mapped(self.frame, Sending(*self._worker, to_all=to_all), packed_event(self.kind))
            found = mapped(sent.repartition(count, "shard"), arriving(*self._worker), schema)
        return found.observe(self._observe, F.coalesce(F.sum(UNDEFINED), F.lit(0)).alias("undefined"))


def _matched(event_id: str, kind: DataType, version: Version) -> StructType:
    """A row for an event and all that it satisfies in a shard: far fewer rows to hand over than matches."""
    return StructType([
        StructField(event_id, kind),
        StructField(SUBSCRIPTIONS, ArrayType(id_type(version.ids))),
        StructField(UNDEFINED, IntegerType()),
    ])  # fmt: skip


def matching(path: str | os.PathLike[str], **options: object) -> Callable[[DataFrame], DataFrame]:
    """`match` for `events.transform(matching(path))`."""
    return lambda events: match(events, path, **options)  # type: ignore[arg-type]


def explain(path: str | os.PathLike[str], *, plan: Plan = "auto", version: int | None = None) -> str:
    """In one line: how `match` would match with this index, and why."""
    found = read_version(path, version)
    return _told(found, *choose(found, plan))


def choose(version: Version, plan: Plan) -> tuple[str, str]:
    """The plan, and why."""
    if plan == "auto":
        size = f"the index has {version.bytes / 1e6:,.0f} MB"
        if version.bytes <= LOCAL_MAX_BYTES:
            return "local", f"because {size}, which every machine can hold"
        return "routed", f"because {size}, too much for every machine to hold"
    if plan not in ("local", "routed"):
        raise TellwhenError(f"there is no plan {plan!r}; there are auto, local and routed")
    return plan, "as asked for"


def described(version: Version) -> str:
    """One line about an index."""
    met = version.shards_per_event
    return (
        f"version {version.version}, {version.subscriptions:,} subscriptions in {len(version.shards)} shards, "
        + ("" if met is None else f"of which an event meets about {met:.1f}, ")
        + f"engine {version.engine}, largest shard {version.balance:.2f} of the mean"
    )


def _told(version: Version, plan: str, why: str) -> str:
    return f"{plan} plan, {why}: {described(version)}"


class _Matching(Finder):
    """All that is satisfied."""

    def noted(self, count: int, kind: pa.DataType, served: Served) -> pa.RecordBatch:
        # Without a list: exploding it leaves nothing.
        lists = pa.nulls(1, pa.list_(pa.string() if served.version.ids == "str" else pa.int64()))
        columns = [pa.nulls(1, kind), lists, pa.array([count], pa.int32())]
        return pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])

    def found(
        self, served: Served, shards: Iterator[tuple[int, Events, I64]], ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """The events that match anything in a shard, each with all its matches there."""
        for shard, events, positions in shards:
            start, slots = served.match(shard, events)
            for first, last in pieces(start):
                some = first + np.flatnonzero(np.diff(start[first : last + 1]))
                bounds = np.append(start[some], start[last]) - start[first]
                subscriptions = served.ids(shard, slots[start[first] : start[last]])
                lists = pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), subscriptions)
                columns = [ids.take(pa.array(positions[some])), lists, pa.nulls(len(some), pa.int32())]
                yield pa.RecordBatch.from_arrays(columns, [self._event_id, SUBSCRIPTIONS, UNDEFINED])


class _Local(_Matching, Local):
    """In all shards."""


class _Arriving(_Matching, Arriving):
    """In the shards that events were sent to."""


def pieces(start: I64) -> Iterator[tuple[int, int]]:
    """Events in runs of at most MATCHES_PER_BATCH matches, or of a single event that has more.

    A run without any match is left out.

    >>> full = MATCHES_PER_BATCH
    >>> list(pieces(np.array([0, 0, 3, 3, full, full + 5])))
    [(0, 4), (4, 5)]
    """
    first, count = 0, len(start) - 1
    while first < count and start[first] < start[count]:
        last = max(first + 1, int(np.searchsorted(start, start[first] + MATCHES_PER_BATCH, side="right")) - 1)
        if start[last] > start[first]:
            yield first, last
        first = last
