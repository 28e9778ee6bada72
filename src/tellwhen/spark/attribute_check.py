"""Check of the attributes of events in a DataFrame against those of an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.inspect.attribute_coverage import AttributeCounts, AttributeCoverage, compare_attributes, count_attributes
from tellwhen.spark.events import parse_objects, prepare_events
from tellwhen.spark.tasks import make_rows, map_batches, raise_own_errors
from tellwhen.spark.version_cache import OpenVersion
from tellwhen.spark.workers import Worker
from tellwhen.warehouse.leases import renew_lease
from tellwhen.warehouse.opening import read_dictionary
from tellwhen.warehouse.versions import locate_index, read_version

COUNT = "kind string, name string, count long"
CARRIED, WRONG, EVENTS = "carried", "wrong", "events"
"""Kinds of counts: of attributes that events have, of values of a wrong type, and of events."""


def check_attributes(
    events: DataFrame,
    path: str | os.PathLike[str],
    *,
    event_id: str = "event_id",
    attributes: str | Sequence[str] | None = "attributes",
    version: int | None = None,
) -> AttributeCoverage:
    """Find the attributes of subscriptions that no event has, or only with values of a wrong type.

    No event is matched. All events are read: pass a sample of a large DataFrame.

    Parameters
    ----------
    events, path, event_id, attributes, version
        As for `match`.

    Returns
    -------
    AttributeCoverage
        The attributes that events lack, each with the most similar name that events have and no subscription
        mentions, and those with values of a wrong type.

    Examples
    --------
    >>> tws.check_attributes(events.sample(0.01), "warehouse/index")  # doctest: +SKIP
    """
    root = locate_index(path)
    opened = read_version(root, version)
    frame, form = prepare_events(events, event_id, attributes, opened.schema.types)
    renew_lease(root, opened.version)
    work = _AttributeCount(root, opened.version, form, event_id)
    with raise_own_errors():
        total = map_batches(frame, work, COUNT).groupBy("kind", "name").agg(F.sum("count").alias("total")).collect()
    by_kind: dict[str, Counter[str]] = {CARRIED: Counter(), WRONG: Counter(), EVENTS: Counter()}
    for row in sorted(total):
        by_kind[row.kind][row.name] = row.total
    counts = AttributeCounts(by_kind[CARRIED], by_kind[WRONG], by_kind[EVENTS].total())
    return compare_attributes(counts, read_dictionary(root / opened.dictionary, verify=False).by_name)


class _AttributeCount(Worker):
    """Worker that counts the attributes of events and their values of a wrong type."""

    def run(self, opened: OpenVersion, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._form.kind == "json":
            events = [event or {} for event in parse_objects(batch.column(1))]
            counts = count_attributes(events, opened.attributes, opened.schema)
        else:
            counts = count_attributes(self._form.select(batch), opened.attributes, opened.schema)
        totals = [(CARRIED, *item) for item in counts.occurrences.items()]
        totals += [(WRONG, *item) for item in counts.mismatches.items()]
        yield make_rows(COUNT, *zip(*[*totals, (EVENTS, "", counts.events)], strict=True))
