"""Is the profile made by Spark the one made in one process, for every form of events and any partitions?"""

import json
import random

import pytest

import tellwhen as tw
from tellwhen.encode.events import encode
from tellwhen.errors import SchemaError
from tellwhen.profile import Profile

pytestmark = pytest.mark.spark

DRAW = random.Random(7)
TEXTS = [
    f"a = {DRAW.randrange(9)} AND (b < {DRAW.randrange(5)} OR c = 'x{DRAW.randrange(4)}')"
    if i % 3
    else f"NOT c IN ('x{i % 5}', 'y')"
    for i in range(300)
]
EVENTS = [
    {
        "a": DRAW.randrange(9) if DRAW.random() < 0.7 else None,
        "b": DRAW.randrange(400) / 4 if DRAW.random() < 0.9 else None,
        "c": f"x{DRAW.randrange(6)}" if DRAW.random() < 0.4 else None,
    }
    for _ in range(300)
]
UNSTAGED_PRICE = "a long, b double, c string"
PARTITIONS = [1, 3, 20]


@pytest.fixture(scope="module")
def profile(spark):
    from tellwhen.spark.profiling import profile

    return profile


def wide(spark):
    rows = [(f"e{i}", event["a"], event["b"], event["c"]) for i, event in enumerate(EVENTS)]
    return spark.createDataFrame(rows, "event_id string, " + UNSTAGED_PRICE)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_subscriptions(spark, profile, partitions):
    subs = spark.createDataFrame(list(enumerate(TEXTS)), "id long, expression string").repartition(partitions)
    assert profile(subs) == Profile.from_subscriptions(map(tw.parse, TEXTS))


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_events_in_columns(spark, profile, partitions):
    expected = Profile.from_events(EVENTS)
    events = wide(spark).repartition(partitions)
    assert profile(events=events, attributes=None, event_id="event_id") == expected
    assert profile(events=events, attributes=["a", "b", "c"]) == expected


FORMS = {
    "struct": "struct(a, b, c)",
    "json": "to_json(struct(a, b, c))",
    "variant": "parse_json(to_json(struct(a, b, c)))",
    "map of variants": "map_filter(map('a', to_variant_object(named_struct('v', a)):v, "
    "'b', to_variant_object(named_struct('v', b)):v, 'c', to_variant_object(named_struct('v', c)):v), "
    "(k, v) -> v IS NOT NULL)",
    "map of unions": "map('a', named_struct('i', a, 'd', double(null), 's', string(null)), "
    "'b', named_struct('i', bigint(null), 'd', b, 's', string(null)), "
    "'c', named_struct('i', bigint(null), 'd', double(null), 's', c))",
}


@pytest.mark.parametrize("form", FORMS)
def test_events_in_one_column(spark, profile, form):
    from pyspark.sql import functions as F  # noqa: N812

    events = wide(spark).repartition(3).select("event_id", F.expr(FORMS[form]).alias("attributes"))
    assert profile(events=events) == Profile.from_events(EVENTS)


def test_a_map_of_text_stays_text(spark, profile):
    from pyspark.sql import functions as F  # noqa: N812

    texts = F.expr("map('a', string(a), 'b', string(b), 'c', c)").alias("attributes")
    found = profile(events=wide(spark).repartition(3).select(texts))
    expected = Profile.from_events([{k: None if v is None else str(v) for k, v in event.items()} for event in EVENTS])
    assert found == expected
    assert found.families("b").keys() == {"string"}
    assert found.histogram("a") == Profile.from_events(EVENTS).histogram("a")
    assert found.histogram("c") == []


def test_malformed_events_are_counted(spark, profile):
    texts = ['{"a": 1}', "{", "[1]", None, '{"a": {"b": 2}}', '"x"']
    found = profile(events=spark.createDataFrame([(text,) for text in texts], "attributes string"))
    assert (found.events, found.malformed) == (6, 3)
    assert found.event_frequency == {"a": 1 / 6, "a.b": 1 / 6}


def test_events_without_any_column(spark, profile):
    ids = wide(spark).repartition(3).select("event_id")
    assert profile(events=ids, attributes=None, event_id="event_id") == Profile.from_events([{}] * len(EVENTS))


def test_a_sample_that_is_cut_is_the_same_on_spark(spark, profile):
    frame = spark.range(5_000).selectExpr("id % 2500 AS a", "id % 3 AS b")
    found = profile(events=frame.repartition(4), attributes=None)
    exact = Profile.from_events([{"a": i % 2_500, "b": i % 3} for i in range(5_000)])
    assert len(found.sample()) == 1_000
    assert found == exact


def test_both_at_once_and_nothing_at_all(spark, profile):
    subs = spark.createDataFrame([("a = 1",)], "expression string")
    events = spark.createDataFrame([("{}",)], "attributes string")
    found = profile(subs, events)
    assert (found.subscriptions, found.events) == (1, 1)
    assert profile(subs.limit(0), events.limit(0)) == profile() == Profile()


def test_columns_that_are_missing(spark, profile):
    frame = spark.createDataFrame([(1,)], "x long")
    with pytest.raises(SchemaError, match="'expression'"):
        profile(frame)
    with pytest.raises(SchemaError, match="no column 'attributes'"):
        profile(events=frame)


def test_a_profile_as_data_frames(spark):
    from tellwhen.spark.profiling import convert_profile

    found = Profile.from_subscriptions(map(tw.parse, ["a = 1 AND b = 'x'", "a = 1"])) | Profile.from_events(
        [{"a": 1}, {}]
    )
    tables = {name: [tuple(row) for row in frame.collect()] for name, frame in convert_profile(found, spark).items()}
    assert tables == {
        "attributes": [("a", 1.0, 0.5, ["number"]), ("b", 0.5, 0.0, ["string"])],
        "heavy_hitters": [("a", "events", "1", 1), ("a", "subscriptions", "1", 2), ("b", "subscriptions", "x", 1)],
        "histograms": [("a", 1.0, 1.0, 1)],
        "sharing": [(1, 3, 2, 1.5), (2, 1, 1, 1.0)],
    }
    assert all(frame.count() == 0 for frame in convert_profile(Profile(), spark).values())


def test_a_profile_places_subscriptions(spark, profile, tmp_path):
    from tellwhen import spark as tws

    subs = spark.createDataFrame(list(enumerate(TEXTS)), "id long, expression string")
    found = profile(subs, wide(spark), attributes=None, event_id="event_id")
    version = tws.build(subs, tmp_path / "index", profile=found, shards=2)
    assert len(version.shards) == 2
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


@pytest.mark.parametrize("engine", ["propagation", "betree", "opindex"])
def test_engines_on_spark_choose_by_the_profile(spark, profile, tmp_path, engine):
    from tellwhen import spark as tws

    subs = {k: f"x = {k} AND y = {k}" for k in range(100)}
    events = [{"x": 1, "y": k} for k in range(10)] + [{"x": 1}] * 90
    frame = spark.createDataFrame(list(subs.items()), "id long, expression string")
    log = spark.createDataFrame([(event["x"], event.get("y")) for event in events], "x long, y long")
    found = profile(frame, log, attributes=None)

    def candidates(index):
        shard = index._shard
        return shard.engine.reader().count_candidates(encode(events, shard.store.attributes, shard.store.schema)[0])

    tws.build(frame, tmp_path / "index", profile=found, engine=engine, shards=1)
    index = tw.Index.load(tmp_path / "index")
    assert index.profile == found
    here = tw.Index(engine, profile=found).add_many(subs).rebuild()
    assert candidates(index) == candidates(here) < candidates(tw.Index(engine).add_many(subs).rebuild())

    changes = spark.createDataFrame([("add", 100, "x = 1 AND y = 100")], "operation string, id long, expression string")
    tws.update(changes, tmp_path / "index")
    updated = tw.Index.load(tmp_path / "index")
    assert updated.profile == found
    assert candidates(updated) == candidates(here.add(100, "x = 1 AND y = 100").rebuild())
    removed = spark.createDataFrame([("remove", 100, None)], "operation string, id long, expression string")
    tws.update(removed, tmp_path / "index")
    assert tw.Index.load(tmp_path / "index").profile == found
