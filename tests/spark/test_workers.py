"""Are events matched with the version that they were encoded with?"""

import pyarrow as pa
import pytest

from tellwhen import spark as tws
from tellwhen.spark.events import Form
from tellwhen.spark.matches import SUBSCRIPTIONS, _PackedMatching
from tellwhen.spark.workers import Packer

pytestmark = pytest.mark.spark


def test_events_of_a_stream_are_matched_with_the_version_that_encoded_them(spark, tmp_path):
    """The next version has other shards: what an event was encoded for would mean something else there."""
    path = tmp_path / "index"
    tws.build(spark.createDataFrame([("a", "x = 1"), ("b", "y = 'm'")], "id string, expression string"), path, shards=2)
    events = pa.RecordBatch.from_pylist([{"event_id": 1, "x": 1, "y": "m"}])
    form = Form("columns", ["x", "y"])
    sent = list(Packer(path, None, form, "event_id", to_all=False)(iter([events])))
    tws.build(spark.createDataFrame([("c", "y = 'k'"), ("d", "x = 1")], "id string, expression string"), path, shards=1)
    later = list(Packer(path, None, form, "event_id", to_all=False)(iter([events])))
    batches = [pa.Table.from_batches(sent + later).combine_chunks().to_batches()[0]]
    found = list(_PackedMatching(path, None, form, "event_id")(iter(batches)))
    ids = sorted(id_ for batch in found for ids in batch.column(SUBSCRIPTIONS).to_pylist() for id_ in ids)
    assert ids == ["a", "b", "d"]
