"""The type of the id column follows the ids in the index."""

import random

import pyarrow as pa
import pytest

import tellwhen as tw
from support import limit_index
from tellwhen.index.limits import CompactionLimits

MIXED = pa.sparse_union([pa.field("int", pa.int64()), pa.field("str", pa.large_string())])


TYPES = {"int": pa.int64(), "str": pa.large_string(), "mixed": MIXED}


def id_type(index):
    return index.match_many([{"x": 1}]).schema.field("subscription_id").type


@pytest.fixture
def mixed():
    return tw.Index().add("a", "x = 1").add(2, "x = 1")


def test_removed_ids_do_not_count(mixed):
    assert id_type(mixed) == MIXED
    mixed.remove("a")
    assert id_type(mixed) == pa.int64()
    assert mixed.match_many([{"x": 1}]).column("subscription_id").to_pylist() == [2]
    mixed.add("b", "x = 2").remove(2)
    assert id_type(mixed) == pa.large_string()


def test_replaced_subscriptions_count_once(mixed):
    mixed.add_many({"a": "x = 2", 2: "x = 3"}, replace=True)
    assert id_type(mixed) == MIXED
    mixed.remove("a").add_many([(2, "x = 1"), (2, "x = 4")], replace=True)
    assert id_type(mixed) == pa.int64()


def test_a_change_taken_back_does_not_count(mixed):
    mixed.remove("a")
    with pytest.raises(tw.ParseError):
        mixed.add_many([("b", "x = 1"), ("c", "x =")])
    assert id_type(mixed) == pa.int64()
    with pytest.raises(tw.UnknownId):
        mixed.remove_many([2, "a"])
    assert id_type(mixed) == pa.int64()


def test_a_loaded_index_knows_what_was_removed(mixed, tmp_path):
    mixed.remove("a").save(tmp_path / "idx")
    loaded = tw.Index.load(tmp_path / "idx")
    assert id_type(loaded) == pa.int64()
    assert id_type(loaded.add("a", "x = 1")) == MIXED


def test_an_empty_index_keeps_the_type_it_had(mixed):
    mixed.remove("a").remove(2)
    assert id_type(mixed) == MIXED
    assert id_type(tw.Index().add(1, "x = 1").remove(1)) == pa.int64()
    assert id_type(tw.Index()) == pa.large_string()


def test_any_sequence_of_changes():
    rng = random.Random(7)
    index = limit_index(compaction=CompactionLimits(removed_slots_min=10))()
    for _ in range(300):
        known = list(index)
        if known and rng.random() < 0.5:
            index.remove_many(rng.sample(known, min(len(known), rng.randint(1, 3))))
        else:
            ids = [rng.choice([rng.randint(0, 5), str(rng.randint(0, 5))]) for _ in range(rng.randint(1, 3))]
            index.add_many([(id_, "x = 1") for id_ in ids], replace=True)
        kinds = {type(id_).__name__ for id_ in index}
        if kinds:
            assert id_type(index) == TYPES["mixed" if len(kinds) == 2 else kinds.pop()]


def test_ids_are_those_of_the_slots_also_after_a_change_was_taken_back():
    index = tw.Index().add("a", "x = 1")
    assert index.match({"x": 1}) == ["a"]
    with pytest.raises(tw.ParseError):
        index.add_many([*((f"b{i}", "x = 1") for i in range(2_000)), ("c", "x =")])
    index.add_many([("d", "x = 1"), ("e", "x = 1")])
    assert index.match({"x": 1}) == ["a", "d", "e"]
    assert index.match({"x": 1}) == ["a", "d", "e"]  # now as they were kept
    index.add_many((f"f{i}", "x = 1") for i in range(100)).remove("d")
    assert index.match({"x": 1}) == ["a", "e", *(f"f{i}" for i in range(100))]
    index.add(7, "x = 1")
    assert index.match({"x": 1})[-2:] == ["f99", 7]
