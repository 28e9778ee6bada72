"""Streams of server-sent events: heartbeats, and their ends."""

import asyncio
import threading

from service_support import run_service, wait_until
from tellwhen.client import Client
from tellwhen.service import Keys, Timeouts
from tellwhen.service.event_streams import EventStream
from tellwhen.service.listeners import Listener, ListenerRegistry


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


def test_a_stream_tells_beats_and_ends():
    async def run():
        registry, connection, listener = ListenerRegistry(), Connection(), Listener(waiting_max=2)
        stream = EventStream(listener, registry.add(listener), timeouts=Timeouts(heartbeat_seconds=0.05))
        running = asyncio.ensure_future(stream({}, connection.receive, connection.send))
        await asyncio.sleep(0.2)
        registry.deliver({"x": 1}, ["a"], {})
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
        registry.deliver({"x": 1}, ["a"], {})
        await asyncio.sleep(0.05)
        allowed[0] = False
        registry.deliver({"x": 1}, ["b"], {})
        await asyncio.wait_for(running, 2)
        return len(registry), connection.text

    left, text = asyncio.run(run())
    assert left == 0
    assert '"matches":["a"]' in text
    assert '"matches":["b"]' not in text


def test_a_removed_key_hears_nothing_more(tmp_path):
    timeouts = Timeouts(heartbeat_seconds=0.05, keys_check_seconds=0.05)
    keys = Keys(tmp_path / "data" / "keys.json")
    listening, managing = keys.add("listener", ["read"]), keys.add("boss", ["read", "publish", "manage"])
    with (
        run_service(tmp_path / "data", timeouts=timeouts) as address,
        Client(address, managing) as boss,
        Client(address, listening) as other,
    ):
        boss.add("a", "x = 1")
        heard = []
        thread = threading.Thread(target=lambda: heard.extend(other.listen()))
        thread.start()
        wait_until(lambda: boss.get_stats()["listeners"] == 1)
        boss.publish({"x": 1})
        wait_until(lambda: len(heard) == 1)
        keys.remove("listener")
        thread.join(20)
        assert not thread.is_alive()  # the service has ended it
        boss.publish({"x": 1})
        assert len(heard) == 1
