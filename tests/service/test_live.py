"""Who hears of which matches, and what happens to those who read slowly?"""

import asyncio
import random

import pytest

import tellwhen as tw
from tellwhen.service.event_streams import EventStream
from tellwhen.service.listeners import Listener, Live, by_subscriber

PAYLOADS = {"a": {"subscriber": "ann"}, "b": {"subscriber": "bob"}, 7: {"subscriber": 7}, "n": {}}


def heard(listener):
    """What waits for a listener now."""
    return [message.matches for message in asyncio.run(asyncio.wait_for(listener.next(), 1))]


def is_silent(listener):
    return not listener._waiting


def told(live, ids, event=None):
    named = [PAYLOADS[id_].get("subscriber") for id_ in ids]
    whose = by_subscriber(ids, named) if live.asks_for_subscribers else {}
    event = event or {"x": 1}
    live.tell(event, ids, whose, live.satisfied(event))


def test_everybody_who_asked_for_it_hears_it():
    live = Live()
    everything, ann, seven = Listener(), Listener("ann"), Listener("7")
    ids, both = Listener(ids=["a", "n"]), Listener("ann", ids=["b"])
    for one in (everything, ann, seven, ids, both):
        live.listen(one)
    told(live, ["a", "b", 7, "n"])
    assert heard(everything) == [["a", "b", 7, "n"]]
    assert heard(ann) == [["a"]]
    assert heard(seven) == [[7]]
    assert heard(ids) == [["a", "n"]]
    assert is_silent(both)
    told(live, ["b"])
    assert heard(everything) == [["b"]]
    assert all(is_silent(one) for one in (ann, seven, ids, both))
    assert (live.sent, live.lost) == (5, 0)


def test_filters_are_expressions():
    live = Live()
    cheap, both = Listener(), Listener("ann")
    live.listen(cheap, "price < 20")
    live.listen(both, "price < 20 AND genre = 'classics'")
    told(live, ["a", "b"], {"price": 12})
    told(live, ["a", "b"], {"price": 12, "genre": "classics"})
    told(live, ["a", "b"], {"price": 90, "genre": "classics"})
    assert heard(cheap) == [["a", "b"], ["a", "b"]]
    assert heard(both) == [["a"]]
    with pytest.raises(tw.ParseError):
        live.listen(Listener(), "price <")
    assert len(live) == 2


def test_filters_are_read_by_the_schema_of_the_tenant():
    live, late = Live(tw.Schema({"at": "timestamp"})), Listener()
    live.listen(late, "at > TIMESTAMP '2026-01-01 00:00:00'")
    told(live, ["a"], {"at": "2026-02-02T00:00:00Z"})
    told(live, ["a"], {"at": "2025-02-02T00:00:00Z"})
    assert heard(late) == [["a"]]
    with pytest.raises(tw.SchemaError):
        live.listen(Listener(), "at > '2026-01-01'")


def test_whose_subscriptions_they_are_matters_only_while_somebody_asks():
    live = Live()
    leave = [live.listen(Listener("ann")), live.listen(Listener("ann"), "x = 1")]
    for one in leave:
        assert live.asks_for_subscribers
        one()
        one()
    assert not live.asks_for_subscribers


def test_who_left_while_filters_were_tried_hears_nothing():
    live, listener = Live(), Listener()
    leave = live.listen(listener, "x = 1")
    live.listen(Listener())
    satisfied = live.satisfied({"x": 1})
    leave()
    live.tell({"x": 1}, ["a"], {}, satisfied)
    assert is_silent(listener)


def test_who_has_left_hears_nothing():
    rng = random.Random(1)
    live, leaving = Live(), []
    for number in range(200):
        listener = Listener(rng.choice([None, "ann", "bob"]), rng.choice([(), ["a"], ["a", 7]]))
        leaving.append((listener, live.listen(listener, rng.choice([None, "x = 1", f"y = {number}"]))))
    assert len(live) == 200
    rng.shuffle(leaving)
    for listener, leave in leaving:
        leave()
        leave()  # once is enough
        listener._waiting.clear()
        told(live, ["a", "b", 7])
        assert is_silent(listener)
    assert len(live) == 0
    assert not any([live._of_id, live._of_subscriber, live._others, live._filtered, live._filters])


def test_a_slow_reader_loses_the_oldest_and_is_told():
    live, slow = Live(), Listener(waiting_max=3)
    live.listen(slow)
    for number in range(10):
        told(live, ["a"], {"n": number})
    assert (live.lost, slow.lost) == (7, 7)
    found = asyncio.run(slow.next())
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
        live, connection, listener = Live(), Connection(), Listener(waiting_max=2)
        stream = EventStream(listener, live.listen(listener))
        running = asyncio.ensure_future(stream({}, connection.receive, connection.send))
        await asyncio.sleep(0.2)
        told(live, ["a"])
        await asyncio.sleep(0.05)
        connection.gone.set()
        await asyncio.wait_for(running, 2)
        return len(live), connection.text

    left, text = asyncio.run(run())
    assert left == 0
    assert text.startswith(": connected\n\n: still here\n\n")
    assert 'event: match\ndata: {"event":{"x":1},"matches":["a"]}\n\n' in text


def test_who_is_not_let_in_any_more_hears_nothing():
    async def run():
        live, connection, listener, allowed = Live(), Connection(), Listener(), [True]
        stream = EventStream(listener, live.listen(listener), is_let_in=lambda: allowed[0])
        running = asyncio.ensure_future(stream({}, connection.receive, connection.send))
        told(live, ["a"])
        await asyncio.sleep(0.05)
        allowed[0] = False
        told(live, ["b"])
        await asyncio.wait_for(running, 2)
        return len(live), connection.text

    left, text = asyncio.run(run())
    assert left == 0
    assert '"matches":["a"]' in text
    assert '"matches":["b"]' not in text


def test_a_message_is_written_once_for_all():
    live = Live()
    listeners = [Listener() for _ in range(3)]
    for one in listeners:
        live.listen(one)
    told(live, ["a"])
    assert len({id(one._waiting[0]) for one in listeners}) == 1
