"""Subscriptions as tables and files of other programs, and back."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tellwhen as tw
from tellwhen.compile.scores import Scores
from tellwhen.index import exchange
from tellwhen.index.maintenance.compaction import Compaction


def full():
    return tw.Index().add_many([
        ("a", "x > 1", 2.5, {"x": 0.5}, {"tenant": 7}), ("b", "y = 'it''s' OR x < 0"),
        ("gone", "x > 1"), ("c", "items[price > 5] AND lower(s) LIKE 'a%'", -1.0, None, {"deep": [1, {"a": None}]}),
    ]).remove("gone")  # fmt: skip


def dump(index):
    return [index.get_subscription(id_) for id_ in index]


def test_to_a_table_and_back(tmp_path):
    index = full()
    table = index.to_arrow()
    assert table.column_names == ["id", "expression", "score", "weights", "payload"]
    assert dump(tw.Index().add_many(table)) == dump(index)
    index.to_parquet(tmp_path / "rules.parquet")
    assert dump(tw.Index.from_parquet(tmp_path / "rules.parquet", "betree")) == dump(index)
    assert dump(tw.Index().add_many(pq.read_table(tmp_path / "rules.parquet").to_pandas())) == dump(index)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.parquet"]
    for empty in (tw.Index(), tw.Index().add("a", "x").remove("a")):
        empty.to_parquet(tmp_path / "empty.parquet")
        assert len(tw.Index.from_parquet(tmp_path / "empty.parquet")) == 0


@pytest.mark.slow
def test_what_is_longer_than_a_user_may_write(tmp_path):
    index = tw.Index().add("a", tw.col("user").isin([f"user{n:08d}" for n in range(70_000)]))
    index.to_parquet(tmp_path / "long.parquet")
    for other in (tw.Index().merge(index), tw.Index.from_parquet(tmp_path / "long.parquet")):
        assert other.match({"user": "user00000077"}) == ["a"]
    work = Compaction(index.add("b", "x = 1").remove("b")._shard)
    index.add("c", index["a"])
    work.run()
    while not work.finish():
        work.run()
    assert len(work.result.store.find_alive()) == 2


def test_many_rows(tmp_path):
    index = tw.Index().add_many({i: f"x > {i}" for i in range(1_000)})
    state = index._contents.state
    exchange.write_parquet(state, tmp_path / "i.parquet", rows_per_table=64)
    assert dict(tw.Index.from_parquet(tmp_path / "i.parquet").iter_texts()) == dict(index.iter_texts())
    assert index.to_arrow()["id"].to_pylist() == list(range(1_000))
    tables = list(exchange.iter_tables(state, rows_per_table=64))
    assert len(tables) == 16
    assert pa.concat_tables(tables)["id"].to_pylist() == list(range(1_000))


def test_files_that_are_none(tmp_path):
    index = full()
    file = tmp_path / "rules.parquet"
    index.to_parquet(file)
    half = file.read_bytes()
    file.write_bytes(half[: len(half) // 2])
    with pytest.raises(tw.FormatError, match=r"rules\.parquet cannot be read as Parquet"):
        tw.Index.from_parquet(file)
    with pytest.raises(tw.FormatError, match="there is no file"):
        tw.Index.from_parquet(tmp_path / "nothing.parquet")
    for bad in (tmp_path / "nothing" / "rules.parquet", "", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(tw.FormatError, match="cannot be written"):
            index.to_parquet(bad)
    index.to_parquet(tmp_path / ("y" * 250))
    pq.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(tw.ExpressionError, match="lacks the column 'id'; its columns are: a"):
        tw.Index.from_parquet(file)
    with pytest.raises(tw.IdError, match="some ids of this index are ints"):
        tw.Index().add_many({1: "x", "a": "x"}).to_arrow()


def test_a_table_that_fails_leaves_the_file(tmp_path, monkeypatch):
    file = tmp_path / "rules.parquet"
    full().to_parquet(file)
    before = file.read_bytes()
    index = tw.Index(texts=False).add("a", "x > 1")
    with pytest.raises(tw.MissingTextsError, match="stores no texts"):
        index.to_parquet(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rules.parquet"]


def test_two_become_one():
    one, other = full(), tw.Index("betree").add_many([(1, "z = 1", 4.0, {"z": 2.0}, {"t": 1}), ("a", "z = 2")])
    before = dump(one)
    with pytest.raises(tw.DuplicateId):
        one.merge(other)
    assert dump(one) == before
    assert dump(one.merge(other, replace=True)) == [
        dump(other)[1],
        *before[1:],
        dump(other)[0],
    ]
    assert one.match_with_payloads({"z": 1}) == [(1, {"t": 1})]
    with pytest.raises(tw.DuplicateId):
        one.merge(one)
    assert len(one.merge(one, replace=True)) == 4
    with pytest.raises(tw.ArgumentError, match="merge takes an Index"):
        one.merge({"a": "x"})


def refuse_parsing(*_):
    raise AssertionError("a text is parsed")


def test_merge_copies_compiled_subscriptions(monkeypatch, engine):
    one = tw.Index(engine).add_many({"a": "x = 'm'", "b": "y > 2.5 AND x < 'n'", "c": "z"})
    other = tw.Index().add_many([(1, "x = 'k' OR w = 1", 3.0), ("b", "NOT x STARTS WITH 'm'"), (2, "ITEMS[p > 1]")])
    monkeypatch.setattr("tellwhen.index.shard.parse_subscription", refuse_parsing)
    one.merge(other.remove(2), replace=True)
    for event, ids in (({"x": "m", "y": 3}, ["a"]), ({"x": "k", "z": True}, ["c", 1, "b"]), ({"w": 1}, [1])):
        assert one.match(event) == ids
    assert list(one) == ["a", "b", "c", 1]
    assert one.top_k({"w": 1}, 2) == [(1, 3.0)]
    assert one.merge(tw.Index()).match({"x": "m"}) == ["a"]


def test_merge_compiles_again_for_another_schema():
    other = tw.Index().add("a", "x > 1 AND y = 'b'")
    one = tw.Index(schema={"x": "float"}).merge(other)
    assert one.inspect.get_types()["x"] == "float"
    assert one.match({"x": 1.5, "y": "b"}) == ["a"]
    strict = tw.Index(schema={"y": "int"}).add("b", "x > 0")
    with pytest.raises(tw.SchemaError, match="'a'.*y is declared int"):
        strict.merge(other)
    assert strict.match({"x": 2, "y": "b"}) == ["b"]


def test_merge_copies_scores_of_one_moment(monkeypatch):
    other = tw.Index().add_many(dict.fromkeys(range(4), "x = 1"))
    get_scores, calls = Scores.get_scores, []

    def change_meanwhile(self, slots):
        calls.append(1)
        halves = np.array_split(slots, 2)
        first = get_scores(self, halves[0])
        if len(calls) == 1:
            other.set_scores(dict.fromkeys(range(4), 7.0))
        return np.concatenate([first, get_scores(self, halves[1])])

    one = tw.Index()
    with monkeypatch.context() as patch:
        patch.setattr(Scores, "get_scores", change_meanwhile)
        one.merge(other)
    assert one.top_k({"x": 1}, 9) == [(i, 7.0) for i in range(4)]


@pytest.mark.parametrize("name", ["file://localhost{}/a.pq", "FILE://LOCALHOST{}/a.pq", "file:{}/a.pq", "{}/q?1.pq"])
def test_files_are_read_under_the_names_that_they_are_written_with(tmp_path, name):
    path = name.format(tmp_path)
    full().to_parquet(path)
    assert dump(tw.Index.from_parquet(path)) == dump(full())
    assert len(list(tmp_path.iterdir())) == 1


def test_a_relative_path_with_a_colon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:").mkdir()
    full().to_parquet("a:/b.pq")
    assert dump(tw.Index.from_parquet("a:/b.pq")) == dump(full())
    full().save("./s3a:/x")
    assert dump(tw.Index.load("./s3a:/x")) == dump(full())
    for write in (full().save, full().to_parquet, tw.Index.load, tw.read_note):
        with pytest.raises(tw.FormatError, match="NUL character"):
            write("a\0b")


def test_merge_without_texts():
    other = tw.Index(texts=False).add("a", "x > 1")
    assert tw.Index(texts=False).merge(other).match({"x": 2}) == ["a"]
    one = tw.Index().add("b", "x > 0")
    with pytest.raises(tw.MissingTextsError, match="stores no texts"):
        one.merge(other)
    assert one.match({"x": 2}) == ["b"]
    assert tw.Index(texts=False).merge(one).match({"x": 2}) == ["b"]
