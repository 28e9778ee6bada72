"""Does Spark say what the index in one process says, whatever the plan, the shards and the form of the events?"""

import datetime as dt
import json
import random
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from support import expire_leases
from tellwhen import spark as tws
from tellwhen.spark import matches
from tellwhen.testing.engine_checks import random_expression

pytestmark = pytest.mark.spark

SCHEMA = {"price": "float", "n": "int", "genre": "string", "sold": "bool", "day": "date", "at": "timestamp"}
OPERATORS = ["=", "<>", "CONTAINS", "STARTS WITH", "ENDS WITH", "<"]
UNSTAGED_PRICE = (
    "event_id long, price double, n long, genre string, sold boolean, day date, at timestamp, tags array<string>"
)


def draw_expression(rng):
    parts = [
        f"price {rng.choice(['<', '>=', '='])} {rng.choice([5, 7.5, 12])}",
        f"n IN ({rng.randint(0, 5)}, {rng.randint(3, 9)})",
        f"genre {rng.choice(OPERATORS)} '{rng.choice(['a', 'b', 'ab', 'ü'])}'",
        rng.choice(["sold", "NOT sold", "sold IS NULL", "genre IS NOT NULL", "NOT genre CONTAINS 'b'"]),
        f"day <= DATE '2026-01-{rng.randint(1, 28):02d}'",
        f"at > TIMESTAMP '2026-01-{rng.randint(1, 28):02d} 12:00:00'",
        f"{rng.choice(['', 'NOT '])}tags = '{rng.choice('xyz')}'",
    ]
    joined = rng.choice([" AND ", " AND ", " OR ", " XOR "]).join(rng.sample(parts, k=rng.randint(1, 4)))
    return rng.choice(["", "", "NOT "]) + f"({joined})"


def draw_row(rng):
    def maybe(value):
        return value if rng.random() < 0.7 else None

    return {
        "price": maybe(rng.choice([5.0, 7.5, 12.0, 13.25])),
        "n": maybe(rng.randint(0, 9)),
        "genre": maybe(rng.choice(["a", "b", "ab", "zzz", "ü", ""])),
        "sold": maybe(rng.random() < 0.5),
        "day": maybe(dt.date(2026, 1, rng.randint(1, 28))),
        "at": maybe(dt.datetime(2026, 1, rng.randint(1, 28), rng.randint(0, 23))),
        "tags": maybe(rng.choices("xyzw", k=rng.randint(0, 3))),
    }


def match_with_oracle(texts, rows):
    parsed = {i: tw.parse(text) for i, text in texts.items()}
    return {(e, i) for e, row in enumerate(rows) for i, x in parsed.items() if x.evaluate(row) is True}


FORMS = ["struct", "json", "variant", "map of text", "map of unions", "map of variants", "columns"]


@pytest.fixture(scope="module")
def shop(spark, tmp_path_factory):
    rng = random.Random(5)
    texts = {f"s{i}": draw_expression(rng) for i in range(250)}
    rows = [draw_row(rng) for _ in range(300)]
    subs = spark.createDataFrame(list(texts.items()), "id string, expression string").repartition(3)
    paths = {}
    for shards in (1, 2, 5):
        paths[shards] = str(tmp_path_factory.mktemp("index") / f"shards{shards}")
        version = tws.build(subs, paths[shards], shards=shards, schema=SCHEMA)
        assert len(version.shards) == shards
        assert version.subscriptions == 250
    index = tw.Index(schema=SCHEMA).add_many(texts)
    want = {(e, id_) for e, event in enumerate(rows) for id_ in index.match(event)}
    assert want == {
        (e, i) for e, r in enumerate(rows) for i, text in texts.items() if tw.parse(text).evaluate(r) is True
    }
    assert 1000 < len(want) < 60_000
    wide = spark.createDataFrame([(e, *r.values()) for e, r in enumerate(rows)], UNSTAGED_PRICE)
    return paths, wide, rows, want, texts


def collect_pairs(frame):
    rows = [tuple(row) for row in frame.collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.mark.parametrize("plan", ["local", "routed"])
@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("partitions", [1, 7])
def test_plans_shards_and_partitions(shop, plan, shards, partitions):
    paths, wide, _, want, _ = shop
    events = wide.repartition(partitions)
    assert collect_pairs(tws.match(events, paths[shards], attributes=None, plan=plan)) == want


def format_value(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    "form", ["struct", "json", "variant", "map of text", "map of unions", "map of variants", "columns"]
)
def test_forms_of_events(spark, shop, form):
    paths, wide, rows, want, texts = shop
    if form == "columns":
        names = [name for name in wide.columns if name != "event_id"]
        assert collect_pairs(tws.match(wide.withColumn("noise", wide.n), paths[2], attributes=names)) == want
        return
    if form == "struct":
        events = wide.selectExpr("event_id", "struct(price, n, genre, sold, day, at, tags) as attributes")
    else:
        # Without lists, which a map of scalars cannot hold; the wish is the oracle's on what is left.
        rows = [{k: v for k, v in r.items() if v is not None and (k != "tags" or "map" not in form)} for r in rows]
        want = match_with_oracle(texts, rows)
        encoded = [json.dumps(r, default=str) for r in rows]
        events = spark.createDataFrame(list(enumerate(encoded)), "event_id long, attributes string")
        if form == "variant":
            events = events.selectExpr("event_id", "parse_json(attributes) as attributes")
        elif form == "map of variants":
            events = events.selectExpr("event_id", "cast(parse_json(attributes) as map<string, variant>) as attributes")
        elif form == "map of text":
            maps = [{k: format_value(v) for k, v in r.items()} for r in rows]
            events = spark.createDataFrame(list(enumerate(maps)), "event_id long, attributes map<string, string>")
        elif form == "map of unions":
            union = "struct<i: long, d: double, s: string, b: boolean, t: timestamp, day: date>"
            kinds = {int: 0, float: 1, str: 2, bool: 3, dt.datetime: 4, dt.date: 5}
            maps = [
                {k: tuple(v if kinds[type(v)] == field else None for field in range(6)) for k, v in r.items()}
                for r in rows
            ]
            events = spark.createDataFrame(list(enumerate(maps)), f"event_id long, attributes map<string, {union}>")
    for plan in ("local", "routed"):
        assert collect_pairs(tws.match(events.repartition(3), paths[5], plan=plan)) == want


def test_random_expressions_agree_with_the_oracle(spark, tmp_path):
    """All operators and types, events as maps of text, against an index in this process."""
    rng = random.Random(11)
    texts = [(i, str(random_expression(rng, depth=3))) for i in range(150)]
    values = ["", "a", "ab", "abc", "b", "𝒳y", "0", "1", "2.5", "-0.5", "true", "FALSE", "2026-01-01", "é", "zzz"]
    names = ["a", "b", "c.d", "e f", "ünï", "sold"]
    rows = [{n: rng.choice(values) for n in names if rng.random() < 0.6} for _ in range(200)]
    column = pa.array([list(r.items()) for r in rows], pa.map_(pa.string(), pa.string()))
    index = tw.Index().add_many(texts)
    want = set(zip(*(c.to_pylist() for c in index.match_many(pa.table({"m": column})).columns), strict=True))
    events = spark.createDataFrame(list(enumerate(rows)), "event_id int, attributes map<string, string>")
    tws.build(spark.createDataFrame(texts, "id int, expression string"), tmp_path / "i", shards=4)
    for plan in ("local", "routed"):
        assert collect_pairs(tws.match(events, tmp_path / "i", plan=plan)) == want
    assert collect_pairs(events.transform(tws.make_matcher(tmp_path / "i"))) == want


@pytest.mark.slow
@pytest.mark.parametrize("spec", [*(info.name for info in tw.list_engines()), "auto:layout=2,pending=1"])
def test_every_engine(spark, tmp_path, spec):
    """Built, matched and updated there; the oracle says what is right."""
    rng = random.Random(spec)
    known = {i: random_expression(rng, depth=3) for i in range(120)}
    rows = [{n: rng.choice(["a", "ab", "b", "zz"]) for n in ("a", "b", "e f") if rng.random() < 0.7} for _ in range(40)]
    frame = spark.createDataFrame(list(enumerate(rows)), "event_id int, attributes map<string, string>")
    path = tmp_path / "i"
    texts = [(i, str(expression)) for i, expression in known.items()]
    tws.build(spark.createDataFrame(texts, "id int, expression string"), path, shards=2, engine=spec)
    for _ in range(2):
        want = {(e, i) for e, row in enumerate(rows) for i, one in known.items() if one.evaluate(row) is True}
        assert want
        for plan in ("local", "routed"):
            assert collect_pairs(tws.match(frame, path, plan=plan)) == want
        fresh = {i: random_expression(rng, depth=3) for i in (*range(20), *range(200, 220))}
        changes = [("add", i, str(expression)) for i, expression in fresh.items()]
        changes += [("remove", i, None) for i in range(100, 120)]
        tws.update(spark.createDataFrame(changes, "operation string, id int, expression string"), path)
        known = {i: one for i, one in known.items() if i < 100} | fresh


def test_event_ids_of_any_type(spark, shop):
    paths, wide, _, want, _ = shop
    events = wide.selectExpr("named_struct('k', cast(event_id as string)) as key", "* except (event_id)")
    got = tws.match(events, paths[2], event_id="key", attributes=None, plan="routed")
    assert {(int(row.key.k), row.subscription_id) for row in got.collect()} == want


def test_undefined_values_are_counted(spark, tmp_path):
    from pyspark.sql import Observation

    subs = spark.createDataFrame([(1, "price < 5"), (2, "sold"), (3, "price IS NOT NULL")], "id int, expression string")
    tws.build(subs, tmp_path / "i", schema={"price": "float"}, shards=2)
    rows = [(0, {"price": "cheap", "sold": "true"}), (1, {"price": "3", "sold": "maybe"}), (2, None), (3, {"x": "y"})]
    events = spark.createDataFrame(rows, "event_id long, attributes map<string, string>")
    for plan in ("local", "routed"):
        seen = Observation("seen")
        assert collect_pairs(tws.match(events, tmp_path / "i", plan=plan, observe=seen)) == {
            (0, 2),
            (0, 3),
            (1, 1),
            (1, 3),
        }
        assert seen.get == {"undefined": 2}
    texts = [(0, '{"price": 3'), (1, '{"price": 3}'), (2, "[]"), (3, None)]
    events = spark.createDataFrame(texts, "event_id long, attributes string")
    seen = Observation("malformed")
    assert collect_pairs(tws.match(events, tmp_path / "i", observe=seen)) == {(1, 1), (1, 3)}
    assert seen.get == {"undefined": 2}


def test_bad_input_fails_by_name(spark, shop, tmp_path):
    paths, wide, _, _, _ = shop
    with pytest.raises(tw.FormatError, match="there is no index in"):
        tws.match(wide, tmp_path / "nowhere", attributes=None)
    with pytest.raises(tw.FormatError, match="file system"):
        tws.match(wide, "s3://bucket/index", attributes=None)
    with pytest.raises(tw.FormatError, match="no version 77"):
        tws.match(wide, paths[1], attributes=None, version=77)
    with pytest.raises(tw.SchemaError, match="'price' is string, but the index declares it float"):
        tws.match(wide.withColumn("price", wide.price.cast("string")), paths[1], attributes=None)
    with pytest.raises(tw.SchemaError, match="'n' is a variant"):
        tws.match(wide.selectExpr("event_id", "parse_json('1') AS n"), paths[1], attributes=None)
    with pytest.raises(tw.SchemaError, match="no column 'attributes'"):
        tws.match(wide, paths[1])
    with pytest.raises(tw.SchemaError, match="must be a map"):
        tws.match(wide, paths[1], attributes="n")
    with pytest.raises(tw.TellwhenError, match="no plan 'warp'"):
        tws.match(wide, paths[1], attributes=None, plan="warp")


def test_the_plan_is_logged_and_not_printed(shop, capfd, caplog, monkeypatch):
    paths, wide, _, _, _ = shop
    caplog.set_level("INFO", "tellwhen.spark")
    tws.match(wide, paths[5], attributes=None)
    assert "local plan, because the index has" in caplog.text
    monkeypatch.setattr("tellwhen.spark.matches.LOCAL_MAX_BYTES", 10)
    tws.match(wide, paths[5], attributes=None)
    told = tws.choose_plan(paths[5])
    assert caplog.messages[-1] == told
    assert "routed plan, because" in told
    assert "250 subscriptions in 5 shards" in told
    assert "local plan, as requested" in tws.choose_plan(paths[5], plan="local", version=1)
    assert capfd.readouterr() == ("", "")


def test_matches_are_handed_over_in_pieces():
    class Shard:
        """Slot n has the id 100 + n."""

        start = np.array([0, 3, 3, 4, 13, 13, 15])

        def match(self, shard, events):
            return self.start, np.arange(self.start[-1])

        def get_ids(self, shard, slots):
            return pa.array(slots + 100)

    worker = matches._RowMatching(None, 1, None, "event_id", matches_per_batch=4)
    batches = list(worker.find(Shard(), iter([(0, None, np.arange(6))]), pa.array(list("abcdef"))))
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert {row["event_id"]: row["_subscriptions"] for row in rows} == {
        "a": [100, 101, 102], "c": [103], "d": list(range(104, 113)), "f": [113, 114],
    }  # fmt: skip
    assert [len(batch) for batch in batches] == [2, 1, 1]
    Shard.start = np.array([0, 0])
    assert list(worker.find(Shard(), iter([(0, None, np.arange(1))]), pa.array(["a"]))) == []


def test_presence_decides_where_an_event_goes(spark, tmp_path):
    """A value of a wrong type is still there; one that is missing is not, and must not bring an event anywhere."""
    texts = {
        "has": "p IS NOT NULL",
        "lacks": "q IS NULL",
        "both": "p IS NOT NULL AND q IS NULL AND r = 1",
        "p": "p = 1",
    }
    subs = spark.createDataFrame(list(texts.items()), "id string, expression string")
    tws.build(subs, tmp_path / "i", shards=4)
    rows = [{"p": True, "r": 1}, {"q": 1, "r": 1}, {"p": [], "q": None}, {}, {"p": 1, "q": [None]}, {"p": float("nan")}]
    events = spark.createDataFrame([(e, json.dumps(r)) for e, r in enumerate(rows)], "event_id int, attributes string")
    for plan in ("local", "routed"):
        assert collect_pairs(tws.match(events, tmp_path / "i", plan=plan)) == match_with_oracle(texts, rows)


def test_an_index_that_was_deleted_and_built_again(spark, tmp_path):
    event = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    for name in ("old", "new"):
        shutil.rmtree(tmp_path / "i", ignore_errors=True)
        tws.build(spark.createDataFrame([(name, "x = 1")], "id string, expression string"), tmp_path / "i", shards=1)
        assert collect_pairs(tws.match(event, tmp_path / "i")) == {(0, name)}


def test_two_matches_in_one_query_and_odd_names(spark, tmp_path):
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), tmp_path / "i")
    event = spark.createDataFrame([(0, {"x": "1"})], "`the id.` int, attributes map<string, string>")
    match = event.transform(tws.make_matcher(tmp_path / "i", event_id="the id."))
    assert match.columns == ["the id.", "subscription_id"]
    assert match.union(event.transform(tws.make_matcher(tmp_path / "i", event_id="the id."))).count() == 2


ODD = ["a.b", "a`b", "Price", "price", "event_id", "c1"]


@pytest.mark.parametrize("plan", ["local", "routed"])
def test_names_that_spark_would_take_apart(spark, tmp_path, plan):
    """As columns and as fields: dots, backticks, names that differ in their case only, and our own."""
    subs = [(name, f'"{name.replace(chr(34), chr(34) * 2)}" = {i}') for i, name in enumerate(ODD)]
    tws.build(spark.createDataFrame(subs, "id string, expression string"), tmp_path / "i", shards=3)
    values = [{name: i for i, name in enumerate(ODD)}, {name: i + 1 for i, name in enumerate(ODD)}]
    fields = ", ".join(f"`{name.replace('`', '``')}` int" for name in ODD)
    rows = [(str(n), tuple(event.values())) for n, event in enumerate(values)]
    wanted = {("0", name) for name in ODD}
    structs = spark.createDataFrame(rows, f"event_id string, attributes struct<{fields.replace(' int', ': int')}>")
    assert collect_pairs(tws.match(structs, tmp_path / "i", plan=plan)) == wanted
    wide = spark.createDataFrame([(n, *event) for n, event in rows], f"`odd.id` string, {fields}")
    assert collect_pairs(tws.match(wide, tmp_path / "i", event_id="odd.id", attributes=None, plan=plan)) == wanted
    few = tws.match(wide, tmp_path / "i", event_id="odd.id", attributes=["a.b", "price"], plan=plan)
    assert collect_pairs(few) == {("0", "a.b"), ("0", "price")}
    twice = wide.toDF("event_id", "x", "x", "y", "z", "u", "v")
    with pytest.raises(tw.SchemaError, match="2 columns are called 'x'"):
        tws.match(twice, tmp_path / "i", attributes=None)


def test_a_nested_field_that_clashes(spark, tmp_path):
    subs = spark.createDataFrame([("a", "user.age > 3")], "id string, expression string")
    tws.build(subs, tmp_path / "i", schema={"user.age": "int"})
    events = spark.createDataFrame([(1, ("x",))], "event_id int, user struct<age: string>")
    with pytest.raises(tw.SchemaError, match=r"'user.age' is string, but the index declares it int"):
        tws.match(events, tmp_path / "i", attributes=None)


@pytest.mark.slow
def test_a_query_that_waited_while_many_versions_were_committed(spark, tmp_path):
    """Its version stays; without a lease it goes away, and the query says so."""
    path = tmp_path / "i"
    subs = spark.createDataFrame([("first", "x = 1")], "id string, expression string")
    tws.build(subs, path, keep=0)
    events = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    early = tws.match(events, path)
    tws.build(subs.withColumn("id", F.lit("second")), path, keep=0)
    tws.build(subs.withColumn("id", F.lit("third")), path, keep=0)
    assert collect_pairs(early) == {(0, "first")}
    assert [version.version for version in tws.list_versions(path)] == [1, 3]
    expire_leases(path)
    tws.build(subs, path, keep=0)
    assert [version.version for version in tws.list_versions(path)] == [4]
    with pytest.raises(Exception, match="has no version 1; there are 4"):
        early.collect()
