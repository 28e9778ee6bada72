"""Do engines read from a profile how often domains are carried and predicates satisfied, as the index changes?"""

import datetime as dt
import random

import numpy as np
import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen.compile.store import Store
from tellwhen.containers.batches import EncodedSample
from tellwhen.encode.events import encode
from tellwhen.engines.shared import selectivity
from tellwhen.language.schema import Schema
from tellwhen.profile import Profile, TypicalEvents
from tellwhen.profile import typical as module


def make_store(*texts, schema=None):
    store = Store(Schema(schema or {}))
    add(store, *texts)
    return store


def add(store, *texts):
    return store.append(store.compile([tw.parse(text) for text in texts]))


def profile_store(events, *texts, schema=None):
    store = make_store(*texts, schema=schema)
    profile = events if isinstance(events, Profile) else Profile.from_events(events)
    store.set_typical(TypicalEvents(profile, store))
    return store


def all_predicates(store):
    return store.snapshot().subscriptions.code


def frequency(store):
    """By domain: its attribute and kind, and the share of events that carry it."""
    found = selectivity.estimate_frequencies(store, all_predicates(store)).tolist()
    return {tuple(domain): share for domain, share in zip(store.attributes.domains, found, strict=True)}


def list_satisfying_shares(store):
    """By subscription of one predicate: the share of events that satisfy it."""
    snapshot = store.snapshot()
    found = selectivity.sum_satisfying_shares(snapshot.predicates, store.typical().marginals(snapshot.domains))
    return (found[snapshot.subscriptions.code] / selectivity.UNIT).tolist()


def find_first(store, *texts):
    """Of each conjunction: the predicate that is tested first."""
    subscriptions = store.snapshot().subscriptions
    rank = selectivity.rank_predicates(store, subscriptions.code)
    at = selectivity.find_least(rank[subscriptions.code].astype(np.int64), subscriptions.start)
    return [text.split(" AND ")[i - start] for text, i, start in zip(texts, at, subscriptions.start, strict=False)]


# what is known


def test_without_a_profile_it_is_guessed_from_the_subscriptions():
    texts = ["a = 1 AND b < 5", "a = 2 AND b < 7", "a = 3 AND c = 1"]
    store = make_store(*texts)
    assert not store.typical().has_sample
    assert frequency(store) == {("a", "int"): 3 / 6, ("b", "int"): 2 / 6, ("c", "int"): 1 / 6}
    assert find_first(store, *texts) == ["a = 1", "a = 2", "c = 1"]
    empty = profile_store(Profile.from_subscriptions([tw.parse("a = 1")]), *texts)  # a profile without events
    assert not empty.typical().has_sample
    assert frequency(empty) == frequency(store)


def test_the_choice_follows_the_profile():
    texts = ["a = 1 AND b = 1", "a > 5 AND b = 2"]
    assert find_first(profile_store([{"a": 1, "b": k} for k in range(9)], *texts), *texts) == [
        "b = 1",
        "a > 5",
    ]
    assert find_first(profile_store([{"a": k, "b": 1} for k in range(9)], *texts), *texts) == [
        "a = 1",
        "b = 2",
    ]


def test_a_rare_attribute_that_no_sampled_event_carries_is_known_to_be_rare():
    events = [{"id": k, "common": k % 3} for k in range(20_000)]
    for k in range(4):
        events[k * 5_000] |= {"rare": 1}
    profile = Profile.from_events(events)
    assert not any("rare" in event for event, _ in profile.sample())
    store = profile_store(profile, "rare = 1 AND common = 7", "never = 1 AND rare = 1")
    assert frequency(store) == {("rare", "int"): 4 / 20_000, ("common", "int"): 1.0, ("never", "int"): 0.0}
    store = profile_store(profile, "rare = 1", "common = 1", "never = 1")
    assert list_satisfying_shares(store) == pytest.approx([4 / 20_000, 1 / 3, 0], abs=1e-4)


def test_every_kind_of_domain():
    day = dt.date(2024, 1, 2)
    events = [
        {"n": 1, "s": "abc", "b": True, "t": day},
        {"n": 2.5, "s": "abd", "b": False},
        {"n": [1, 3], "s": "xbc"},
        {"n": "text", "t": dt.datetime(2025, 1, 1)},
        {},
    ]
    texts = [
        "n = 1", "n < 2.75", "s = 'abc'", "s STARTS WITH 'ab'", "s ENDS WITH 'bc'", "s CONTAINS 'b'", "s MATCHES '^x'",
        "b = TRUE", "t < DATE '2025-01-01'", "n IS NULL", "t IS NOT NULL", "zzz IS NULL",
    ]  # fmt: skip
    store = profile_store(events, *texts)
    # A list counts each of its values.
    assert list_satisfying_shares(store) == pytest.approx([0.4, 0.6, 0.2, 0.4, 0.4, 0.6, 0.2, 0.2, 0.2, 0.2, 0.4, 1.0])
    found = frequency(store)
    assert found.pop(("s", "pattern")) == pytest.approx(0.2)  # the last of two
    assert found == pytest.approx({
        ("n", "int"): 0.8, ("n", "float"): 0.8, ("s", "string"): 0.6, ("s", "reversed"): 0.6, ("b", "bool"): 0.4,
        ("t", "time"): 0.4, ("n", "presence"): 1.0, ("t", "presence"): 1.0, ("zzz", "presence"): 1.0,
    })  # fmt: skip


def test_text_in_maps_is_read_as_what_it_is_compared_with():
    maps = pa.array([[("n", str(k)), ("t", "2024-01-02")] for k in range(10)], pa.map_(pa.string(), pa.string()))
    texts = ["n < 3", "t = DATE '2024-01-02'", "n = '7'"]
    store = profile_store(Profile.from_events(pa.table({"m": maps})), *texts)
    assert list_satisfying_shares(store) == pytest.approx([0.3, 1.0, 0.1])
    assert frequency(store) == pytest.approx({("n", "int"): 1.0, ("t", "time"): 1.0, ("n", "string"): 1.0})
    assert len(store.typical().events.domain) == 30
    assert store.typical().events.single_valued.all()


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_the_oracle(seed):
    draw = random.Random(seed)
    words = ["ab", "abc", "b", "ba", "c"]

    def value():
        return draw.choice([draw.randrange(6), draw.randrange(12) / 2, draw.choice(words), True, None])

    events = [{name: value() for name in "xyz"} for _ in range(60)]
    texts = [
        draw.choice([
            f"{draw.choice('xyz')} {draw.choice(['=', '<', '>=', '<>'])} {draw.randrange(12) / 2}",
            f"{draw.choice('xyz')} {draw.choice(['=', '<', '>=', '<>'])} '{draw.choice(words)}'",
            f"{draw.choice('xyz')} IN (1, 3, 5)",
            f"{draw.choice('xyz')} BETWEEN 'a' AND 'b'",
            f"{draw.choice('xyz')} LIKE '%b%'",
            f"{draw.choice('xyz')} IS NULL",
        ])
        for _ in range(30)
    ]  # fmt: skip
    exact = [sum(tw.parse(text).evaluate(event) is True for event in events) / 60 for text in texts]
    store = profile_store(events, *texts)
    assert list_satisfying_shares(store) == pytest.approx(exact)
    # The same from a sample alone, as an engine over a bare store may be given.
    store.set_typical(EncodedSample(encode(events, store.attributes, store.schema)[0]))
    assert list_satisfying_shares(store) == pytest.approx(exact)


def test_a_sample_alone_has_carried_domains_once():
    store = make_store("a = 1", "b = 1")
    events = encode([{"a": [1, 2, 3]}, {"a": 1, "b": 1}], store.attributes, store.schema)[0]
    store.set_typical(EncodedSample(events, np.array([3.0, 1.0])))
    assert frequency(store) == {("a", "int"): 1.0, ("b", "int"): 0.25}
    add(store, "c = 1")
    assert frequency(store) == {("a", "int"): 1.0, ("b", "int"): 0.25, ("c", "int"): 0.0}


def test_equals_are_told_apart_by_the_operator():
    # 0.1 + 0.2 in another order would be another number.
    events = [{"a": k % 10, "b": k % 10} for k in range(70)]
    texts = ["a > 6 AND b IN (1, 2, 5)", "b IN (0, 8, 9) AND a < 3", "a <= 0 AND b = 0 AND a IN (1, 77)"]
    assert find_first(profile_store(events, *texts), *texts) == [
        "b IN (1, 2, 5)",
        "b IN (0, 8, 9)",
        "b = 0",
    ]


def test_a_declared_time_is_read_from_text():
    store = profile_store([{"day": "2024-01-02"}] * 3, "day = DATE '2024-01-02'", schema={"day": "date"})
    assert list_satisfying_shares(store) == [1.0]
    assert len(store.typical().events.domain) == 1
    assert store.typical().weight.tolist() == [3.0]


# as the index changes


def test_new_domains_are_known_at_once():
    store = profile_store([{"a": k, "b": "x"} for k in range(4)], "a = 1")
    assert list_satisfying_shares(store) == [0.25]
    add(store, "b = 'x'")
    assert list_satisfying_shares(store) == [0.25, 1.0]
    add(store, "a = '1'")
    assert list_satisfying_shares(store) == [0.25, 1.0, 0.0]
    assert frequency(store) == {("a", "int"): 1.0, ("b", "string"): 1.0, ("a", "string"): 0.0}


def test_only_attributes_with_new_domains_are_encoded_again(monkeypatch):
    encoded = []
    whole = module.find_points
    monkeypatch.setattr(module, "find_points", lambda a, value: encoded.append(a.name) or whole(a, value))
    store = profile_store([{"a": 1, "b": 2, "c": "x"}], "a = 1", "b = 1", "c = 'x'")
    frequency(store)
    assert sorted(encoded) == ["a", "b", "c"]
    frequency(store)
    add(store, "b = 'x'")
    frequency(store)
    assert sorted(encoded) == ["a", "b", "b", "c"]
    add(store, *(f"a = {k}" for k in range(10, 20)))  # the predicates have doubled
    frequency(store)
    assert sorted(encoded) == ["a", "a", "b", "b", "b", "c", "c"]


def test_labels_that_move():
    texts = [f"name = 'k{k}'" for k in range(5)] + ["other = 'x'"] + [f"name > 'z{k}'" for k in range(500)]
    store = profile_store([{"name": f"k{k % 3}", "other": "x"} for k in range(30)], *texts)
    expected = pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0, 1])
    assert list_satisfying_shares(store)[:6] == expected
    before = store.typical().events.low.copy()
    moved, k = False, 0
    while not moved:  # between the same two, until there is no room
        k += 1
        _, moved = add(store, f"name = 'k1{'a' * k}'")
    assert k < 500
    assert list_satisfying_shares(store)[:6] == expected
    events = store.typical().events
    assert len(events.low) == len(before)
    labels = store.attributes.by_name["name"].string.labels
    assert {labels[f"k{k}"] for k in range(3)} <= set(events.low.tolist())
    assert not {labels[f"k{k}"] for k in range(3)} <= set(before.tolist())


def test_the_sample_is_encoded_again_when_the_predicates_have_doubled():
    store = profile_store([{"a": k, "b": k} for k in range(5)], "a = 1", "a = 2")
    assert len(store.typical().events.domain) == 5
    add(store, "b = 1")
    assert len(store.typical().events.domain) == 5
    add(store, "b = 2", "b = 3")
    assert len(store.typical().events.domain) == 10
    assert store.typical().weight.tolist() == [1.0] * 5


def test_families_are_counted_exactly():
    profile = Profile.from_events(pa.table({"a": range(80_000)})) | Profile.from_events(
        [{"a": f"x{k}"} for k in range(5)]
    )
    store = profile_store(profile, "a = 1", "a = 'x'")
    assert not any(isinstance(value, str) for value, _ in profile.weights("a"))  # the sample has none of them
    assert frequency(store) == pytest.approx({("a", "int"): 80_000 / 80_005, ("a", "string"): 5 / 80_005}, rel=1e-9)


def test_an_event_with_several_values_carries_a_domain_once():
    store = profile_store([{"a": [1, 2, 3]}, {"b": 1}], "a = 1", "b = 1")
    assert frequency(store) == {("a", "int"): 0.5, ("b", "int"): 0.5}


def test_families_of_one_attribute_are_counted_apart():
    store = profile_store([{"a": 1}, {"a": "x"}, {"a": "x"}, {"b": 1}], "a = 1", "a = 'x'")
    assert frequency(store) == {("a", "int"): 0.25, ("a", "string"): 0.5}
