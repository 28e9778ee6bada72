"""Do payloads and a strict schema travel through the pipeline, and is it seen there what events lack?"""

import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from tellwhen import spark as tws

pytestmark = pytest.mark.spark

RULES = [("a", "x > 1", '{"tenant":7,"tags":["p"]}'), ("b", "y = 'q'", None), ("c", "x + z > 2", '{"tenant":8}')]


@pytest.mark.slow
def test_payloads_from_raw_rows_through_updates(spark, tmp_path):
    raw = spark.createDataFrame([*RULES, ("bad", "x > 2", "[1]")], "id string, expression string, payload string")
    subs, quarantined = tws.ingest(raw)
    assert [(row.id, "a payload is a mapping" in row.reason) for row in quarantined.collect()] == [("bad", True)]
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
    raw = spark.createDataFrame([rule[:2] for rule in RULES], "id string, expression string")
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


@pytest.mark.slow
def test_a_renamed_column_is_told(spark, tmp_path, caplog):
    raw = spark.createDataFrame([("a", "user.age > 1 AND price * 2 < 9")], "id string, expression string")
    tws.build(raw, tmp_path / "i")
    events = spark.createDataFrame([(1, 4, (3, 2))], "event_id int, Price int, user struct<Age:int,x:int>")
    wanted = [
        f"subscriptions use the attribute {name}, which is no column; there is a column {near}, which none uses"
        for name, near in (("user.age", "user.Age"), ("price", "Price"))
    ]
    for frame, attributes in ((events, None), (events, ["Price", "user"]), (events.selectExpr(
        "event_id", "struct(Price, user) AS attributes"), "attributes")):  # fmt: skip
        caplog.clear()
        tws.match(frame, tmp_path / "i", attributes=attributes)
        assert sorted(one.message for one in caplog.records if "use the attribute" in one.message) == sorted(wanted)
    caplog.clear()
    fine = events.selectExpr("event_id", "Price AS price", "struct(user.Age AS age) AS user")
    assert tws.match(fine, tmp_path / "i", attributes=None).count() == 1
    assert not [one for one in caplog.records if "use the attribute" in one.message]


def test_what_events_lack(spark, tmp_path):
    raw = spark.createDataFrame([rule[:2] for rule in RULES], "id string, expression string")
    tws.build(raw, tmp_path / "i")
    events = [{"X": 1, "y": 5, "z": 2.5}, {"X": 2, "y": 6, "w": None}] * 100
    wanted = tw.Index().add_many([rule[:2] for rule in RULES]).inspect.check_attributes(events)
    assert (wanted.missing, wanted.mismatches, wanted.events) == ({"x": "X"}, {"y": 200}, 200)
    columns = spark.createDataFrame(
        [(n, e["X"], e["y"], e.get("z")) for n, e in enumerate(events)], "event_id int, X int, y int, z double"
    )
    texts = columns.select("event_id", F.to_json(F.struct("X", "y", "z")).alias("attributes"))
    structs = columns.select("event_id", F.struct("X", "y", "z").alias("attributes"))
    for frame, attributes in ((columns, ["X", "y", "z"]), (texts, "attributes"), (structs, "attributes")):
        found = tws.check_attributes(frame.repartition(3), tmp_path / "i", attributes=attributes)
        assert (found.missing, sorted(found.unused), found.mismatches, found.events) == (
            {"x": "X"},
            ["X"],
            {"y": 200},
            200,
        )
    maps = columns.select("event_id", F.create_map(F.lit("x"), "X", F.lit("y"), "y", F.lit("z"), F.lit(1)).alias("m"))
    found = tws.check_attributes(maps, tmp_path / "i", attributes="m")
    assert (found.missing, found.unused, found.mismatches) == ({}, [], {"y": 200})
