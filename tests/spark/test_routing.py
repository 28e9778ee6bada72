"""Does an event meet all the shards it must on Spark, few others, and so after updates?"""

import json
import random

import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.encode.events import encode
from tellwhen.language.schema import Schema
from tellwhen.spark.version_cache import OpenVersion
from tellwhen.warehouse.versions import read_version

pytestmark = pytest.mark.spark

WORDS = ["", "a", "ab", "b", "ba", "cab", "d", "éa"]


def draw_predicate(rng, words):
    n, word, name = rng.randint(0, 30), rng.choice(words), rng.choice("nm")
    return rng.choice([
        f"{name} = {n}", f"{name} = {n}", f"{name} BETWEEN {n} AND {n + 2}", f"{name} > {n}", f"{name} <> {n}",
        f"{name} IN ({n}, {n + 7})", f"NOT {name} IN ({n}, {n + 1})", f"x = {n / 4}", f"x < {n / 4}", f"s = '{word}'",
        f"s STARTS WITH '{word}'", f"s ENDS WITH '{word}'", f"s CONTAINS '{word}'", f"NOT s CONTAINS '{word}'",
        f"s >= '{word}'", f"t IN ('{word}', 'a')", f"NOT t = '{word}'", f"{rng.choice('nmxst')} IS NULL",
        f"{rng.choice('nmxst')} IS NOT NULL",
    ])  # fmt: skip


def draw_expression(rng, words):
    parts = [draw_predicate(rng, words) for _ in range(rng.randint(1, 4))]
    joined = rng.choice([" AND ", " AND ", " AND ", " OR ", " XOR "]).join(parts)
    return rng.choice(["", "", "", "NOT "]) + f"({joined})" + rng.choice(["", f" AND ({draw_predicate(rng, words)})"])


def draw_values(rng, words):
    values = {
        "n": rng.randint(0, 32),
        "m": [rng.randint(0, 32) for _ in range(rng.randint(0, 3))],
        "x": rng.randint(0, 32) / 4,
        "s": rng.choice(words),
        "t": rng.choices(words, k=rng.randint(1, 3)),
    }
    return {name: value for name, value in values.items() if rng.random() < 0.8}


def make_subscriptions(spark, known):
    return spark.createDataFrame(list(known.items()), "id string, expression string").repartition(3)


def check_matches(spark, path, known, rows):
    looked = spark.createDataFrame(
        [(e, json.dumps(row)) for e, row in enumerate(rows)], "event_id int, attributes string"
    )
    index = tw.Index().add_many(known)
    want = {(e, id_) for e, row in enumerate(rows) for id_ in index.match(row)}
    assert len(want) > len(rows)
    for plan in ("local", "routed"):
        found = [tuple(row) for row in tws.match(looked, path, plan=plan).collect()]
        assert len(found) == len(set(found))
        assert set(found) == want


@pytest.mark.parametrize("engine", ["auto", "betree"])
def test_no_match_is_lost(spark, tmp_path, engine, monkeypatch):
    """Many small shards; then updates with constants that move labels, and with attributes that are new."""
    monkeypatch.setattr("tellwhen.compile.dictionary.STRIDE", 8)
    rng = random.Random(3)
    known = {f"s{i}": draw_expression(rng, WORDS[:5]) for i in range(300)}
    known["over budget"] = " AND ".join(f"(n > {i} OR x > {i})" for i in range(12))
    version = tws.build(make_subscriptions(spark, known), tmp_path / "i", shards=16, engine=engine)
    assert len(version.shards) == 16
    check_matches(spark, tmp_path / "i", known, [draw_values(rng, WORDS) for _ in range(200)])
    words = WORDS + [a + b for a in "abc" for b in "uvwxyz"]
    changes = {f"s{i}": draw_expression(rng, words) for i in range(0, 60, 2)} | {"new": "z = 'q' AND n = 1"}
    rows = [("add", *pair) for pair in changes.items()] + [("remove", f"s{i}", None) for i in range(1, 40, 2)]
    after = tws.update(spark.createDataFrame(rows, "operation string, id string, expression string"), tmp_path / "i")
    known = {id_: text for id_, text in known.items() if ("remove", id_, None) not in rows} | changes
    assert after.subscriptions == len(known)
    check_matches(spark, tmp_path / "i", known, [draw_values(rng, words) for _ in range(200)] + [{"z": "q", "n": 1}])


def count_shards_met(path, rows):
    served = OpenVersion(path, read_version(path))
    positions, _ = served.route(encode(rows, served.attributes, Schema())[0])
    return len(positions) / len(rows)


@pytest.mark.slow
def test_events_meet_few_shards(spark, tmp_path):
    """All events carry all attributes: by these alone, every event would meet every shard."""
    rng = random.Random(4)

    def draw_event():
        return {"user": rng.randrange(500), "shop": rng.randrange(4), "day": rng.randrange(7)}

    known = {f"s{i}": " AND ".join(f"{name} = {value}" for name, value in draw_event().items()) for i in range(600)}
    rows = [draw_event() for _ in range(200)]
    version = tws.build(make_subscriptions(spark, known), tmp_path / "i", shards=16)
    assert version.balance < 1.2
    assert count_shards_met(tmp_path / "i", rows) < 2
    assert version.shards_per_event is None
    assert "an event meets" not in tws.choose_plan(tmp_path / "i")
    profile = tw.Profile.from_events([draw_event() for _ in range(300)])
    version = tws.build(make_subscriptions(spark, known), tmp_path / "i", shards=16, profile=profile)
    assert abs(count_shards_met(tmp_path / "i", rows) - version.shards_per_event) < 0.5
    assert f"an event meets about {version.shards_per_event:.1f}" in tws.choose_plan(tmp_path / "i")
    # Replaced ones go where they belong, and widen nothing else.
    changes = [("add", f"s{i}", f"user = {i} AND day = 1") for i in range(100)]
    after = tws.update(spark.createDataFrame(changes, "operation string, id string, expression string"), tmp_path / "i")
    assert count_shards_met(tmp_path / "i", rows) < 2
    assert after.shards_per_event < 2


def test_an_older_version_is_refused(spark, tmp_path):
    tws.build(make_subscriptions(spark, {"a": "x = 1"}), tmp_path / "i")
    for file in (tmp_path / "i" / "versions" / "00000001.json", tmp_path / "i" / "current.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 2}))
    with pytest.raises(tw.FormatError, match="format 2 of an older tellwhen.* build the index again"):
        tws.choose_plan(tmp_path / "i")
    assert (
        tws.build(spark.createDataFrame([("b", "x = 1")], "id string, expression string"), tmp_path / "i").version == 2
    )
