"""Subscriptions that are copied between stores mean the same in both."""

import random

import numpy as np
import pytest

from tellwhen.compile import dictionary
from tellwhen.compile.store import Store
from tellwhen.encode.events import EventEncoder
from tellwhen.engines.scan import Scan
from tellwhen.language import parse
from tellwhen.language.schema import Schema
from tellwhen.testing.engine_checks import random_event, random_expression

pytestmark = pytest.mark.late


def make_store(expressions):
    store = Store()
    store.append(store.compile(parse(expression) for expression in expressions))
    return store


def match(store, event):
    engine = Scan(store)
    engine.insert(store.find_alive())
    encoder = EventEncoder(store.attributes, Schema())
    encoder.add(event)
    return sorted(engine.reader().match(encoder.finish()).slot.tolist())


def adopt(target, source, slots):
    return target.adopt_from(source.snapshot(), np.array(slots, dtype=np.int32), source.attributes)


def test_copied_subscriptions_match_the_same_events():
    source = make_store(["x = 'b'", "x < 'a' OR y > 3", "z[p > 1]", "lower(x) = 'q'", "x CONTAINS 'mm'", "x = TRUE"])
    target = make_store(["x = 'a'", "w = 1"])
    slots, moves = adopt(target, source, range(6))
    assert (slots.tolist(), moves) == ([2, 3, 4, 5, 6, 7], [])
    assert match(target, {"x": "b"}) == [2]
    assert match(target, {"x": "A", "w": 1}) == [1, 3]
    assert match(target, {"x": "Q", "y": 4}) == [3, 5]
    assert match(target, {"z": [{"p": 1}, {"p": 2}]}) == [4]
    assert match(target, {"x": "comma"}) == [6]
    assert match(target, {"x": True}) == [7]


def test_only_constants_and_domains_in_use_are_copied():
    source = make_store(["x = 'b'", "x = 'c'", "y = 1"])
    target = make_store(["x = 'a'"])
    adopt(target, source, [1])
    assert target.attributes.get_dictionary(0).keys == ["a", "c"]
    assert list(target.attributes.by_name) == ["x"]


def test_a_gap_that_is_too_small_moves_labels(monkeypatch):
    monkeypatch.setattr(dictionary, "STRIDE", 64)
    target = make_store(["x = 'a'", "x = 'b'", "x < 'b'"])
    source = make_store([f"x = 'a{i:03}'" for i in range(100)])
    _, moves = adopt(target, source, range(100))
    assert [domain for domain, _ in moves] == [0]
    assert target.relabellings == 1
    assert match(target, {"x": "a"}) == [0, 2]
    assert match(target, {"x": "b"}) == [1]
    assert match(target, {"x": "a042"}) == [2, 3 + 42]


@pytest.mark.parametrize("seed", range(20))
def test_random_subscriptions_are_copied_as_they_are(seed):
    rng = random.Random(seed)
    expressions = [random_expression(rng) for _ in range(40)]
    source, target = make_store([]), make_store([])
    for store, some in ((target, expressions[:10]), (source, expressions[10:])):
        for expression in some:
            store.append(store.compile([parse(expression) if isinstance(expression, str) else expression]))
    copied = sorted(rng.sample(range(30), 15))
    adopt(target, source, copied)
    kept = expressions[:10] + [expressions[10 + slot] for slot in copied]
    kept = [parse(expression) if isinstance(expression, str) else expression for expression in kept]
    for _ in range(50):
        event = random_event(rng)
        assert match(target, event) == [slot for slot, one in enumerate(kept) if one.evaluate(event)]


def test_a_change_that_is_undone_leaves_no_larger_table():
    store = make_store([f"x = {i}" for i in range(20)])
    bytes_before = {name: array.nbytes for name, array in store.arrays().items()}
    mark = store.mark()
    store.append(store.compile(parse(f"y = {i}") for i in range(500)))
    store.rewind(mark)
    assert {name: array.nbytes for name, array in store.arrays().items()} == bytes_before
    store.append(store.compile(parse(f"z = {i}") for i in range(500)))
    assert match(store, {"x": 7, "z": 400}) == [7, 420]
