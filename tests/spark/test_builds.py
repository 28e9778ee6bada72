"""Is a build complete or absent, and does it refuse what it cannot build?"""

import json
import shutil

import pytest

import tellwhen as tw
from spark_support import collect_ids, make_events, make_subscriptions
from support import expire_leases
from tellwhen import spark as tws
from tellwhen.warehouse.commits import open_staging
from tellwhen.warehouse.leases import pin_version
from tellwhen.warehouse.versions import locate_index, read_current_number

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_build_refuses_what_ingest_would(spark, tmp_path):
    for rows, error in [
        ([("a", "x = 1"), ("b", "x =")], tw.ParseError),
        ([("a", "x = 1"), ("b", None)], tw.TellwhenError),
        ([("a", "x = 1"), ("b", "x = 'y'")], tw.SchemaError),
    ]:
        with pytest.raises(error, match="subscription 'b': "):
            tws.build(make_subscriptions(spark, rows), tmp_path / "i", schema={"x": "int"})
    with pytest.raises(tw.DuplicateId, match="2 subscriptions 'a'"):
        tws.build(
            make_subscriptions(spark, [("a", "x = 1"), ("a", "x = 2"), ("b", "x = 1")]).repartition(2), tmp_path / "i"
        )
    with pytest.raises(tw.FormatError, match="no index"):
        tws.list_versions(tmp_path / "i")
    assert [p.name for p in (tmp_path / "i").iterdir()] == ["lock"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(tw.FormatError, match="not an index"):
        tws.build(make_subscriptions(spark, [("a", "x = 1")]), tmp_path / "mine")
    complex_ = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))
    with pytest.raises(tw.BudgetError, match="'c' is too complex for counting"):
        tws.build(make_subscriptions(spark, [("c", complex_)]), tmp_path / "i", engine="counting:strict=1")


def test_versions_and_rollback(spark, tmp_path):
    path = tmp_path / "i"
    event = make_events(spark, {"x": "1"})
    for number in range(1, 5):
        expire_leases(path)  # else versions that were used would stay
        version = tws.build(make_subscriptions(spark, [(f"v{number}", "x = 1")]), path, keep=2)
        assert version.version == number
        assert collect_ids(tws.match(event, path)) == [f"v{number}"]
    assert [version.version for version in tws.list_versions(path)] == [2, 3, 4]
    assert len(list(path.glob("shard-*"))) == 3
    assert len(list(path.glob("dictionary-*"))) == 3
    assert collect_ids(tws.match(event, path, version=2)) == ["v2"]
    tws.rollback(path, 3)
    assert collect_ids(tws.match(event, path)) == ["v3"]
    assert tws.build(make_subscriptions(spark, [("new", "x = 1")]), path).version == 5
    with pytest.raises(tw.FormatError, match="no version 1"):
        tws.rollback(path, 1)
    with pytest.raises(tw.FormatError, match="expected the number of a version, found '7'"):
        tws.rollback(path, "7")
    with pytest.raises(tw.TellwhenError, match="expected a Profile, as profile"):
        tws.build(make_subscriptions(spark, [("new", "x = 1")]), path, profile=5)
    for wrong in (0, -1):
        with pytest.raises(tw.TellwhenError, match="at least 1 shard"):
            tws.build(make_subscriptions(spark, [("new", "x = 1")]), path, shards=wrong)
    (tmp_path / "file").touch()
    with pytest.raises(tw.FormatError):
        tws.build(make_subscriptions(spark, [("new", "x = 1")]), tmp_path / "file")
    with pytest.raises(tw.FormatError):
        tws.list_versions(tmp_path / "file")


def test_an_index_of_nothing(spark, tmp_path):
    version = tws.build(make_subscriptions(spark, []), tmp_path / "i")
    assert version.subscriptions == 0
    for plan in ("local", "routed"):
        assert collect_ids(tws.match(make_events(spark, {"x": "1"}), tmp_path / "i", plan=plan)) == []


def test_ints_stay_ints(spark, tmp_path):
    tws.build(make_subscriptions(spark, [(7, "x = 1"), (-(2**62), "x IS NOT NULL")], "long"), tmp_path / "i")
    found = tws.match(make_events(spark, {"x": "1"}), tmp_path / "i")
    assert dict(found.dtypes)["subscription_id"] == "bigint"
    assert collect_ids(found) == [-(2**62), 7]


@pytest.mark.parametrize("victim", ["shard", "dictionary"])
def test_damage_is_found(spark, tmp_path, victim):
    path = tmp_path / "i"
    tws.build(make_subscriptions(spark, [("a", "x = 'one'"), ("b", "x = 'two'")]), path, shards=1)
    (directory,) = path.glob(f"{victim}-*")
    file = max(directory.glob("data-*/*"), key=lambda f: f.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(Exception, match="is damaged: its checksum is wrong"):
        tws.match(make_events(spark, {"x": "one"}), path).collect()
    shutil.rmtree(directory)
    with pytest.raises(Exception, match=f"no directory .*{victim}"):
        tws.match(make_events(spark, {"x": "one"}), path).collect()


@pytest.mark.slow
def test_a_newer_format_and_a_damaged_manifest(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(make_subscriptions(spark, [("a", "x = 1")]), path)
    file = path / "versions" / "00000001.json"
    body = json.loads(file.read_text())
    file.write_text(json.dumps(body | {"format": 99}))
    with pytest.raises(tw.FormatError, match="format 99"):
        tws.match(make_events(spark, {"x": "1"}), path)
    file.write_text(json.dumps(body | {"engine": "scan"}))
    with pytest.raises(tw.FormatError, match="checksum"):
        tws.match(make_events(spark, {"x": "1"}), path)
    file.write_text("{")
    with pytest.raises(tw.FormatError, match="damaged"):
        tws.match(make_events(spark, {"x": "1"}), path)
    assert read_current_number(locate_index(path)) == 1
    # It does not stop the next one, and nothing it may refer to is thrown away.
    assert tws.build(make_subscriptions(spark, [("b", "x = 1")]), path).version == 2
    assert collect_ids(tws.match(make_events(spark, {"x": "1"}), path)) == ["b"]
    assert len(list(path.glob("shard-*"))) == 2


@pytest.mark.slow
def test_a_version_that_a_stream_may_need_stays(spark, tmp_path):
    path = tmp_path / "i"
    tws.build(make_subscriptions(spark, [("a", "x = 1")]), path)
    assert pin_version(path, "stream", 0) == pin_version(path, "stream", 0) == 1
    for _ in range(3):
        tws.build(make_subscriptions(spark, [("b", "x = 1")]), path, keep=0)
    assert pin_version(path, "stream", 0) == 1
    assert [version.version for version in tws.list_versions(path)] == [1, 4]
    assert pin_version(path, "stream", 1) == 4
    tws.build(make_subscriptions(spark, [("b", "x = 1")]), path, keep=0)
    assert [version.version for version in tws.list_versions(path)] == [4, 5]


def test_a_build_does_not_touch_one_that_is_alive(spark, tmp_path):
    path = tmp_path / "i"
    with open_staging(path) as alive:
        (alive / "work").touch()
        tws.build(make_subscriptions(spark, [("a", "x = 1")]), path)
        assert (alive / "work").exists()
    assert not alive.exists()
