"""Which subscriptions mention something: does what is compiled tell the same as the expressions? And do they travel?"""

import datetime as dt
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tellwhen as tw
from support import first_seeds
from tellwhen.index.maintenance.compaction import Compaction
from tellwhen.language.compute import names_in
from tellwhen.language.values import reduce
from tellwhen.testing.engine_checks import random_expression

RULES = {
    1: "city = 'Rome'", 2: "price * qty > 5 OR city = 'Oslo'", 3: "price > 5", 4: "price BETWEEN 5 AND 9",
    5: "NOT price IN (5.0, 7)", 6: "day = DATE '2026-01-31'", 7: "price = 5 AND FALSE", 8: "(price = 5 OR TRUE) AND a",
    9: "city CONTAINS 'Rom'", 10: "city LIKE 'Rom%'", 11: "city LIKE '%Rom'", 12: "items[price > 5]", 13: "q IS NULL",
    14: "price > 5 AND price > 3", 15: "tags HAS NONE ('Rome', 'it''s')", 16: "a = TRUE", 17: "lower(city) = 'rome'",
    18: "price > 5.5", 19: "city STARTS WITH 'Rome'", 20: "city ENDS WITH 'Rome'",
    21: "price = '5'", 22: "cost > 1e1", 24: "cost < 10.00",
}  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "constant", "wanted"),
    [
        ("price", ..., [2, 3, 4, 5, 7, 8, 14, 18, 21]), ("qty", ..., [2]),
        ("items", ..., [12]), ("items.price", ..., [12]),
        ("items.price", 5, [12]), ("items.qty", ..., []),
        ("q", ..., [13]),
        ("city", "Rome", [1, 19, 20]), (None, "Rome", [1, 15, 19, 20]), ("price", 5, [2, 3, 4, 5, 7, 8, 14]),
        (None, 5, [2, 3, 4, 5, 7, 8, 12, 14]), ("price", 3, [14]), (None, "it's", [15]), ("price", "5", [21]),
        (None, dt.date(2026, 1, 31), [6]), ("a", True, [8, 16]), ("nothing", ..., []), (None, 12345, []),
        ("city", "Rom", [9]), ("cost", 10, [22, 24]), ("city", "rome", [17]), ("price", 5.5, [18]), ("pri", ..., []),
    ],
)  # fmt: skip
def test_by_example(attribute, constant, wanted):
    index = tw.Index().add_many(RULES)
    asked = {} if constant is ... else {"constant": constant}
    assert index.inspect.find_mentions(attribute, **asked) == wanted


@pytest.mark.parametrize("seed", first_seeds(2, 8))
def test_as_the_expressions_say(seed):
    rng = random.Random(seed)
    index = tw.Index()
    for i in range(150):
        index.add(i, random_expression(rng, 3))
    index.remove_many(range(0, 150, 7))
    parsed = {id_: list(index[id_].predicates()) for id_ in index}
    names = {name for found in parsed.values() for one in found for name in names_in(one.attribute)}
    for name in names:
        wanted = [i for i, found in parsed.items() if any(name in names_in(one.attribute) for one in found)]
        assert index.inspect.find_mentions(name) == wanted
    constants = {
        (type(one.constants[0]), one.constants[0]): (one.attribute, one.constants[0])
        for found in parsed.values() for one in found if one.constants and reduce(one.constants[0]) is not None
    }  # fmt: skip
    for attribute, constant in constants.values():
        if attribute.startswith("\0"):
            continue
        wanted = [
            i for i, found in parsed.items()
            if any(attribute == one.attribute and reduce(constant) in map(reduce, one.constants) for one in found)
        ]  # fmt: skip
        found = index.inspect.find_mentions(attribute, constant=constant)
        assert set(wanted) <= set(found)
        assert all(attribute in names_in(one.attribute) for i in found for one in parsed[i] if len(parsed[i]) == 1)


def test_what_cannot_be_asked():
    index = tw.Index().add(1, "x = 1")
    for bad in ({}, {"attribute": 7}, {"constant": object()}, {"constant": None}):
        with pytest.raises(tw.ArgumentError):
            index.inspect.find_mentions(**bad)
    assert tw.Index(texts=False).add(1, "x = 1").inspect.find_mentions("x") == [1]
    with pytest.raises(tw.TellwhenError, match="keeps no texts"):
        tw.Index(texts=False).add(1, "x = 1").inspect.find_mentions("x", constant=1)


# to other programs, and back


def full():
    return tw.Index().add_many([
        ("a", "x > 1", 2.5, {"x": 0.5}, {"tenant": 7}), ("b", "y = 'it''s' OR x < 0"),
        ("gone", "x > 1"), ("c", "items[price > 5] AND lower(s) LIKE 'a%'", -1.0, None, {"deep": [1, {"a": None}]}),
    ]).remove("gone")  # fmt: skip


def told(index):
    return [index.get_subscription(id_) for id_ in index]


def test_to_a_table_and_back(tmp_path):
    index = full()
    table = index.to_arrow()
    assert table.column_names == ["id", "expression", "score", "weights", "payload"]
    assert told(tw.Index().add_many(table)) == told(index)
    index.to_parquet(tmp_path / "rules.parquet")
    assert told(tw.Index.from_parquet(tmp_path / "rules.parquet", "betree")) == told(index)
    assert told(tw.Index().add_many(pq.read_table(tmp_path / "rules.parquet").to_pandas())) == told(index)
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
    assert len(work.result.store.alive()) == 2


def test_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.index.exchange.ROWS_AT_ONCE", 64)
    index = tw.Index().add_many({i: f"x > {i}" for i in range(1_000)})
    index.to_parquet(tmp_path / "i.parquet")
    assert dict(tw.Index.from_parquet(tmp_path / "i.parquet").iter_texts()) == dict(index.iter_texts())
    assert index.to_arrow()["id"].to_pylist() == list(range(1_000))


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
    with pytest.raises(tw.ExpressionError, match="there is no id"):
        tw.Index.from_parquet(file)
    with pytest.raises(tw.IdError, match="some ids of this index are ints"):
        tw.Index().add_many({1: "x", "a": "x"}).to_arrow()


def test_a_table_that_fails_leaves_the_file(tmp_path, monkeypatch):
    file = tmp_path / "rules.parquet"
    full().to_parquet(file)
    before = file.read_bytes()
    index = tw.Index(texts=False).add("a", "x > 1")
    with pytest.raises(tw.TellwhenError, match="keeps no texts"):
        index.to_parquet(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rules.parquet"]


def test_two_become_one():
    one, other = full(), tw.Index("betree").add_many([(1, "z = 1", 4.0, {"z": 2.0}, {"t": 1}), ("a", "z = 2")])
    before = told(one)
    with pytest.raises(tw.DuplicateId):
        one.merge(other)
    assert told(one) == before
    assert told(one.merge(other, replace=True)) == [*before[1:], *told(other)]
    assert one.match_with_payloads({"z": 1}) == [(1, {"t": 1})]
    with pytest.raises(tw.DuplicateId):
        one.merge(one)
    assert len(one.merge(one, replace=True)) == 4
    with pytest.raises(tw.ArgumentError, match="merge takes an Index"):
        one.merge({"a": "x"})
