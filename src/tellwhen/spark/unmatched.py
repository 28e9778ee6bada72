"""Do events in a DataFrame have what the subscriptions of an index ask for? As `Index.inspect.check_attributes`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tellwhen.inspect.attribute_coverage import AttributeCounts, AttributeCoverage, compare_attributes, count_attributes
from tellwhen.spark.events import objects, prepare
from tellwhen.spark.tasks import mapped, own_errors, rows
from tellwhen.spark.version_cache import Served
from tellwhen.spark.workers import Worker
from tellwhen.warehouse.leases import lease
from tellwhen.warehouse.opening import read_dictionary
from tellwhen.warehouse.versions import located, read_version

COUNT = "kind string, name string, count long"
CARRIED, WRONG, EVENTS = "carried", "wrong", "events"


def unmatched_attributes(
    events: DataFrame,
    path: str | os.PathLike[str],
    *,
    event_id: str = "event_id",
    attributes: str | Sequence[str] | None = "attributes",
    version: int | None = None,
) -> AttributeCoverage:
    """Which attributes do subscriptions ask for that none of these events has, or only with values of another type?

    Nothing is matched. Arguments as for `match`. Goes through all events: a sample of them will often do.
    """
    root = located(path)
    found = read_version(root, version)
    frame, form = prepare(events, event_id, attributes, found.schema.types)
    lease(root, found.version)
    counting = _Counting(root, found.version, form, event_id)
    with own_errors():
        total = mapped(frame, counting, COUNT).groupBy("kind", "name").agg(F.sum("count").alias("total")).collect()
    by_kind: dict[str, Counter[str]] = {CARRIED: Counter(), WRONG: Counter(), EVENTS: Counter()}
    for row in sorted(total):
        by_kind[row.kind][row.name] = row.total
    counts = AttributeCounts(by_kind[CARRIED], by_kind[WRONG], by_kind[EVENTS].total())
    return compare_attributes(counts, read_dictionary(root / found.dictionary, verify=False).by_name)


class _Counting(Worker):
    """Counts the attributes and the wrong values of batches."""

    def run(self, served: Served, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._form.kind == "json":
            events = [event or {} for event in objects(batch.column(1))]
            counts = count_attributes(events, served.attributes, served.schema)
        else:
            counts = count_attributes(self._form.table(batch), served.attributes, served.schema)
        told = [(CARRIED, *one) for one in counts.occurrences.items()] + [
            (WRONG, *one) for one in counts.mismatches.items()
        ]
        yield rows(COUNT, *zip(*[*told, (EVENTS, "", counts.events)], strict=True))
