"""Is a build whole or absent, balanced, and never silent about what it refuses?"""

import json
import shutil

import pytest

import tellwhen as tw
from support import expire_leases
from tellwhen import spark as tws
from tellwhen.spark.placement import balance_cells
from tellwhen.warehouse.commits import open_staging
from tellwhen.warehouse.leases import pin_version
from tellwhen.warehouse.versions import locate_index, read_current_number
from tellwhen.workloads import BEGen, take_events, take_subscriptions

pytestmark = pytest.mark.spark


def frame(spark, pairs, kind="string"):
    return spark.createDataFrame(list(pairs), f"id {kind}, expression string")


def events(spark, *rows):
    return spark.createDataFrame(list(enumerate(rows)), "event_id int, attributes map<string, string>")


def ids(frame):
    return sorted(row.subscription_id for row in frame.collect())


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
def test_build_refuses_what_ingest_would(spark, tmp_path):
    for rows, error in [
        ([("a", "x = 1"), ("b", "x =")], tw.ParseError),
        ([("a", "x = 1"), ("b", None)], tw.TellwhenError),
        ([("a", "x = 1"), ("b", "x = 'y'")], tw.SchemaError),
    ]:
        with pytest.raises(error, match="subscription 'b': "):
            tws.build(frame(spark, rows), tmp_path / "i", schema={"x": "int"})
    with pytest.raises(tw.DuplicateId, match="2 subscriptions 'a'"):
        tws.build(frame(spark, [("a", "x = 1"), ("a", "x = 2"), ("b", "x = 1")]).repartition(2), tmp_path / "i")
    with pytest.raises(tw.FormatError, match="no index"):
        tws.list_versions(tmp_path / "i")
    assert [p.name for p in (tmp_path / "i").iterdir()] == ["lock"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(tw.FormatError, match="not an index"):
        tws.build(frame(spark, [("a", "x = 1")]), tmp_path / "mine")
    complex_ = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))
    with pytest.raises(tw.BudgetError, match="'c' is too complex for counting"):
        tws.build(frame(spark, [("c", complex_)]), tmp_path / "i", engine="counting:strict=1")


def test_versions_and_rollback(spark, tmp_path):
    path = tmp_path / "i"
    event = events(spark, {"x": "1"})
    for number in range(1, 5):
        expire_leases(path)  # else versions that were used would stay
        version = tws.build(frame(spark, [(f"v{number}", "x = 1")]), path, keep=2)
        assert version.version == number
        assert ids(tws.match(event, path)) == [f"v{number}"]
    assert [version.version for version in tws.list_versions(path)] == [2, 3, 4]
    assert len(list(path.glob("shard-*"))) == 3
    assert len(list(path.glob("dictionary-*"))) == 3
    assert ids(tws.match(event, path, version=2)) == ["v2"]
    tws.rollback(path, 3)
    assert ids(tws.match(event, path)) == ["v3"]
    assert tws.build(frame(spark, [("new", "x = 1")]), path).version == 5
    with pytest.raises(tw.FormatError, match="no version 1"):
        tws.rollback(path, 1)
    with pytest.raises(tw.FormatError, match="expected the number of a version, found '7'"):
        tws.rollback(path, "7")
    with pytest.raises(tw.TellwhenError, match="expected a Profile, as profile"):
        tws.build(frame(spark, [("new", "x = 1")]), path, profile=5)
    for wrong in (0, -1):
        with pytest.raises(tw.TellwhenError, match="at least 1 shard"):
            tws.build(frame(spark, [("new", "x = 1")]), path, shards=wrong)
    (tmp_path / "file").touch()
    with pytest.raises(tw.FormatError):
        tws.build(frame(spark, [("new", "x = 1")]), tmp_path / "file")
    with pytest.raises(tw.FormatError):
        tws.list_versions(tmp_path / "file")


def test_an_index_of_nothing(spark, tmp_path):
    version = tws.build(frame(spark, []), tmp_path / "i")
    assert version.subscriptions == 0
    for plan in ("local", "routed"):
        assert ids(tws.match(events(spark, {"x": "1"}), tmp_path / "i", plan=plan)) == []


def test_ints_stay_ints(spark, tmp_path):
    tws.build(frame(spark, [(7, "x = 1"), (-(2**62), "x IS NOT NULL")], "long"), tmp_path / "i")
    found = tws.match(events(spark, {"x": "1"}), tmp_path / "i")
    assert dict(found.dtypes)["subscription_id"] == "bigint"
    assert ids(found) == [-(2**62), 7]


def test_balance():
    sizes = [int(1000 / (i + 1)) + 1 for i in range(300)]
    placed = balance_cells(sizes, 8)
    loads = [0.0] * 8
    for size, shares in zip(sizes, placed, strict=True):
        assert abs(sum(shares.values()) - 1) < 1e-9
        for shard, share in shares.items():
            loads[shard] += size * share
    assert max(loads) / (sum(loads) / 8) < 1.1
    assert balance_cells([], 3) == []
    assert balance_cells([0, 1], 1) == [{0: 1.0}, {0: 1.0}]


def test_heavy_cells_are_split(spark, tmp_path):
    rows = [(f"s{i}", f"x = {i % 10}") for i in range(400)] + [("p", "y = 1"), ("q", "x = 1 OR y = 2")]
    version = tws.build(frame(spark, rows).repartition(3), tmp_path / "i", shards=4)
    assert version.balance < 1.1
    for plan in ("local", "routed"):
        found = ids(tws.match(events(spark, {"x": "3"}, {"y": "2"}, {"z": "1"}), tmp_path / "i", plan=plan))
        assert found == sorted([f"s{i}" for i in range(3, 400, 10)] + ["q"])


@pytest.mark.parametrize("victim", ["shard", "dictionary"])
def test_damage_is_found(spark, tmp_path, victim):
    path = tmp_path / "i"
    tws.build(frame(spark, [("a", "x = 'one'"), ("b", "x = 'two'")]), path, shards=1)
    (directory,) = path.glob(f"{victim}-*")
    file = max(directory.glob("data-*/*"), key=lambda f: f.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(Exception, match="is damaged: its checksum is wrong"):
        tws.match(events(spark, {"x": "one"}), path).collect()
    shutil.rmtree(directory)
    with pytest.raises(Exception, match=f"no index in .*{victim}"):
        tws.match(events(spark, {"x": "one"}), path).collect()


@pytest.mark.slow
def test_a_newer_format_and_a_damaged_manifest(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(frame(spark, [("a", "x = 1")]), path)
    file = path / "versions" / "00000001.json"
    body = json.loads(file.read_text())
    file.write_text(json.dumps(body | {"format": 99}))
    with pytest.raises(tw.FormatError, match="format 99"):
        tws.match(events(spark, {"x": "1"}), path)
    file.write_text(json.dumps(body | {"engine": "scan"}))
    with pytest.raises(tw.FormatError, match="checksum"):
        tws.match(events(spark, {"x": "1"}), path)
    file.write_text("{")
    with pytest.raises(tw.FormatError, match="damaged"):
        tws.match(events(spark, {"x": "1"}), path)
    assert read_current_number(locate_index(path)) == 1
    # It does not stop the next one, and nothing it may refer to is thrown away.
    assert tws.build(frame(spark, [("b", "x = 1")]), path).version == 2
    assert ids(tws.match(events(spark, {"x": "1"}), path)) == ["b"]
    assert len(list(path.glob("shard-*"))) == 2


@pytest.mark.slow
def test_a_version_that_a_stream_may_need_stays(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(frame(spark, [("a", "x = 1")]), path)
    assert pin_version(path, "stream", 0) == pin_version(path, "stream", 0) == 1
    for _ in range(3):
        tws.build(frame(spark, [("b", "x = 1")]), path, keep=0)
    assert pin_version(path, "stream", 0) == 1
    assert [version.version for version in tws.list_versions(path)] == [1, 4]
    assert pin_version(path, "stream", 1) == 4
    tws.build(frame(spark, [("b", "x = 1")]), path, keep=0)
    assert [version.version for version in tws.list_versions(path)] == [4, 5]


def test_a_build_does_not_touch_one_that_is_alive(spark, tmp_path):
    path = tmp_path / "i"
    with open_staging(path) as alive:
        (alive / "work").touch()
        tws.build(frame(spark, [("a", "x = 1")]), path)
        assert (alive / "work").exists()
    assert not alive.exists()


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_workloads_are_the_same_on_spark(spark, partitions):
    work = BEGen()
    made = tws.generate(spark, work, 10_500).repartition(partitions)
    assert [row.expression for row in made.orderBy("id").collect()] == take_subscriptions(work, 10_500)
    events = tws.generate(spark, work, 50, "events").orderBy("event_id").collect()
    assert [json.loads(row.attributes) for row in events] == take_events(work, 50)
    for count, what in ((-1, "events"), (1, "cats")):
        with pytest.raises(tw.TellwhenError):
            tws.generate(spark, work, count, what)


def test_a_workload_from_end_to_end(spark, tmp_path):
    """Generated, ingested, built and matched on Spark, it gives what it gives in one process."""
    work = BEGen(match=0.05)
    subs, bad = tws.ingest(tws.generate(spark, work, 2_000))
    assert bad.count() == 0
    tws.build(subs, tmp_path / "i")
    found = {tuple(row) for row in tws.match(tws.generate(spark, work, 40, "events"), tmp_path / "i").collect()}
    index = tw.Index().add_many(enumerate(take_subscriptions(work, 2_000)))
    assert found == {(e, i) for e, event in enumerate(take_events(work, 40)) for i in index.match(event)}
