"""Is the profile made by Spark the one made in one process, for every form of events and any partitions?"""

import json
import random

import pytest

import tellwhen as tw
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
WIDE = "a long, b double, c string"
PARTITIONS = [1, 3, 20]


@pytest.fixture(scope="module")
def profile(spark):
    from tellwhen.spark.profiling import profile

    return profile


def wide(spark):
    rows = [(f"e{i}", event["a"], event["b"], event["c"]) for i, event in enumerate(EVENTS)]
    return spark.createDataFrame(rows, "event_id string, " + WIDE)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_subscriptions(spark, profile, partitions):
    subs = spark.createDataFrame(list(enumerate(TEXTS)), "id long, expression string").repartition(partitions)
    assert profile(subs) == Profile.of_subscriptions(map(tw.parse, TEXTS))


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_events_in_columns(spark, profile, partitions):
    expected = Profile.of_events(EVENTS)
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
    assert profile(events=events) == Profile.of_events(EVENTS)


def test_a_map_of_text_stays_text(spark, profile):
    from pyspark.sql import functions as F  # noqa: N812

    texts = F.expr("map('a', string(a), 'b', string(b), 'c', c)").alias("attributes")
    found = profile(events=wide(spark).repartition(3).select(texts))
    expected = Profile.of_events([{k: None if v is None else str(v) for k, v in event.items()} for event in EVENTS])
    assert found == expected
    assert found.families("b").keys() == {"string"}
    assert found.histogram("a") == Profile.of_events(EVENTS).histogram("a")
    assert found.histogram("c") == []


def test_malformed_events_are_counted(spark, profile):
    texts = ['{"a": 1}', "{", "[1]", None, '{"a": {"b": 2}}', '"x"']
    found = profile(events=spark.createDataFrame([(text,) for text in texts], "attributes string"))
    assert (found.events, found.malformed) == (6, 3)
    assert found.event_frequency == {"a": 1 / 6, "a.b": 1 / 6}


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


def test_frames(spark):
    from tellwhen.spark.profiling import frames

    found = Profile.of_subscriptions(map(tw.parse, ["a = 1 AND b = 'x'", "a = 1"])) | Profile.of_events([{"a": 1}, {}])
    tables = {name: [tuple(row) for row in frame.collect()] for name, frame in frames(found, spark).items()}
    assert tables == {
        "attributes": [("a", 1.0, 0.5, ["number"]), ("b", 0.5, 0.0, ["string"])],
        "heavy_hitters": [("a", "events", "1", 1), ("a", "subscriptions", "1", 2), ("b", "subscriptions", "x", 1)],
        "histograms": [("a", 1.0, 1.0, 1)],
        "sharing": [(1, 3, 2, 1.5), (2, 1, 1, 1.0)],
    }
    assert all(frame.count() == 0 for frame in frames(Profile(), spark).values())


def test_a_profile_places_subscriptions(spark, profile, tmp_path):
    from tellwhen import spark as tws

    subs = spark.createDataFrame(list(enumerate(TEXTS)), "id long, expression string")
    found = profile(subs, wide(spark), attributes=None, event_id="event_id")
    version = tws.build(subs, tmp_path / "index", profile=found, shards=2)
    assert len(version.shards) == 2
    assert json.loads(json.dumps(found.to_json())) == found.to_json()
