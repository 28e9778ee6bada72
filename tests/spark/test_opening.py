"""Can an index that Spark has built be opened without Spark, whole or one shard of it?"""

import random
import subprocess
import sys

import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.testing.engine_checks import random_expression

pytestmark = pytest.mark.spark

TEXTS = {i: str(random_expression(random.Random(i), depth=2)) for i in range(120)}
VALUES = ["", "a", "ab", "abc", "b", 0, 1, 2.5, True]
NAMES = ["a", "b", "c.d", "e f", "ünï", "sold"]
DRAW = random.Random(4)
EVENTS = [{name: DRAW.choice(VALUES) for name in NAMES if DRAW.random() < 0.6} for _ in range(60)]


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    """Three shards, one of which an update has changed."""
    path = tmp_path_factory.mktemp("opening") / "index"
    old = {**TEXTS, 7: "never = 'in the index'", 1000: "TRUE"}
    tws.build(spark.createDataFrame(list(old.items()), "id int, expression string"), path, shards=3, engine="counting")
    changes = [("add", 7, TEXTS[7]), ("remove", 1000, None)]
    tws.update(spark.createDataFrame(changes, "operation string, id int, expression string"), path)
    return path


def test_a_whole_version(path):
    expected = tw.Index().add_many(TEXTS)
    for verify in (True, False):
        index = tw.Index.load(path, verify=verify)
        assert len(index) == len(TEXTS)
        assert all(sorted(index.match(event)) == expected.match(event) for event in EVENTS)
    assert {id_: str(index[id_]) for id_ in index} == {id_: str(expected[id_]) for id_ in expected}
    assert repr(index) == "<Index of 120 subscriptions, engine counting>"


def test_it_is_an_index_of_its_own(path, tmp_path):
    """It changes and is saved like any other, and the one on disk stays as it is."""
    index = tw.Index.load(path)
    index.add("new", "a = 'brand new' AND x STARTS WITH 'b'").remove(7).add(8, "a IS NOT NULL", replace=True)
    for _ in range(2):
        assert "new" in index.match({"a": "brand new", "x": "bb"})
        assert 7 not in index
        assert 8 in index.match({"a": 1})
        index.save(tmp_path / "saved")
        index = tw.Index.load(tmp_path / "saved")
    assert "new" not in tw.Index.load(path)
    with pytest.raises(tw.FormatError, match="not a saved index"):
        index.save(path)


def test_each_shard(path):
    expected = tw.Index().add_many(TEXTS)
    shards = [tw.Index.load(path / shard.name) for shard in tws.list_versions(path)[-1].shards]
    assert sum(map(len, shards)) == len(TEXTS)
    for event in EVENTS:
        assert sorted(id_ for shard in shards for id_ in shard.match(event)) == expected.match(event)
    shards[0].add(-1, "a = 'yet another'")
    assert -1 in shards[0].match({"a": "yet another"})


def test_what_is_not_there(path, tmp_path):
    with pytest.raises(tw.FormatError, match="there is no index"):
        tw.Index.load(tmp_path)
    with pytest.raises(tw.FormatError, match="manifest.json is missing"):
        tw.Index.load(path / "versions")
    name = tws.list_versions(path)[-1].shards[0].name
    (tmp_path / name).symlink_to(path / name)
    with pytest.raises(tw.FormatError, match="no version in .* has the shard"):
        tw.Index.load(tmp_path / name)


def test_without_spark(path):
    code = f"""if True:
        import sys
        sys.modules["pyspark"] = None
        import tellwhen as tw
        print(len(tw.Index.load({str(path)!r})))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{len(TEXTS)}\n", done.stderr


def test_no_name_hides_a_module():
    import pkgutil
    from types import ModuleType

    modules = {module.name for module in pkgutil.iter_modules(tws.__path__)}
    assert not modules & set(tws.__all__)
    assert all(isinstance(getattr(tws, name), ModuleType) for name in modules)
