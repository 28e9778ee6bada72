"""Live matches reach those who listen, as messages of server-sent events."""

import threading
from contextlib import suppress
from itertools import islice

import httpx2
import pytest

import tellwhen as tw
from client_support import CLIENT_KINDS
from service_support import JSON_HEADERS, run_service, wait_until
from tellwhen.client import Client, Message, ServiceError
from tellwhen.client.messages import MessageParser
from tellwhen.service import Timeouts


class ListenerThread:
    """Thread that collects up to `limit` messages."""

    def __init__(self, kind, address, limit, **conditions):
        self.messages = []

        def listen():
            with kind(address) as client:
                messages = client.listen(**conditions)
                with suppress(ServiceError):  # the service stopped
                    self.messages += islice(messages, limit)
                messages.close()

        self.thread = threading.Thread(target=listen, daemon=True)
        self.thread.start()


@pytest.mark.parametrize("kind", CLIENT_KINDS)
def test_live_messages(address, client, kind):
    client.add_many(
        [("a", "x > 1", None, None, {"subscriber": "ann"}), (2, "x > 2", None, None, {"subscriber": 7}), ("c", "x > 3")]
    )
    wait_until(lambda: client.get_stats()["listeners"] == 0)
    listeners = {
        "all": ({}, 4), "ann": ({"subscriber": "ann"}, 4), "7": ({"subscriber": 7}, 3), "c": ({"ids": ["c"]}, 2),
        "2": ({"ids": [2]}, 3), "filter": ({"filter": "y = 1"}, 1), "two": ({"ids": ["a", "c"], "filter": "y = 1"}, 1),
        "big": ({"filter": "x > 3"}, 2),
    }  # fmt: skip
    listening = {
        name: ListenerThread(kind, address, limit, **conditions) for name, (conditions, limit) in listeners.items()
    }
    wait_until(lambda: client.get_stats()["listeners"] == len(listeners))
    client.publish({"x": 2, "t": "\u2028\n\u0085 žluť"})
    client.match({"x": 100})  # sends nothing to listeners
    client.publish({"x": 0})
    client.publish_many([{"x": 3}, {"x": 4, "big": 10**30}])
    client.publish({"x": 5, "y": 1})
    for one in listening.values():
        one.thread.join(20)
        assert not one.thread.is_alive()
        assert all(isinstance(message, Message) and message.kind == "match" for message in one.messages)
    received = {
        name: [(m.data["event"]["x"], m.data["matches"]) for m in one.messages] for name, one in listening.items()
    }
    assert received == {
        "all": [(2, ["a"]), (3, ["a", 2]), (4, ["a", 2, "c"]), (5, ["a", 2, "c"])],
        "ann": [(2, ["a"]), (3, ["a"]), (4, ["a"]), (5, ["a"])],
        "7": [(3, [2]), (4, [2]), (5, [2])],
        "c": [(4, ["c"]), (5, ["c"])],
        "2": [(3, [2]), (4, [2]), (5, [2])],
        "filter": [(5, ["a", 2, "c"])],
        "two": [(5, ["a", "c"])],
        "big": [(4, ["a", 2, "c"]), (5, ["a", 2, "c"])],
    }
    assert listening["all"].messages[0].data["event"]["t"] == "\u2028\n\u0085 žluť"
    assert listening["all"].messages[2].data["event"]["big"] == 10**30
    wait_until(lambda: client.get_stats()["listeners"] == 0)


def test_infinite_numbers_are_null_in_messages(address, client):
    """1e400 is a number in JSON, and infinite in Python."""
    client.add("a", "x IS NOT NULL")
    listening = ListenerThread(Client, address, 1)
    wait_until(lambda: client.get_stats()["listeners"] == 1)
    body = '{"event": {"x": 1e400, "y": [-1e400, 2]}}'
    assert httpx2.post(f"{address}/v1/publish", content=body, headers=JSON_HEADERS).json()["count"] == 1
    listening.thread.join(20)
    assert listening.messages[0].data["event"] == {"x": None, "y": [None, 2]}


@pytest.mark.parametrize("wanted", [{"ids": [1, "a"]}, {"ids": [True]}, {"ids": [1.5]}, {"filter": "x >"}])
def test_invalid_conditions_of_listening(client, wanted):
    with pytest.raises((tw.IdError, tw.ParseError)):
        next(client.listen(**wanted))


def test_lines_become_messages():
    parser = MessageParser()
    lines = [": connected", "", "event: match", 'data: {"a":', "data: 1}", "", "data:2", "", "", "event: x", ""]
    found = [message for line in lines if (message := parser.feed(line)) is not None]
    assert found == [Message("match", {"a": 1}), Message("message", 2)]


@pytest.mark.slow
def test_the_end_of_the_service_ends_listening(tmp_path):
    with run_service(tmp_path / "data", timeouts=Timeouts(shutdown_seconds=1)) as address, Client(address) as client:
        listening = ListenerThread(Client, address, 1_000)
        wait_until(lambda: client.get_stats()["listeners"] == 1)
    listening.thread.join(20)
    assert not listening.thread.is_alive()
