"""Is an updated index the same as one built from all subscriptions, and is nothing built again without need?"""

import json
import random

import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.compile.attributes import Attributes
from tellwhen.persistence.attributes import collect_dictionary_arrays
from tellwhen.profile import Profile
from tellwhen.spark import builds, updates
from tellwhen.spark.blocks import Blocks, write_block
from tellwhen.spark.dictionary import extend_dictionary, write_dictionary
from tellwhen.warehouse.commits import make_folder
from tellwhen.warehouse.opening import read_dictionary

pytestmark = pytest.mark.spark

CHANGES = "operation string, id string, expression string"


def draw_texts(rng, count, words):
    parts = [
        lambda: f"x = '{rng.choice(words)}'",
        lambda: f"y > '{rng.choice(words)}'",
        lambda: f"n IN ({rng.randint(0, 9)}, {rng.randint(0, 9)})",
        lambda: f"NOT z CONTAINS '{rng.choice('abc')}'",
        lambda: f"w{rng.randint(0, 4)} = {rng.randint(0, 3)}",
        lambda: "q IS NULL",
    ]
    return [
        rng.choice([" AND ", " OR "]).join(p() for p in rng.sample(parts, k=rng.randint(1, 3))) for _ in range(count)
    ]


def collect_pairs(frame):
    rows = [tuple(row) for row in frame.collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


def draw_events(spark, rng, words):
    names = {"x": words, "y": words, "n": "0123456789", "z": ["a", "bc", "d"], "w1": "0123", "w9": "0123", "q": "1"}
    rows = [{name: rng.choice(values) for name, values in names.items() if rng.random() < 0.6} for _ in range(120)]
    return spark.createDataFrame(list(enumerate(rows)), "event_id int, attributes map<string, string>")


@pytest.mark.parametrize("stride", [pytest.param(1 << 40, marks=pytest.mark.slow), 8])
def test_an_update_equals_a_rebuild(spark, tmp_path, stride, monkeypatch):
    """With a small stride labels soon run out, and all shards get new ones."""
    monkeypatch.setattr("tellwhen.compile.dictionary.STRIDE", stride)
    rng = random.Random(stride)
    words = ["".join(rng.choices("abcdef", k=rng.randint(0, 4))) for _ in range(60)]
    known = {f"s{i}": text for i, text in enumerate(draw_texts(rng, 150, words[:30]))}
    path = tmp_path / "i"
    tws.build(spark.createDataFrame(list(known.items()), "id string, expression string"), path, shards=3)
    looked = draw_events(spark, rng, words)
    for step in range(3):
        words = words + ["".join(rng.choices("abcdef", k=5)) for _ in range(10)]
        gone = rng.sample(sorted(known), 20)
        replaced = rng.sample(sorted(set(known) - set(gone)), 10)
        added = dict(zip([*replaced, *(f"n{step}-{i}" for i in range(20))], draw_texts(rng, 30, words), strict=True))
        added[f"odd{step}"] = f"w{9 + step} = 1"
        changes = [("remove", id_, None) for id_ in [*gone, "nobody"]] + [("add", *pair) for pair in added.items()]
        rng.shuffle(changes)
        version = tws.update(spark.createDataFrame(changes, CHANGES).repartition(2), path)
        known = {id_: text for id_, text in known.items() if id_ not in gone} | added
        assert version.version == step + 2
        assert version.subscriptions == len(known)
        index = tw.Index().add_many(known)
        rows = looked.collect()
        maps = pa.array([list(row.attributes.items()) for row in rows], pa.map_(pa.string(), pa.string()))
        found = index.match_many(pa.table({"m": maps}))
        want = {(rows[e].event_id, s) for e, s in zip(*(c.to_pylist() for c in found.columns), strict=True)}
        assert collect_pairs(tws.match(looked, path)) == want
        assert collect_pairs(tws.match(looked, path, plan="routed")) == want


def test_only_touched_shards_are_built(spark, tmp_path):
    rows = [(i, f"a{i % 8} = {i}") for i in range(80)]
    first = tws.build(spark.createDataFrame(rows, "id int, expression string"), tmp_path / "i", shards=8)
    changes = spark.createDataFrame(
        [("remove", 3, None), ("add", 100, "a3 = 7")], "operation string, id int, expression string"
    )
    second = tws.update(changes, tmp_path / "i")
    same = {shard.name for shard in first.shards} & {shard.name for shard in second.shards}
    assert len(same) == 7
    assert second.subscriptions == 80
    event = spark.createDataFrame([(0, {"a3": "7"}), (1, {"a3": "3"})], "event_id int, attributes map<string, string>")
    assert collect_pairs(tws.match(event, tmp_path / "i")) == {(0, 100)}
    assert collect_pairs(tws.match(event, tmp_path / "i", version=1)) == {(1, 3)}


def test_changes_that_apply_to_nothing_commit_nothing(spark, tmp_path, caplog):
    caplog.set_level("INFO", "tellwhen.spark")
    path = tmp_path / "i"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), path)
    before = {file for file in path.rglob("*") if file.parent.name not in ("leases", "pins")}
    for changes in ([], [("remove", "nobody", None)]):
        version = tws.update(spark.createDataFrame(changes, CHANGES), path)
        assert version == tws.list_versions(path)[-1]
        assert version.version == 1
        assert "version 1 stays the current one: no change applies to it" in caplog.text
        assert {file for file in path.rglob("*") if file.parent.name not in ("leases", "pins")} == before
        caplog.clear()


TOO_COMPLEX = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))


def test_bad_changes_go_to_quarantine_and_the_others_are_applied(spark, tmp_path, caplog, capfd):
    path = tmp_path / "i"
    subs = spark.createDataFrame([("a", "x = 1"), ("kept", "x = 1")], "id string, expression string")
    tws.build(subs, path, schema={"x": "int"}, engine="counting:strict=1")
    bad = {
        ("upsert", "b", "x = 1"): "the operation is add or remove, not 'upsert'",
        (None, "b", "x = 1"): "the operation is add or remove, not None",
        ("add", "kept", "x ="): "expected a constant",
        ("add", "d", "x = 'one'"): "declared int",
        ("remove", None, None): "the id is missing",
        ("add", "e", None): "the expression is missing",
        ("remove", "twice", None): "another subscription with this id is taken",
        ("add", "f", TOO_COMPLEX): "too complex for counting",
    }
    good = [("add", "good", "x = 1"), ("remove", "a", None), ("add", "twice", "x = 1")]
    version = tws.update(spark.createDataFrame([*bad, *good], CHANGES), path)
    assert (version.version, version.quarantined) == (2, len(bad))
    assert tws.list_versions(path)[-1] == version
    event = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    assert collect_pairs(tws.match(event, path)) == {(0, "kept"), (0, "good"), (0, "twice")}
    found = spark.read.parquet(str(path / "quarantine"))
    assert found.columns == ["operation", "id", "expression", "position", "reason", "version"]
    rows = found.collect()
    assert {row.version for row in rows} == {2}
    assert {(row.operation, row.id, row.expression) for row in rows} == bad.keys()
    assert all(bad[row.operation, row.id, row.expression] in row.reason for row in rows)
    assert f"not applied: {len(bad)} changes" in caplog.text
    # Nothing but bad rows is a version, too, that changes nothing.
    third = tws.update(spark.createDataFrame([("add", "c", "x =")], CHANGES), path)
    assert (third.quarantined, third.shards) == (1, version.shards)
    assert spark.read.parquet(str(path / "quarantine" / "version=3")).count() == 1
    assert capfd.readouterr().out == ""


def test_changes_by_other_names_and_the_preferred_of_several(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), path)
    changes = [("add", "b", "x = 1", 1), ("remove", "b", None, 3), ("add", "b", "x =", 9), ("add", "c", "x = 1", 2)]
    named = spark.createDataFrame(changes, "what string, key string, rule string, at int")
    version = tws.update(named, path, id="key", expression="rule", operation="what", prefer="at")
    assert version.quarantined == 2
    event = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    assert collect_pairs(tws.match(event, path)) == {(0, "a"), (0, "c")}


def test_changes_that_cannot_be_used_at_all(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), path)
    with pytest.raises(tw.SchemaError, match="ints"):
        tws.update(spark.createDataFrame([("add", 1, "x = 1")], CHANGES.replace("id string", "id int")), path)
    with pytest.raises(tw.SchemaError, match="no column 'operation'"):
        tws.update(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), path)
    assert [version.version for version in tws.list_versions(path)] == [1]
    assert not (path / "quarantine").exists()


def test_a_lost_race_changes_nothing(spark, tmp_path, monkeypatch):
    path = tmp_path / "i"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), path)
    commit = updates.commit

    def slow(*args):
        monkeypatch.setattr(updates, "commit", commit)
        tws.update(spark.createDataFrame([("add", "quick", "x = 1")], CHANGES), path)
        return commit(*args)

    monkeypatch.setattr(updates, "commit", slow)
    with pytest.raises(tw.FormatError, match="version 2 .* meanwhile; try again"):
        tws.update(spark.createDataFrame([("add", "slow", "x = 1"), ("add", "bad", "x =")], CHANGES), path)
    assert not (path / "quarantine").exists()
    event = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    assert collect_pairs(tws.match(event, path)) == {(0, "a"), (0, "quick")}


@pytest.mark.slow
def test_a_build_does_not_undo_an_update(spark, tmp_path, monkeypatch):
    path = tmp_path / "i"
    subs = spark.createDataFrame([("a", "x = 1")], "id string, expression string")
    tws.build(subs, path)
    compile_blocks = builds.compile_blocks

    def slow(*args):
        monkeypatch.setattr(builds, "compile_blocks", compile_blocks)
        tws.update(
            spark.createDataFrame([("ADD ", "quick", '{"attribute": "x", "operator": "=", "value": 1}')], CHANGES), path
        )
        return compile_blocks(*args)

    monkeypatch.setattr(builds, "compile_blocks", slow)
    with pytest.raises(tw.ConflictError, match="version 2"):
        tws.build(subs, path)
    event = spark.createDataFrame([(0, {"x": "1"})], "event_id int, attributes map<string, string>")
    assert collect_pairs(tws.match(event, path)) == {(0, "a"), (0, "quick")}


def test_an_index_grows_new_shards(spark, tmp_path, monkeypatch):
    """A shard that is full gets nothing more, also of a pivot that has been there alone.

    Exactly so with one block; each of several deals out its subscriptions for itself.
    """
    monkeypatch.setattr("tellwhen.spark.ingestion.count_partitions", lambda spark: 1)
    monkeypatch.setattr("tellwhen.spark.placement.SUBSCRIPTIONS_PER_SHARD_MAX", 10)
    path = tmp_path / "i"
    before = [(f"b{i}", "x = 1") for i in range(8)]
    tws.build(spark.createDataFrame(before, "id string, expression string"), path, shards=1)
    changes = [("add", f"x{i}", "x = 1") for i in range(15)] + [("add", f"y{i}", "y = 1") for i in range(5)]
    version = tws.update(spark.createDataFrame(changes, CHANGES), path)
    assert [shard.subscriptions for shard in version.shards] == [10, 10, 8]
    event = spark.createDataFrame([(0, {"x": "1", "y": "1"})], "event_id int, attributes map<string, string>")
    for plan in ("local", "routed"):
        found = {id_ for _, id_ in collect_pairs(tws.match(event, path, plan=plan))}
        assert found == {id_ for id_, _ in before} | {id_ for _, id_, _ in changes}


def test_sql(spark, tmp_path):
    subs = spark.createDataFrame([(1, "x = 1"), (2, "y = 'a'")], "id int, expression string")
    tws.build(subs, tmp_path / "i", schema={"y": "string"})
    tws.register_functions(spark)
    rows = [(10, {"x": "1"}), (20, {"y": "a", "x": "1"}), (30, None)]
    spark.createDataFrame(rows, "event_id int, attributes map<string, string>").createOrReplaceTempView("sql_events")
    query = f"SELECT * FROM tellwhen_match(TABLE(sql_events), '{tmp_path / 'i'}')"
    assert collect_pairs(spark.sql(query)) == {("10", "1"), ("20", "1"), ("20", "2")}
    spark.createDataFrame([("e", 1, "a")], "event_id string, x int, y string").createOrReplaceTempView("sql_wide")
    wide = f"SELECT subscription_id FROM tellwhen_match(TABLE(sql_wide), '{tmp_path / 'i'}') WHERE event_id = 'e'"
    assert collect_pairs(spark.sql(wide)) == {("1",), ("2",)}
    spark.sql("SELECT 1 AS event_id, named_struct('x', 1, 'event_id', 5) AS attributes").createOrReplaceTempView(
        "sql_one"
    )
    one = f"SELECT * FROM tellwhen_match(TABLE(sql_one), '{tmp_path / 'i'}')"
    assert collect_pairs(spark.sql(one)) == {("1", "1")}
    spark.sql("SELECT 1 AS event_id, parse_json('{}') AS attributes").createOrReplaceTempView("sql_variant")
    with pytest.raises(Exception, match="to_json"):
        spark.sql(one.replace("sql_one", "sql_variant")).collect()
    spark.sql("SELECT 1 AS event_id, 2 AS y").createOrReplaceTempView("sql_clash")
    with pytest.raises(Exception, match="'y' is int, but the index declares it string"):
        spark.sql(one.replace("sql_one", "sql_clash")).collect()
    with pytest.raises(Exception, match="the path of an index is a string"):
        spark.sql("SELECT * FROM tellwhen_match(TABLE(sql_one), NULL)").collect()
    with pytest.raises(Exception, match="no column event_id"):
        spark.sql(f"SELECT * FROM tellwhen_match(TABLE(SELECT 1 AS x), '{tmp_path / 'i'}')").collect()


def test_an_update_brings_new_kinds_of_predicates(spark, tmp_path):
    """Negated patterns, presence, suffixes and other families, on attributes that the index did not know."""
    known = {"a": "x = 1", "b": "s CONTAINS 'old'"}
    tws.build(spark.createDataFrame(list(known.items()), "id string, expression string"), tmp_path / "i", shards=2)
    added = {
        "c": "NOT s CONTAINS 'old'", "d": "NOT s CONTAINS 'new' AND t IS NULL", "e": "u IS NULL",
        "f": "v ENDS WITH 'z'", "g": "x = 'one'", "h": "x > 1.5",
        "i": "NOT (y = 1 XOR y = 2)", "j": "day < DATE '2026-01-01'", "k": "flag",
    }  # fmt: skip
    changes = [("add", *pair) for pair in added.items()]
    tws.update(spark.createDataFrame(changes, CHANGES).repartition(3), tmp_path / "i")
    rows = [
        {"s": "old"}, {"s": "new", "u": 1}, {"s": "x", "t": 1}, {"x": "one", "v": "az"}, {"x": 2, "y": 3}, {"x": 1},
        {"flag": True, "u": "q"}, {"y": 1, "u": 0}, {},
    ]  # fmt: skip
    encoded = [(e, json.dumps(row)) for e, row in enumerate(rows)]
    looked = spark.createDataFrame(encoded, "event_id int, attributes string")
    parsed = {id_: tw.parse(text) for id_, text in (known | added).items()}
    want = {(e, i) for e, row in enumerate(rows) for i, x in parsed.items() if x.evaluate(row) is True}
    for plan in ("local", "routed"):
        assert collect_pairs(tws.match(looked, tmp_path / "i", plan=plan)) == want


def test_labels_that_move_twice_in_one_update(tmp_path, monkeypatch):
    """Two blocks of changes, each of which uses up the room between the labels."""
    monkeypatch.setattr("tellwhen.compile.dictionary.STRIDE", 8)
    names = []
    for part in range(3):
        folder = make_folder(tmp_path, "block")
        texts = [(i, f"x = 'a{'b' * part}{chr(97 + i)}' OR x > 'a'", None, None, None, None) for i in range(12)]
        write_block(folder, texts, tw.Schema())
        names.append(folder.name)
    first, _ = extend_dictionary(write_empty_dictionary(tmp_path), Blocks(tmp_path, names[:1]))
    before = read_dictionary(tmp_path / first).by_name["x"].string
    after_name, moved = extend_dictionary(tmp_path / first, Blocks(tmp_path, names[1:]))
    after = read_dictionary(tmp_path / after_name).by_name["x"].string
    (moves,) = moved.values()
    assert moves.map_points(before.get_labels(before.keys)).tolist() == after.get_labels(before.keys).tolist()
    assert after.keys == sorted(after.keys)
    assert len(after.keys) > len(before.keys)
    assert after_name != first


def write_empty_dictionary(folder):
    attributes = Attributes()
    return write_dictionary(folder, attributes, collect_dictionary_arrays(attributes), Profile())
