"""Does Spark rank as one process does, whatever the plan, and does it carry scores from raw rows to the result?"""

import json
import math
import random

import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.testing.engine_checks import random_event, random_expression

pytestmark = pytest.mark.spark

RAW = "id string, expression string, price string, boost string"


@pytest.fixture(scope="module")
def index_with_scores(spark, tmp_path_factory):
    """A few hundred subscriptions with scores, many of them equal, in three shards; and events, two of one id."""
    rng = random.Random(3)
    rows = [(f"s{i}", str(random_expression(rng, depth=2)), rng.choice([-1.0, 0.0, 2.5, 2.5, 9.0])) for i in range(300)]
    path = str(tmp_path_factory.mktemp("ranked") / "index")
    frame = spark.createDataFrame(rows, "id string, expression string, score double").repartition(2)
    tws.build(frame, path, shards=3)
    events = [
        {name: value for name, value in random_event(rng).items() if isinstance(value, bool | int | str)}
        for _ in range(60)
    ]
    given = [(min(number, 58), json.dumps(event)) for number, event in enumerate(events)]
    return path, events, spark.createDataFrame(given, "event_id bigint, attributes string")


def rank_in_process(index, events, k):
    found = []
    for number, event in enumerate(events):
        for rank, (id_, score) in enumerate(index.top_k(event, k), start=1):
            found.append((min(number, 58), rank, id_, score))
    return sorted(found)


@pytest.mark.parametrize("plan", ["local", "routed"])
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.slow), 7, pytest.param(1000, marks=pytest.mark.slow)])
def test_as_in_one_process(index_with_scores, plan, k):
    path, events, frame = index_with_scores
    found = tws.top_k(frame, path, k, plan=plan)
    assert found.columns == ["event_id", "rank", "subscription_id", "score"]
    assert sorted(tuple(row) for row in found.collect()) == rank_in_process(tw.Index.load(path), events, k)


@pytest.mark.parametrize("plan", ["local", "routed"])
def test_relaxed(index_with_scores, plan):
    path, events, frame = index_with_scores
    index, factors = tw.Index.load(path), {"a": 0.3, "b": 7.0}
    found = tws.top_k(frame, path, 5, plan=plan, relaxed=True, weights=factors).collect()
    expected = [
        (min(number, 58), rank, *row)
        for number, event in enumerate(events)
        for rank, row in enumerate(index.top_k(event, 5, relaxed=True, weights=factors), start=1)
    ]
    assert sorted(tuple(row) for row in found) == sorted(expected)
    with pytest.raises(tw.ScoreError, match="requires relaxed=True"):
        tws.top_k(frame, path, 5, weights=factors)


@pytest.mark.parametrize("plan", ["local", pytest.param("routed", marks=pytest.mark.slow)])
def test_relaxed_asks_shards_that_cannot_match(spark, tmp_path, plan):
    rows = [(f"s{i}", f"user = {i} AND price < 50") for i in range(40)]
    path = str(tmp_path / "index")
    tws.build(spark.createDataFrame(rows, "id string, expression string"), path, shards=4)
    frame = spark.createDataFrame([(0, '{"price": 3}'), (1, '{"user": 7}')], "event_id bigint, attributes string")
    found = tws.top_k(frame, path, 100, relaxed=True, plan=plan).collect()
    assert sorted(row.subscription_id for row in found if row.event_id == 0) == sorted(id_ for id_, _ in rows)
    assert [row.subscription_id for row in found if row.event_id == 1] == ["s7"]


def test_in_sql(spark, index_with_scores):
    path, events, frame = index_with_scores
    tws.register_functions(spark)
    frame.createOrReplaceTempView("ranked_events")
    found = spark.sql(f"SELECT * FROM tellwhen_top_k(TABLE(ranked_events), '{path}', 4)").collect()
    expected = sorted((str(e), *rest) for e, *rest in rank_in_process(tw.Index.load(path), events, 4))
    assert sorted(tuple(row) for row in found) == expected


def test_on_a_stream(spark, index_with_scores, tmp_path):
    path, events, frame = index_with_scores
    frame.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "events"))
    query = tws.top_k(stream, path, 3).writeStream.format("memory").queryName("ranked_stream").start()
    query.processAllAvailable()
    query.stop()
    assert sorted(tuple(row) for row in spark.table("ranked_stream").collect()) == rank_in_process(
        tw.Index.load(path), events, 3
    )
    with pytest.raises(tw.TellwhenError, match="foreachBatch"):
        tws.top_k(stream, path, 3, plan="routed")


def test_scores_from_raw_rows_to_the_result_and_through_updates(spark, tmp_path):
    raw = [
        ("a", "x > 1 AND y = 'b'", "2.5", '{"x": 0.5, "y": 2}'),
        ("b", "x > 1", None, None),
        ("c", "x > 1", "dear", None),
        ("d", "x > 1", "NaN", None),
        ("e", "x > 1", "1", '{"z": 1}'),
        ("f", "x > 1", "1", "[]"),
        ("g", "x > 1", "-1e3", None),
        ("g", "x > 1", "-1e4", None),
        ("i", "x > 1", "1d", None),
    ]
    subs, bad = tws.ingest(spark.createDataFrame(raw, RAW), score="price", weights="boost")
    faulty = {row.id: row for row in bad.collect()}
    reasons = {id_: row.reason for id_, row in faulty.items()}
    assert reasons.keys() == {"c", "d", "e", "f", "g", "i"}
    assert reasons["i"] == "the score is not a number"
    assert reasons["c"] == "the score is not a number"
    assert "can be compared" in reasons["d"]
    assert "weights name 'z'" in reasons["e"]
    assert reasons["f"] == "the weights are not a map from attributes to numbers"
    assert (faulty["e"].score, faulty["e"].weights, faulty["g"].score) == (1.0, {"z": 1.0}, -1e4)
    path = str(tmp_path / "index")
    tws.build(subs, path)
    index = tw.Index.load(path)
    assert index.top_k({"x": 2, "y": "b"}) == [("a", 2.5), ("b", 0.0), ("g", -1000.0)]
    assert index.get_subscription("a").weights == {"x": 0.5, "y": 2.0}
    changes = [
        ("add", "b", "x > 1", "7", None),
        ("add", "h", "x > 0", "8", '{"x": 3}'),
        ("remove", "g", None, None, None),
    ]
    frame = spark.createDataFrame(changes, f"operation string, {RAW}")
    tws.update(frame.withColumnsRenamed({"price": "score"}), path, weights="boost")
    index = tw.Index.load(path)
    assert index.top_k({"x": 2, "y": "b"}) == [("h", 8.0), ("b", 7.0), ("a", 2.5)]
    assert [index.get_subscription(id_).weights for id_ in "ah"] == [{"x": 0.5, "y": 2.0}, {"x": 3.0}]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        pytest.param(
            "score double", math.nan, "subscription 'a': a score is a number that can be", marks=pytest.mark.slow
        ),
        ("score string", "1", "not numbers; ingest"),
        ("weights int", 1, "must be map<string,double>"),
        pytest.param("weights map<string,double>", {"y": 1.0}, "weights name 'y'", marks=pytest.mark.slow),
    ],
)
def test_bad_scores_stop_a_build(spark, tmp_path, kind, value, message):
    frame = spark.createDataFrame([("a", "x > 1", value)], f"id string, expression string, {kind}")
    with pytest.raises(tw.TellwhenError, match=message):
        tws.build(frame, str(tmp_path / "index"))
    assert not (tmp_path / "index" / "current").exists()


def test_columns_that_cannot_be_told_apart(spark, index_with_scores):
    path, _, frame = index_with_scores
    with pytest.raises(tw.SchemaError, match="another column score"):
        tws.top_k(frame.withColumnRenamed("event_id", "score"), path, event_id="score")
    flags = spark.createDataFrame([("a", "x > 1", True)], "id string, expression string, score boolean")
    with pytest.raises(tw.SchemaError, match="they must be numbers, or text"):
        tws.ingest(flags, score="score")


def test_k_is_checked(index_with_scores):
    path, _, frame = index_with_scores
    with pytest.raises(tw.TellwhenError, match="k must be a whole number of at least 1, not 0"):
        tws.top_k(frame, path, 0)
