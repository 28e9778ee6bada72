"""Is text parsed once, whatever happens to the DataFrame on the way, and is nothing left in Spark's cache?"""

import random

import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.compile.normal_form import OVER_BUDGET
from tellwhen.spark.blocks import compile_blocks
from tellwhen.spark.parsed_column import decode, encode
from tellwhen.spark.tasks import count_cores, count_partitions
from tellwhen.testing.engine_checks import random_expression
from tellwhen.warehouse.commits import open_staging

pytestmark = pytest.mark.spark

PARSED = "id string, expression string, parsed binary"


def cached(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def matches(spark, path, **event):
    events = spark.createDataFrame([(0, event)], "event_id int, attributes map<string, string>")
    return sorted(row.subscription_id for row in tws.match(events, path).collect())


def test_an_expression_and_its_bytes():
    rng = random.Random(3)
    texts = [str(random_expression(rng, depth=4)) for _ in range(500)]
    texts += [
        "day < DATE '2026-01-31' AND at IN (TIMESTAMP '2026-01-31 23:59:59.000001', TIMESTAMP '0001-01-01 00:00:00')",
        "TRUE", "FALSE", "NOT (a IS NULL XNOR b LIKE 'x!%' ESCAPE '!')", "a = 1.0 OR a = 1 OR a = TRUE OR a = '1'",
        f"n = {2**62 - 1} AND f BETWEEN 1e-300 AND 1e300", "\"q\"\"uote ünï\" CONTAINS '𝒳\"\\'",
    ]  # fmt: skip
    for text in texts:
        expression = tw.parse(text)
        again = decode(encode(expression, text), text)
        assert again == expression
        assert (str(again), again.size, again.depth) == (str(expression), expression.size, expression.depth)


def test_bytes_that_do_not_belong_to_the_text():
    data = encode(tw.parse("a = 1"), "a = 1")
    assert decode(data, "a = 1") == tw.parse("a = 1")
    assert decode(data, "a = 2") is None
    assert decode(None, "a = 1") is decode(b"", "a = 1") is None
    assert decode(b"\x03" + data[1:], "a = 1") is None  # of a later format
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert decode(damaged, "a = 1") is None


@pytest.mark.slow
def test_every_stage_reads_what_was_parsed(spark, tmp_path):
    """The parsed form says something else than the text, so the matches tell which of the two was read."""
    rows = [("a", "x = 1", encode(tw.parse("x = 2"), "x = 1")), ("b", "x = 1", None), ("c", "x = 1", b"old")]
    subs = spark.createDataFrame(rows, PARSED)
    assert tws.profile(subs).heavy_hitters("x", "subscriptions") == [(1, 2), (2, 1)]
    tws.build(subs, tmp_path / "i")
    assert matches(spark, tmp_path / "i", x="2") == ["a"]
    assert matches(spark, tmp_path / "i", x="1") == ["b", "c"]
    again, _ = tws.ingest(subs)
    assert sorted(row.parsed == rows[0][2] for row in again.collect()) == [False, False, True]
    changed = subs.withColumn("operation", F.lit("add")).where("id = 'a'").withColumn("id", F.lit("d"))
    tws.update(changed, tmp_path / "i")
    assert matches(spark, tmp_path / "i", x="2") == ["a", "d"]
    # A column that merely has the name.
    tws.build(subs.withColumn("parsed", F.lit("yes")), tmp_path / "j")
    assert matches(spark, tmp_path / "j", x="1") == ["a", "b", "c"]
    again.unpersist()


@pytest.mark.slow
def test_ingested_subscriptions_are_an_ordinary_data_frame(spark, tmp_path):
    """Filtered, written and read back, united with one that was not ingested, and with another text in it."""
    raw = spark.createDataFrame([(f"s{i}", f"x = {i}") for i in range(4)], "id string, expression string")
    subs, _ = tws.ingest(raw, schema={"x": "int"})
    subs.where("id <> 's0'").write.parquet(str(tmp_path / "subs"))
    subs.unpersist()
    plain = spark.createDataFrame([("plain", "x = 1"), ("none", "x > 7")], "id string, expression string")
    both = spark.read.parquet(str(tmp_path / "subs")).unionByName(plain, allowMissingColumns=True)
    edited = both.withColumn("expression", F.regexp_replace("expression", "= 3", "= 1")).where("id <> 'none'")
    both_match, edited_match = ["plain", "s1"], ["plain", "s1", "s3"]
    for frame, want in ((both, both_match), (edited, edited_match), (both.drop("parsed"), both_match)):
        version = tws.build(frame, tmp_path / "i")
        assert matches(spark, tmp_path / "i", x="1") == want
        assert version.schema.types == ({} if frame is edited else {"x": "int"})
    assert tws.build(both, tmp_path / "i", schema={"y": "int"}).schema.types == {"y": "int"}
    with pytest.raises(tw.SchemaError, match="subscription 's1': .*declared string"):
        tws.build(both.where("id = 's1'"), tmp_path / "i", schema={"x": "string"})


@pytest.mark.slow
def test_nothing_stays_in_the_cache(spark, tmp_path):
    before = cached(spark)
    raw = spark.createDataFrame([("a", "x = 1"), ("b", "x =")], "id string, expression string")
    for which in (0, 1):
        results = tws.ingest(raw)
        assert [frame.count() for frame in results] == [1, 1]
        assert cached(spark) == before + 1
        assert results[which].unpersist() is results[which]
        assert cached(spark) == before
        assert [frame.count() for frame in results] == [1, 1]  # computed again
    subs, _ = tws.ingest(raw)
    tws.build(subs, tmp_path / "i", profile=tws.profile(subs))
    subs.unpersist(blocking=True)
    tws.update(raw.withColumn("operation", F.lit("add")), tmp_path / "i")
    with pytest.raises(tw.EngineError, match="no engine 'warp'"):
        tws.ingest(raw, engine="warp")
    assert cached(spark) == before


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


@pytest.mark.parametrize(("configured", "expected"), [pytest.param("200", None, marks=pytest.mark.slow), ("5", 5)])
def test_the_number_of_partitions_is_ours(spark, tmp_path, configured, expected):
    """A session with default settings does not make 200 of everything."""
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", configured)
    try:
        expected = expected or 2 * count_cores(spark)
        assert count_partitions(spark) == expected
        raw = spark.range(0, 300, 1, 50).selectExpr("id", "concat('x = ', id) AS expression")
        subs, _ = tws.ingest(raw)
        assert subs.rdd.getNumPartitions() == expected
        subs.unpersist()
        with open_staging(tmp_path / "i") as staged:
            assert len(compile_blocks(raw, staged, tw.Schema())) == expected
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", usual)
