"""Old names of both clients: each warns, names its replacement, and returns what it returned before."""

import asyncio
import re
import threading
from inspect import isawaitable

import pytest

import client_support
import tellwhen as tw
from service_support import wait_until
from tellwhen.client import AsyncClient, Client, Message, ServiceError
from tellwhen.client.deprecated_members import DeprecatedMembers
from tellwhen.deprecation import REMOVAL_VERSION

EVENT = {"x": 5}
NOBODY = "http://127.0.0.1:1"
"""An address where no service answers."""
A = {"id": "a", "expression": "x > 1", "score": 2.0, "weights": {"x": 0.5}, "payload": {"to": "ann"}}
B = {"id": "b", "expression": "x > 2", "score": 0.0, "weights": {}, "payload": {}}


@pytest.fixture
def client(client):
    client.add_many([A, B])
    return client


CALLS = {
    "get()": (lambda one: one.get("a"), "get_subscription()"),
    "page()": (lambda one: one.page(text="x > 2", limit=1), "list_subscriptions()"),
    "all()": (lambda one: one.all(), "iter_subscriptions()"),
    "attributes()": (lambda one: one.attributes(), "get_attributes()"),
    "about()": (lambda one: one.about(), "get_service_info()"),
    "stats()": (lambda one: one.stats(), "get_stats()"),
    "live()": (lambda one: one.live(filter="x = 5"), "listen()"),
    "publish(payload=True)": (
        lambda one: one.publish(EVENT, where={"to": "ann"}, payload=True), "publish_with_payloads()",
    ),
    "match(payload=True)": (lambda one: one.match(EVENT, where={"to": "ann"}, payload=True), "match_with_payloads()"),
    'add_many(errors="quarantine")': (
        lambda one: one.add_many({"a": "x > 3", "c": "y = 1"}, errors="quarantine"), "add_valid()",
    ),
}  # fmt: skip
"""A call of an old name, and the new name."""

RESULTS = {
    "get()": A,
    "page()": {"subscriptions": [B], "next": None},
    "all()": [A, B],
    "attributes()": {"x": "number"},
    "publish(payload=True)": [("a", {"to": "ann"})],
    "match(payload=True)": [("a", {"to": "ann"})],
    'add_many(errors="quarantine")': tw.Index().add("a", "x > 1").add_valid({"a": "x > 3"}),
}


def call_old_name(old, client):
    """Return the result of a call, and the file of the only warning."""
    call, new = CALLS[old]
    message = f"Client.{old} is deprecated and will be removed in tellwhen {REMOVAL_VERSION}; use Client.{new} instead"
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(message)}$") as caught:
        result = call(client)
    (warning,) = caught
    return result, warning.filename


def test_every_old_name_is_tested():
    called = {old.partition("(")[0] for old in CALLS}
    assert {name for name in vars(DeprecatedMembers) if not name.startswith("_")} < called


@pytest.mark.parametrize("old", RESULTS)
def test_an_old_name_warns_and_returns_the_same(client, old):
    result, file = call_old_name(old, client)
    assert file == (__file__ if isinstance(client, Client) else client_support.__file__)
    assert (list(result) if old == "all()" else result) == RESULTS[old]


@pytest.mark.parametrize("old", ["about()", "stats()"])
def test_an_old_name_of_figures_warns_and_returns_a_dict(client, old):
    figures, _ = call_old_name(old, client)
    assert figures["subscriptions"] == 2


def test_pages_of_dicts_follow_each_other(client):
    with pytest.warns(DeprecationWarning, match="list_subscriptions"):
        page = client.page(limit=1)
    assert page["subscriptions"] == [A]
    with pytest.warns(DeprecationWarning, match="list_subscriptions"):
        assert client.page(start=page["next"]) == {"subscriptions": [B], "next": None}


def test_live_yields_messages(client, address):
    messages, _ = call_old_name("live()", client)
    received = []
    thread = threading.Thread(target=lambda: received.append(next(messages)), daemon=True)
    thread.start()
    with Client(address) as publisher:
        wait_until(lambda: publisher.get_stats()["listeners"] == 1)
        assert publisher.publish(EVENT) == ["a", "b"]
        thread.join(20)
        messages.close()
        wait_until(lambda: publisher.get_stats()["listeners"] == 0)
    assert received == [Message("match", {"event": EVENT, "matches": ["a", "b"]})]


def test_an_async_call_warns_before_its_result_is_awaited():
    async def call_all():
        async with AsyncClient(NOBODY) as client:
            for old in CALLS:
                result, file = call_old_name(old, client)
                assert file == __file__
                if isawaitable(result):
                    with pytest.raises(ServiceError, match="does not answer"):
                        await result

    asyncio.run(call_all())
