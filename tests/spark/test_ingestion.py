"""Does ingestion lose no row, give a reason for each refused one, and leave nothing in Spark's cache?"""

import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from spark_support import SUBSCRIPTIONS
from tellwhen import spark as tws
from tellwhen.compile.normal_form import OVER_BUDGET

pytestmark = pytest.mark.spark


def count_cached_frames(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_ingest_loses_nothing(spark):
    rows = [
        ("a", "x = 1", 0.5), ("a", "x = 1", 0.7), ("a", "x =", 0.1), ("b", "x = 'open", None), ("c", None, 1.0),
        (None, "x = 1", 1.0), ("d", '{"attribute": "x", "value": 3}', 2.0), ("e", '{"attribute": "x"', 2.0),
        ("f", '{"and": []}', 2.0), ("g", "y = 'a' AND NOT z", 3.0), ("b", "x = 2", 1.0), ("h", "(" * 5000, 1.0),
        ("i", "t MATCHES '('", 1.0), ("", "x = 9", None),
    ]  # fmt: skip
    raw = spark.createDataFrame(rows, "key string, rule string, weight double").repartition(4)
    subs, quarantined = tws.ingest(raw, id="key", expression="rule", score="weight")
    taken = {row.id: (row.expression, row.score) for row in subs.collect()}
    assert taken.keys() == {"a", "b", "d", "g", ""}
    assert taken["d"] == ("x = 3", 2.0)
    assert subs.columns == ["id", "expression", "score", "parsed"]
    assert quarantined.columns == ["id", "expression", "position", "reason", "score"]
    bad = quarantined.collect()
    assert len(taken) + len(bad) == len(rows)
    assert sorted(filter(None, (row.id for row in bad))) == ["a", "a", "b", "c", "e", "f", "h", "i"]
    assert all(row.reason for row in bad)
    (broken,) = [row for row in bad if row.expression == "x ="]
    assert (broken.position, broken.score) == (3, 0.1)
    (double,) = [row for row in bad if row.id == "a" and row.position is None]
    assert "another subscription with this id" in double.reason


def test_the_preferred_of_several(spark):
    scored = spark.createDataFrame(
        [("a", "x = 1", "hi"), ("b", "x = 1", "2")], "id string, expression string, score string"
    )
    subs, quarantined = tws.ingest(scored)  # the column score is taken unasked
    assert [tuple(row) for row in subs.drop("parsed").collect()] == [("b", "x = 1", 2.0)]
    assert [(row.id, row.reason) for row in quarantined.collect()] == [("a", "the score is not a number")]
    rows = [("a", "x = 1", 1), ("a", "x = 3", 3), ("a", "x = ", 9), ("a", "x = 2", 2)]
    subs, quarantined = tws.ingest(spark.createDataFrame(rows, "id string, expression string, at int"), prefer="at")
    assert [tuple(row) for row in subs.drop("parsed").collect()] == [("a", "x = 3")]
    assert quarantined.count() == 3


def test_ingest_refuses_columns_it_cannot_use(spark):
    raw = spark.createDataFrame([(1.5, "x = 1")], "id double, expression string")
    with pytest.raises(tw.SchemaError, match="double"):
        tws.ingest(raw)
    with pytest.raises(tw.SchemaError, match="no column 'rule'"):
        tws.ingest(raw, expression="rule")
    with pytest.raises(tw.SchemaError, match="not strings"):
        tws.ingest(spark.createDataFrame([(1, 2)], "id int, expression int"))
    typed, bad = tws.ingest(
        spark.createDataFrame([(1, "x = 'a'"), (2, "x = 1")], "id int, expression string"), schema={"x": "int"}
    )
    assert [row.id for row in typed.collect()] == [2]
    assert "declared int" in bad.first().reason


@pytest.mark.slow
def test_payloads_from_raw_rows_through_updates(spark, tmp_path):
    raw = spark.createDataFrame(
        [*SUBSCRIPTIONS, ("bad", "x > 2", "[1]")], "id string, expression string, payload string"
    )
    subs, quarantined = tws.ingest(raw)
    assert [(row.id, "the payload must be a mapping" in row.reason) for row in quarantined.collect()] == [("bad", True)]
    tws.build(subs, tmp_path / "i", shards=2)
    index = tw.Index.load(tmp_path / "i")
    assert {id_: index.get_payload(id_) for id_ in index} == {
        "a": {"tenant": 7, "tags": ["p"]},
        "b": {},
        "c": {"tenant": 8},
    }
    changes = spark.createDataFrame(
        [("add", "a", "x > 1", {"tenant": 9}), ("remove", "b", None, None), ("add", "d", "x > 0", {"n": 1})],
        "operation string, id string, expression string, payload map<string,int>",
    )
    tws.update(changes, tmp_path / "i")
    index = tw.Index.load(tmp_path / "i")
    assert sorted(index.match_with_payloads({"x": 2, "z": 5})) == [
        ("a", {"tenant": 9}), ("c", {"tenant": 8}), ("d", {"n": 1}),
    ]  # fmt: skip
    structs = raw.where("id <> 'bad'").withColumn("payload", F.struct(F.lit(1).alias("n"), F.lit(None).alias("m")))
    tws.build(tws.ingest(structs)[0], tmp_path / "s")
    assert tw.Index.load(tmp_path / "s").get_payload("b") == {"n": 1, "m": None}
    with pytest.raises(tw.SchemaError, match="the payloads are bigint"):
        tws.ingest(raw.withColumn("payload", F.lit(1).cast("long")))


@pytest.mark.slow
def test_a_strict_schema(spark, tmp_path):
    raw = spark.createDataFrame([rule[:2] for rule in SUBSCRIPTIONS], "id string, expression string")
    schema = tw.Schema({"x": "int", "y": "string"}, strict=True)
    subs, quarantined = tws.ingest(raw, schema=schema)
    assert [(row.id, row.reason) for row in quarantined.collect()] == [
        ("c", "x + z > 2: z is not declared; declare it in the schema, or make the schema with strict=False")
    ]
    version = tws.build(subs, tmp_path / "i")
    assert version.schema == schema
    changes = spark.createDataFrame([("add", "e", "yy = 'q'")], "operation string, id string, expression string")
    assert tws.update(changes, tmp_path / "i").quarantined == 1
    with pytest.raises(tw.SchemaError, match="yy is not declared"):
        tw.Index.load(tmp_path / "i").add("e", "yy = 'q'")
    with pytest.raises(tw.SchemaError, match="z is not declared"):
        tws.build(raw, tmp_path / "j", schema=schema)


def test_too_complex_for_the_engine(spark):
    complex_ = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))
    raw = spark.createDataFrame([("a", "x = 1"), ("b", complex_), ("c", "x =")], "id string, expression string")
    for engine in "counting:strict=1", "counting", "scan", None:
        want = {"a"} if engine == "counting:strict=1" else {"a", "b"}
        subs, bad = tws.ingest(raw, engine=engine)
        assert {row.id for row in subs.collect()} == want
        reasons = {row.id: row.reason for row in bad.collect()}
        assert reasons.keys() == {"a", "b", "c"} - want
        assert "b" not in reasons or (reasons["b"] == f"too complex for counting: {OVER_BUDGET}")
        subs.unpersist()


@pytest.mark.slow
def test_nothing_stays_in_the_cache(spark, tmp_path):
    before = count_cached_frames(spark)
    raw = spark.createDataFrame([("a", "x = 1"), ("b", "x =")], "id string, expression string")
    for which in (0, 1):
        results = tws.ingest(raw)
        assert [frame.count() for frame in results] == [1, 1]
        assert count_cached_frames(spark) == before + 1
        assert results[which].unpersist() is results[which]
        assert count_cached_frames(spark) == before
        assert [frame.count() for frame in results] == [1, 1]  # computed again
    subs, _ = tws.ingest(raw)
    tws.build(subs, tmp_path / "i", profile=tws.profile(subs))
    subs.unpersist(blocking=True)
    tws.update(raw.withColumn("operation", F.lit("add")), tmp_path / "i")
    with pytest.raises(tw.EngineError, match="no engine 'warp'"):
        tws.ingest(raw, engine="warp")
    assert count_cached_frames(spark) == before
