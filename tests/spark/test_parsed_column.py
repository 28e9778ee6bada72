"""Is text parsed once, whatever happens to the DataFrame before a later step?"""

import random

import pytest
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.spark.parsed_column import decode, encode
from tellwhen.testing.engine_checks import random_expression

pytestmark = pytest.mark.spark

PARSED_COLUMNS = "id string, expression string, parsed binary"


def match_event(spark, path, **event):
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
    subs = spark.createDataFrame(rows, PARSED_COLUMNS)
    assert tws.profile(subs).heavy_hitters("x", "subscriptions") == [(1, 2), (2, 1)]
    tws.build(subs, tmp_path / "i")
    assert match_event(spark, tmp_path / "i", x="2") == ["a"]
    assert match_event(spark, tmp_path / "i", x="1") == ["b", "c"]
    again, _ = tws.ingest(subs)
    assert sorted(row.parsed == rows[0][2] for row in again.collect()) == [False, False, True]
    changed = subs.withColumn("operation", F.lit("add")).where("id = 'a'").withColumn("id", F.lit("d"))
    tws.update(changed, tmp_path / "i")
    assert match_event(spark, tmp_path / "i", x="2") == ["a", "d"]
    # A column that merely has the name.
    tws.build(subs.withColumn("parsed", F.lit("yes")), tmp_path / "j")
    assert match_event(spark, tmp_path / "j", x="1") == ["a", "b", "c"]
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
        assert match_event(spark, tmp_path / "i", x="1") == want
        assert version.schema.types == ({} if frame is edited else {"x": "int"})
    assert tws.build(both, tmp_path / "i", schema={"y": "int"}).schema.types == {"y": "int"}
    with pytest.raises(tw.SchemaError, match="subscription 's1': .*declared string"):
        tws.build(both.where("id = 's1'"), tmp_path / "i", schema={"x": "string"})
