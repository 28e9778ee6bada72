"""Which listeners get which matches, and what slow ones lose."""

import asyncio
import random

import pytest

import tellwhen as tw
from tellwhen.service.listeners import Listener, ListenerRegistry, group_by_subscriber

PAYLOADS = {"a": {"subscriber": "ann"}, "b": {"subscriber": "bob"}, 7: {"subscriber": 7}, "n": {}}


def receive_matches(listener):
    """What waits for a listener now."""
    return [message.matches for message in asyncio.run(asyncio.wait_for(listener.receive(), 1))]


def is_silent(listener):
    return not listener._waiting


def deliver(registry, ids, event=None):
    named = [PAYLOADS[id_].get("subscriber") for id_ in ids]
    whose = group_by_subscriber(ids, named) if registry.needs_subscribers else {}
    event = event or {"x": 1}
    registry.deliver(event, ids, whose, registry.match_filters(event))


def test_everybody_who_asked_for_it_hears_it():
    registry = ListenerRegistry()
    everything, ann, seven = Listener(), Listener("ann"), Listener("7")
    ids, both = Listener(ids=["a", "n"]), Listener("ann", ids=["b"])
    for one in (everything, ann, seven, ids, both):
        registry.add(one)
    deliver(registry, ["a", "b", 7, "n"])
    assert receive_matches(everything) == [["a", "b", 7, "n"]]
    assert receive_matches(ann) == [["a"]]
    assert receive_matches(seven) == [[7]]
    assert receive_matches(ids) == [["a", "n"]]
    assert is_silent(both)
    deliver(registry, ["b"])
    assert receive_matches(everything) == [["b"]]
    assert all(is_silent(one) for one in (ann, seven, ids, both))
    assert (registry.sent_messages, registry.lost_messages) == (5, 0)


def test_filters_are_expressions():
    registry = ListenerRegistry()
    cheap, both = Listener(), Listener("ann")
    registry.add(cheap, "price < 20")
    registry.add(both, "price < 20 AND genre = 'classics'")
    deliver(registry, ["a", "b"], {"price": 12})
    deliver(registry, ["a", "b"], {"price": 12, "genre": "classics"})
    deliver(registry, ["a", "b"], {"price": 90, "genre": "classics"})
    assert receive_matches(cheap) == [["a", "b"], ["a", "b"]]
    assert receive_matches(both) == [["a"]]
    with pytest.raises(tw.ParseError):
        registry.add(Listener(), "price <")
    assert len(registry) == 2


def test_filters_are_read_by_the_schema_of_the_tenant():
    registry, late = ListenerRegistry(tw.Schema({"at": "timestamp"})), Listener()
    registry.add(late, "at > TIMESTAMP '2026-01-01 00:00:00'")
    deliver(registry, ["a"], {"at": "2026-02-02T00:00:00Z"})
    deliver(registry, ["a"], {"at": "2025-02-02T00:00:00Z"})
    assert receive_matches(late) == [["a"]]
    with pytest.raises(tw.SchemaError):
        registry.add(Listener(), "at > '2026-01-01'")


def test_whose_subscriptions_they_are_matters_only_while_somebody_asks():
    registry = ListenerRegistry()
    leave = [registry.add(Listener("ann")), registry.add(Listener("ann"), "x = 1")]
    for one in leave:
        assert registry.needs_subscribers
        one()
        one()
    assert not registry.needs_subscribers


def test_who_left_while_filters_were_tried_hears_nothing():
    registry, listener = ListenerRegistry(), Listener()
    leave = registry.add(listener, "x = 1")
    registry.add(Listener())
    satisfied = registry.match_filters({"x": 1})
    leave()
    registry.deliver({"x": 1}, ["a"], {}, satisfied)
    assert is_silent(listener)


def test_who_has_left_hears_nothing():
    rng = random.Random(1)
    registry, leaving = ListenerRegistry(), []
    for number in range(200):
        listener = Listener(rng.choice([None, "ann", "bob"]), rng.choice([(), ["a"], ["a", 7]]))
        leaving.append((listener, registry.add(listener, rng.choice([None, "x = 1", f"y = {number}"]))))
    assert len(registry) == 200
    rng.shuffle(leaving)
    for listener, leave in leaving:
        leave()
        leave()  # once is enough
        listener._waiting.clear()
        deliver(registry, ["a", "b", 7])
        assert is_silent(listener)
    assert len(registry) == 0
    assert not any(
        [registry._by_id, registry._by_subscriber, registry._unconditional, registry._by_filter, registry._filters]
    )


def test_a_slow_reader_loses_the_oldest_and_is_told():
    registry, slow = ListenerRegistry(), Listener(waiting_max=3)
    registry.add(slow)
    for number in range(10):
        deliver(registry, ["a"], {"n": number})
    assert (registry.lost_messages, slow.unreported_losses) == (7, 7)
    found = asyncio.run(slow.receive())
    assert [message.event["n"] for message in found] == [7, 8, 9]


def test_a_message_is_written_once_for_all():
    registry = ListenerRegistry()
    listeners = [Listener() for _ in range(3)]
    for one in listeners:
        registry.add(one)
    deliver(registry, ["a"])
    assert len({id(one._waiting[0]) for one in listeners}) == 1
