"""Who hears of which matches, and what happens to those who read slowly?"""

import asyncio
import random

import pytest

import tellwhen as tw
from tellwhen.service.event_streams import EventStream
from tellwhen.service.listeners import Listener, ListenerRegistry, group_by_subscriber

PAYLOADS = {"a": {"subscriber": "ann"}, "b": {"subscriber": "bob"}, 7: {"subscriber": 7}, "n": {}}


def heard(listener):
    """What waits for a listener now."""
    return [message.matches for message in asyncio.run(asyncio.wait_for(listener.receive(), 1))]


def is_silent(listener):
    return not listener._waiting


def told(registry, ids, event=None):
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
    told(registry, ["a", "b", 7, "n"])
    assert heard(everything) == [["a", "b", 7, "n"]]
    assert heard(ann) == [["a"]]
    assert heard(seven) == [[7]]
    assert heard(ids) == [["a", "n"]]
    assert is_silent(both)
    told(registry, ["b"])
    assert heard(everything) == [["b"]]
    assert all(is_silent(one) for one in (ann, seven, ids, both))
    assert (registry.sent_messages, registry.lost_messages) == (5, 0)


def test_filters_are_expressions():
    registry = ListenerRegistry()
    cheap, both = Listener(), Listener("ann")
    registry.add(cheap, "price < 20")
    registry.add(both, "price < 20 AND genre = 'classics'")
    told(registry, ["a", "b"], {"price": 12})
    told(registry, ["a", "b"], {"price": 12, "genre": "classics"})
    told(registry, ["a", "b"], {"price": 90, "genre": "classics"})
    assert heard(cheap) == [["a", "b"], ["a", "b"]]
    assert heard(both) == [["a"]]
    with pytest.raises(tw.ParseError):
        registry.add(Listener(), "price <")
    assert len(registry) == 2


def test_filters_are_read_by_the_schema_of_the_tenant():
    registry, late = ListenerRegistry(tw.Schema({"at": "timestamp"})), Listener()
    registry.add(late, "at > TIMESTAMP '2026-01-01 00:00:00'")
    told(registry, ["a"], {"at": "2026-02-02T00:00:00Z"})
    told(registry, ["a"], {"at": "2025-02-02T00:00:00Z"})
    assert heard(late) == [["a"]]
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
        told(registry, ["a", "b", 7])
        assert is_silent(listener)
    assert len(registry) == 0
    assert not any(
        [registry._by_id, registry._by_subscriber, registry._unconditional, registry._by_filter, registry._filters]
    )


def test_a_slow_reader_loses_the_oldest_and_is_told():
    registry, slow = ListenerRegistry(), Listener(waiting_max=3)
    registry.add(slow)
    for number in range(10):
        told(registry, ["a"], {"n": number})
    assert (registry.lost_messages, slow.unreported_losses) == (7, 7)
    found = asyncio.run(slow.receive())
    assert [message.event["n"] for message in found] == [7, 8, 9]


class Connection:
    """A client at the other end: what was sent to it, and whether it reads."""

    def __init__(self):
        self.sent, self.reads, self.gone = [], asyncio.Event(), asyncio.Event()
        self.reads.set()

    async def send(self, message):
        await self.reads.wait()
        self.sent.append(message.get("body", b""))

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    @property
    def text(self):
        return b"".join(self.sent).decode()


def test_a_stream_tells_beats_and_ends(monkeypatch):
    monkeypatch.setattr("tellwhen.service.event_streams.HEARTBEAT_SECONDS", 0.05)

    async def run():
        registry, connection, listener = ListenerRegistry(), Connection(), Listener(waiting_max=2)
        stream = EventStream(listener, registry.add(listener))
        running = asyncio.ensure_future(stream({}, connection.receive, connection.send))
        await asyncio.sleep(0.2)
        told(registry, ["a"])
        await asyncio.sleep(0.05)
        connection.gone.set()
        await asyncio.wait_for(running, 2)
        return len(registry), connection.text

    left, text = asyncio.run(run())
    assert left == 0
    assert text.startswith(": connected\n\n: still here\n\n")
    assert 'event: match\ndata: {"event":{"x":1},"matches":["a"]}\n\n' in text


def test_who_is_not_let_in_any_more_hears_nothing():
    async def run():
        registry, connection, listener, allowed = ListenerRegistry(), Connection(), Listener(), [True]
        stream = EventStream(listener, registry.add(listener), has_access=lambda: allowed[0])
        running = asyncio.ensure_future(stream({}, connection.receive, connection.send))
        told(registry, ["a"])
        await asyncio.sleep(0.05)
        allowed[0] = False
        told(registry, ["b"])
        await asyncio.wait_for(running, 2)
        return len(registry), connection.text

    left, text = asyncio.run(run())
    assert left == 0
    assert '"matches":["a"]' in text
    assert '"matches":["b"]' not in text


def test_a_message_is_written_once_for_all():
    registry = ListenerRegistry()
    listeners = [Listener() for _ in range(3)]
    for one in listeners:
        registry.add(one)
    told(registry, ["a"])
    assert len({id(one._waiting[0]) for one in listeners}) == 1
