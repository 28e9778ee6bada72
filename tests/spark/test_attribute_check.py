"""Are attributes found that subscriptions use and events lack?"""

import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from spark_support import SUBSCRIPTIONS
from tellwhen import spark as tws

pytestmark = pytest.mark.spark


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
    raw = spark.createDataFrame([rule[:2] for rule in SUBSCRIPTIONS], "id string, expression string")
    tws.build(raw, tmp_path / "i")
    events = [{"X": 1, "y": 5, "z": 2.5}, {"X": 2, "y": 6, "w": None}] * 100
    wanted = tw.Index().add_many([rule[:2] for rule in SUBSCRIPTIONS]).inspect.check_attributes(events)
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
