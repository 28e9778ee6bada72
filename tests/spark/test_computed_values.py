"""Is what is computed on Spark what is computed in process?"""

import random
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.language.functions import FUNCTIONS

pytestmark = pytest.mark.spark

TEXTS = [
    "a + b > 3", "a / b >= 1", "a < b", "NOT a < b", "lower(s) = 'x'", "length(l) > 1", "l HAS NONE ('p')",
    "a IN (b, 2)", "NOT l HAS ANY ('q', 'r')", "items[p > 2 AND q = 1]", "o.x + a > 4", "coalesce(a, 7) = 7",
    "a + b IS NULL", "NULL OR a = 1", "ip IN CIDR '10.0.0.0/8'", "twice(a) = 4", "15 > a", "a IN ()",
]  # fmt: skip
CHOICES = {
    "a": [0, 1, 2, 3], "b": [0, 1, 2], "s": ["x", "X", "y"], "l": [[], ["p"], ["p", "q"], ["r"]],
    "items": [[], [{"p": 3, "q": 1}], [{"p": 3, "q": 2}, {"p": 1, "q": 1}]], "o": [{"x": 0}, {"x": 4}],
    "ip": ["10.1.2.3", "11.1.2.3", "?"],
}  # fmt: skip


@pytest.fixture
def register_twice():
    before = dict(FUNCTIONS)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as it is for functions of a script
    tw.function(lambda x: 2 * x, name="twice")
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    FUNCTIONS.clear()
    FUNCTIONS.update(before)


@pytest.mark.usefixtures("register_twice")
def test_the_same_as_in_process(spark, tmp_path):
    rng = random.Random(5)
    rows = [
        {
            "event_id": number,
            **{name: rng.choice(values) if rng.random() > 0.2 else None for name, values in CHOICES.items()},
        }
        for number in range(200)
    ]
    raw = spark.createDataFrame(
        [(str(n), text) for n, text in enumerate([*TEXTS, "a +", "thrice(a) = 3"])], "id string, expression string"
    )
    subs, quarantined = tws.ingest(raw)
    assert {row.id: row.reason for row in quarantined.collect()}.keys() == {str(len(TEXTS)), str(len(TEXTS) + 1)}
    path = str(tmp_path / "index")
    events = spark.createDataFrame(pa.Table.from_pylist(rows))
    names = [*CHOICES]
    tws.build(subs, path, profile=tws.profile(subs, events, attributes=names), shards=2)
    found = {(row.event_id, row.subscription_id) for row in tws.match(events, path, attributes=names).collect()}
    wanted = {
        (row["event_id"], str(n))
        for n, text in enumerate(TEXTS)
        for row in rows
        if tw.parse(text).evaluate(row) is True
    }
    assert found == wanted
    as_json = events.select("event_id", F.to_json(F.struct(*names)).alias("attributes"))
    routed = tws.match(as_json, path, plan="routed")
    assert {(row.event_id, row.subscription_id) for row in routed.collect()} == wanted
    assert {id_ for _, id_ in wanted} == {str(n) for n, text in enumerate(TEXTS) if text != "a IN ()"}
    index = tw.Index.load(path)
    assert {(n, id_) for n, row in enumerate(rows) for id_ in index.match(row)} == wanted
