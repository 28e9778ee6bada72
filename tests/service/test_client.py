"""Does a client answer as an `Index` does, with the same errors, with and without `await`?"""

import asyncio
import json
import math
import random
import socket
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from itertools import islice

import httpx2
import pytest

import tellwhen as tw
from service_support import JSON_HEADERS, make_json_event, run_service, wait_until
from tellwhen.client import AsyncClient, Client, ServiceError
from tellwhen.client.calls import Calls
from tellwhen.client.errors import error_of
from tellwhen.client.messages import Message, Reader
from tellwhen.index.subscriptions import Rejected
from tellwhen.service import Keys, Limits, serving
from tellwhen.testing.engine_checks import random_expression

ODD_IDS = [
    "a/b", "a%20b", "%", "%2F", "?x=1", "#x", "a b", "a+b", "žluť", "😀", "\n", "x\n", '"', "'", "5", 5, -5, 2**63 - 1,
    "...", "./a", "a/..", "remove", "\0", "\u2028", "\ufeff", " ", "y" * 2_000,
]  # fmt: skip


class Awaited:
    """An `AsyncClient` whose answers are awaited, so that both kinds pass the same tests."""

    def __init__(self, address, key=None, **given):
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address, key, **given)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def __len__(self):
        return self.about()["subscriptions"]

    def __getattr__(self, name):
        def call(*given, **named):
            found = getattr(self._client, name)(*given, **named)
            if isinstance(found, AsyncIterator):
                return self._each(found)
            assert isinstance(found, Coroutine)
            return self._loop.run_until_complete(found)

        return call

    def _each(self, found):
        try:
            while True:
                try:
                    yield self._loop.run_until_complete(anext(found))
                except StopAsyncIteration:
                    return
        finally:
            self._loop.run_until_complete(found.aclose())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with run_service(tmp_path_factory.mktemp("client") / "data") as found:
        yield found


@pytest.fixture(params=[Client, Awaited])
def client(request, address):
    """A client of a service without subscriptions."""
    with request.param(address) as made:
        made.remove_many([one["id"] for one in made.all()])
        assert len(made) == 0
        yield made


# as an index


def test_every_call_is_named_as_that_of_an_index():
    """Those that an index does not have are about the service."""
    calls = {name for name in vars(Calls) if not name.startswith("_")}
    beyond = {"about", "dry_run", "page", "publish", "publish_many", "validate"}
    assert {name for name in calls if not hasattr(tw.Index, name)} == beyond
    for kind in (Client, AsyncClient):
        assert {name for name in dir(kind) if not name.startswith("_")} == {*calls, "all", "close", "live"}


def test_answers_are_those_of_an_index(client):
    rng = random.Random(5)
    index, rows = tw.Index(), []
    for number in range(60):
        row = (
            number if number % 2 else f"s{number}", str(random_expression(rng)), rng.randint(0, 9) / 4, None,
            {"tenant": rng.randint(0, 2)},
        )  # fmt: skip
        if index.add_valid([row]) == []:
            rows.append(row)
    assert client.add_many(rows) == []
    assert len(client) == len(index) == len(rows)
    events = [make_json_event(rng) for _ in range(10)]
    for event in events:
        assert client.match(event) == client.publish(event) == index.match(event)
        assert client.match(event, payload=True) == index.match_with_payloads(event)
        where = {"tenant": [0, 1]}
        assert client.publish(event, where=where) == index.match(event, where=where)
        assert client.count(event) == index.count(event)
        assert client.count(event, where=where) == index.count(event, where=where)
        assert client.top_k(event, 5) == index.top_k(event, 5)
        assert client.top_k(event, 5, relaxed=True) == index.top_k(event, 5, relaxed=True)
        assert client.top_k(event, 3, where=where) == index.top_k(event, 3, where=where)
        for id_ in list(index)[:3]:
            found = index.explain(id_, event)
            told = client.explain(id_, event)
            assert (told["value"], told["text"]) == (found.value, str(found))
    assert client.publish_many(events) == [index.match(event) for event in events]
    assert client.publish_many(iter(events), where=where) == [index.match(event, where=where) for event in events]
    assert [one["id"] for one in client.all()] == list(index)
    assert client.attributes() == index.inspect.get_attributes()
    for id_ in list(index)[:5]:
        shown = client.get(id_)
        assert tw.Subscription(**shown) == index.get_subscription(id_)


def test_changes_are_those_of_an_index(client):
    index = tw.Index()
    for one in (client, index):
        one.add("a", "x > 1", score=2.0, weights={"x": 0.5}, payload={"n": 1})
        one.add(1, tw.col("x") > 2)
        one.add("a", "x > 3", replace=True)
        one.add_many({"b": "x > 4", 2: "x > 5"})
        one.add_many([("c", "x > 6", 1.5), ("d", "x > 7", None, None, {"n": [1, None]})])
        one.add_many([{"id": "e", "expression": "y = 1", "score": 3}], replace=True)
        one.set_score("b", 7)
        one.set_scores({"c": 8.0, 2: 9}, missing="raise")
        one.set_scores({"c": 8.5, "nobody": 9}, missing="ignore")
        one.remove("d")
        one.discard("d")
        one.discard("e")
        one.remove_many([1])
    event = {"x": 100, "y": 1}
    assert client.match(event) == index.match(event)
    assert client.top_k(event) == index.top_k(event)
    assert [(one["id"], one["expression"], one["score"], one["payload"]) for one in client.all()] == [
        (id_, text, index.get_subscription(id_).score, index.get_payload(id_)) for id_, text in index.iter_texts()
    ]


def test_how_many_were_changed(client):
    client.add_many(dict.fromkeys(range(5), "x > 1"))
    assert client.remove_many([0, 1]) == 2
    assert client.remove_many([0, 2], missing="ignore") == 1
    assert client.set_scores({3: 1, 4: 2}) == 2
    assert client.discard(0) == 0


def test_faulty_ones_are_returned(client):
    rows = [("a", "x > 1"), ("b", "x >"), ("a", "x > 2"), (4, "y = 1", None, {"z": 1})]
    rejected = client.add_many(rows, errors="quarantine")
    assert rejected == tw.Index().add_valid(rows)
    assert all(isinstance(one, Rejected) for one in rejected)
    assert [one.id for one in rejected] == ["b", "a", 4]


WRONG = {
    "parse": lambda one: one.add("x", "price <"),
    "parse many": lambda one: one.add_many({"x": "a = 1", "y": "a ="}),
    "deep": lambda one: one.add("x", "(" * 500 + "a = 1" + ")" * 500),
    "expression": lambda one: one.add("x", {"nonsense": 1}),
    "taken": lambda one: one.add("taken", "a = 1"),
    "twice": lambda one: one.add_many([("x", "a = 1"), ("x", "a = 2")]),
    "unknown": lambda one: one.remove("nobody"),
    "unknown among many": lambda one: one.remove_many(["taken", "nobody"]),
    "unknown score": lambda one: one.set_score("nobody", 1),
    "unknown to explain": lambda one: one.explain("nobody", {}),
    "weights": lambda one: one.add("x", "a = 1", weights={"b": 1}),
    "large id": lambda one: one.remove(2**63),
    "small id": lambda one: one.remove(-(2**63)),
    "bool id": lambda one: one.remove(True),
    "float id": lambda one: one.remove(1.5),
    "no id": lambda one: one.remove(None),
    "surrogate id": lambda one: one.remove("\ud800"),
    "ids that are a string": lambda one: one.remove_many("taken"),
    "ids that are none": lambda one: one.remove_many(5),
    "scores that are none": lambda one: one.set_scores([("taken", 1)]),
    "subscriptions that are none": lambda one: one.add_many(5),
    "subscriptions that are a string": lambda one: one.add_many("ab"),
    "a row that is none": lambda one: one.add_many([5]),
    "a short row": lambda one: one.add_many([("x",)]),
    "a long row": lambda one: one.add_many([("x", "a = 1", 1, None, None, 7)]),
    "event": lambda one: one.match([1]),
    "event of a number": lambda one: one.match({1: 2}),
    "where": lambda one: one.match({}, where={"a": {"b": 1}}),
    "weights without relaxing": lambda one: one.top_k({}, weights={"a": 1}),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_are_those_of_an_index(client, what):
    index = tw.Index()
    errors = []
    for one in (index, client):
        one.add("taken", "a = 1")
        with pytest.raises(tw.TellwhenError) as caught:
            WRONG[what](one)
        errors.append(caught.value)
    expected, found = errors
    assert type(found) is type(expected)
    assert str(found)
    if isinstance(found, tw.ParseError):
        assert (found.message, found.position) == (expected.message, expected.position)
    assert len(client) == 1


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), {1, 2}, b"x", "\ud800"], ids=lambda value: type(value).__name__
)
def test_values_that_json_does_not_have(client, value):
    for call in (
        lambda: client.publish({"a": value}),
        lambda: client.add("x", "a = 1", payload={"p": value}),
        lambda: client.publish_many([{"a": value}]),
    ):
        with pytest.raises(tw.TellwhenError, match="JSON_HEADERS"):
            call()
    assert len(client) == 0


# addresses


def test_odd_ids_in_addresses(client):
    client.add_many(dict.fromkeys(ODD_IDS, "x > 1"))
    client.add("last", "x > 1")
    assert client.publish({"x": 2}) == [*ODD_IDS, "last"]
    for number, id_ in enumerate(ODD_IDS):
        assert client.get(id_)["id"] == id_
        rest = [*ODD_IDS[number + 1 :], "last"]
        assert [one["id"] for one in client.page(start=id_)["subscriptions"]] == [id_, *rest]
        client.remove(id_)
        assert client.match({"x": 2}) == rest
        with pytest.raises(tw.UnknownId):
            client.get(id_)


@pytest.mark.parametrize("id_", ["", ".", ".."])
def test_ids_that_cannot_stand_in_an_address(client, id_):
    client.add(id_, "x > 1")
    for call in (client.get, client.remove):
        with pytest.raises(tw.IdError, match="remove_many"):
            call(id_)
    assert client.publish({"x": 2}) == [id_]
    assert client.explain(id_, {"x": 2})["value"] is True
    assert client.discard(id_) == 1
    assert len(client) == 0


def test_what_is_too_long_for_an_address(client):
    for call in (lambda: client.get("x" * 100_000), lambda: client.page(text="x" * 100_000)):
        with pytest.raises(tw.ArgumentError, match="address"):
            call()


# looking


def test_pages(client):
    client.add_many({f"s{number}": f"x > {number}" for number in range(5)} | {7: "name = '5' AND x = 3"})
    page = client.page(limit=4)
    assert [one["id"] for one in page["subscriptions"]] == ["s0", "s1", "s2", "s3"]
    assert [one["id"] for one in client.page(start=page["next"])["subscriptions"]] == ["s4", 7]
    assert [one["id"] for one in client.page(start=7)["subscriptions"]] == [7]

    def ids(**query):
        return [one["id"] for one in client.page(**query)["subscriptions"]]

    assert ids(constant=3) == ["s3", 7]
    assert ids(constant="5") == [7]
    assert ids(constant=5) == []
    assert ids(mentions="name") == [7]
    assert ids(text="s1") == ["s1"]
    client.add_many([(f"a{n}", f"x > {n}", None, None, {"subscriber": 7 if n % 2 else "ann"}) for n in range(4)])
    assert ids(subscriber="ann") == ["a0", "a2"]
    assert ids(subscriber=7, text="a3") == ["a3"]
    assert ids(subscriber="ann", mentions="name") == ids(subscriber="nobody") == []
    page = client.page(subscriber="ann", limit=1)
    assert [one["id"] for one in client.page(subscriber="ann", start=page["next"])["subscriptions"]] == ["a2"]
    with pytest.raises(ServiceError, match="limit"):
        client.page(limit=0)
    with pytest.raises(tw.UnknownId):
        client.page(start="nobody")


def test_who_sends_too_much_is_told_when_to_try_again(tmp_path):
    with run_service(tmp_path / "data", limits=Limits(rate=0.5)) as address, Client(address) as client:
        client.about()
        with pytest.raises(ServiceError, match="requests per second are allowed") as refused:
            client.about()
        assert (refused.value.status, refused.value.kind, refused.value.retry_after) == (429, "TooMany", 2)
    assert error_of(429, {"error": "TooMany", "message": "no"}, "Wed, 18 Nov").retry_after is None


def test_all_of_many_pages(client):
    client.add_many(dict.fromkeys(range(2500), "x > 1"))
    assert [one["id"] for one in client.all()] == list(range(2_500))


def test_validate_and_dry_run(client):
    assert client.validate("price<20")["text"] == "price < 20"
    assert client.validate(tw.col("price") < 20)["ok"]
    assert client.validate("price <")["error"]["position"] == 7
    client.publish({"unheard_of": 1})
    assert client.dry_run("unheard_of = 1")["matches"] >= 1
    assert client.dry_run(tw.col("unheard_of") == 2)["matches"] == 0
    with pytest.raises(tw.ParseError):
        client.dry_run("price <")
    assert client.stats()["subscriptions"] == 0
    assert client.about()["roles"] == ["read", "publish", "manage"]


# live


class Heard:
    """What one who listens is told, in a thread; at most so many messages."""

    def __init__(self, kind, address, most, **wanted):
        self.messages = []

        def listen():
            with kind(address) as client:
                live = client.live(**wanted)
                with suppress(ServiceError):  # the service was cut off
                    self.messages += islice(live, most)
                live.close()

        self.thread = threading.Thread(target=listen, daemon=True)
        self.thread.start()


@pytest.mark.parametrize("kind", [Client, Awaited])
def test_live_messages(address, client, kind):
    client.add_many(
        [("a", "x > 1", None, None, {"subscriber": "ann"}), (2, "x > 2", None, None, {"subscriber": 7}), ("c", "x > 3")]
    )
    wait_until(lambda: client.stats()["listeners"] == 0)
    ways = {
        "all": ({}, 4), "ann": ({"subscriber": "ann"}, 4), "7": ({"subscriber": 7}, 3), "c": ({"ids": ["c"]}, 2),
        "2": ({"ids": [2]}, 3), "filter": ({"filter": "y = 1"}, 1), "two": ({"ids": ["a", "c"], "filter": "y = 1"}, 1),
        "big": ({"filter": "x > 3"}, 2),
    }  # fmt: skip
    heard = {name: Heard(kind, address, most, **wanted) for name, (wanted, most) in ways.items()}
    wait_until(lambda: client.stats()["listeners"] == len(ways))
    client.publish({"x": 2, "t": "\u2028\n\u0085 žluť"})
    client.match({"x": 100})  # it is only asked
    client.publish({"x": 0})
    client.publish_many([{"x": 3}, {"x": 4, "big": 10**30}])
    client.publish({"x": 5, "y": 1})
    for one in heard.values():
        one.thread.join(20)
        assert not one.thread.is_alive()
        assert all(isinstance(message, Message) and message.kind == "match" for message in one.messages)
    told = {name: [(m.data["event"]["x"], m.data["matches"]) for m in one.messages] for name, one in heard.items()}
    assert told == {
        "all": [(2, ["a"]), (3, ["a", 2]), (4, ["a", 2, "c"]), (5, ["a", 2, "c"])],
        "ann": [(2, ["a"]), (3, ["a"]), (4, ["a"]), (5, ["a"])],
        "7": [(3, [2]), (4, [2]), (5, [2])],
        "c": [(4, ["c"]), (5, ["c"])],
        "2": [(3, [2]), (4, [2]), (5, [2])],
        "filter": [(5, ["a", 2, "c"])],
        "two": [(5, ["a", "c"])],
        "big": [(4, ["a", 2, "c"]), (5, ["a", 2, "c"])],
    }
    assert heard["all"].messages[0].data["event"]["t"] == "\u2028\n\u0085 žluť"
    assert heard["all"].messages[2].data["event"]["big"] == 10**30
    wait_until(lambda: client.stats()["listeners"] == 0)


def test_messages_are_json_also_without_numbers(address, client):
    """1e400 is a number in JSON_HEADERS, and infinite here."""
    client.add("a", "x IS NOT NULL")
    heard = Heard(Client, address, 1)
    wait_until(lambda: client.stats()["listeners"] == 1)
    body = '{"event": {"x": 1e400, "y": [-1e400, 2]}}'
    assert httpx2.post(f"{address}/v1/publish", content=body, headers=JSON_HEADERS).json()["count"] == 1
    heard.thread.join(20)
    assert heard.messages[0].data["event"] == {"x": None, "y": [None, 2]}


@pytest.mark.parametrize("wanted", [{"ids": [1, "a"]}, {"ids": [True]}, {"ids": [1.5]}, {"filter": "x >"}])
def test_listening_to_what_cannot_be(client, wanted):
    with pytest.raises((tw.IdError, tw.ParseError)):
        next(client.live(**wanted))


def test_lines_become_messages():
    reader = Reader()
    lines = [": connected", "", "event: match", 'data: {"a":', "data: 1}", "", "data:2", "", "", "event: x", ""]
    found = [message for line in lines if (message := reader.feed(line)) is not None]
    assert found == [Message("match", {"a": 1}), Message("message", 2)]


@pytest.mark.slow
def test_the_end_of_the_service_ends_listening(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "SHUTDOWN_SECONDS", 1)
    with run_service(tmp_path / "data") as address, Client(address) as client:
        heard = Heard(Client, address, 1_000)
        wait_until(lambda: client.stats()["listeners"] == 1)
    heard.thread.join(20)
    assert not heard.thread.is_alive()


# services that are none


@pytest.fixture(params=[Client, Awaited])
def kind(request):
    return request.param


def test_nobody_answers(kind):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with kind(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout=5) as client:
            for call in (client.about, lambda: client.publish({}), lambda: next(client.live())):
                with pytest.raises(ServiceError, match="does not answer") as caught:
                    call()
                assert caught.value.status == 0


def test_one_that_does_not_answer_in_time(kind):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        kind(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2) as client,
        pytest.raises(ServiceError, match="does not answer"),
    ):
        client.about()


@pytest.mark.parametrize("url", ["nonsense", "", "ftp://127.0.0.1", "http://", "http://127.0.0.1:99999", "http://\0"])
def test_addresses_that_are_none(kind, url):
    with pytest.raises(tw.TellwhenError), kind(url, timeout=5) as client:
        client.about()


def test_an_address_of_something_else(kind, address):
    with kind(f"{address}/elsewhere") as client:
        with pytest.raises(ServiceError) as caught:
            client.about()
        assert caught.value.status == 404


def test_keys(kind, tmp_path):
    made = Keys(tmp_path / "data" / "keys.json")
    reader = made.add("reader", ["read"])
    with run_service(tmp_path / "data") as address:
        with kind(address, reader) as client:
            assert client.match({}) == []
            with pytest.raises(ServiceError, match="publish") as caught:
                client.publish({})
            assert (caught.value.status, caught.value.kind) == (403, "RoleMissing")
        for key in (None, "wrong"):
            with kind(address, key) as client, pytest.raises(ServiceError, match="key") as caught:
                client.about()
            assert (caught.value.status, caught.value.kind) == (401, "KeyRefused")


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (404, {"error": "UnknownId", "message": "m"}, tw.UnknownId, "m"),
        (422, {"error": "ParseError", "message": "m", "position": 3}, tw.ParseError, "m"),
        (507, {"error": "StorageError", "message": "m"}, ServiceError, "m"),
        (422, {"error": "shown", "message": "m"}, ServiceError, "m"),
        (422, {"error": "annotations", "message": "m"}, ServiceError, "m"),
        (502, None, ServiceError, "502"),
        (200, None, ServiceError, "address"),
        (500, [], ServiceError, "500"),
        (500, {"message": 5}, ServiceError, "500"),
    ],
)
def test_errors_of_answers(status, body, kind, says):
    error = error_of(status, json.loads(json.dumps(body)))
    assert type(error) is kind
    assert says in str(error)


def test_threads_share_a_client(address):
    with Client(address) as client:
        client.remove_many([one["id"] for one in client.all()])

        def change(first):
            for number in range(first, first + 20):
                client.add(number, f"x > {number}")
                assert number in client.publish({"x": number + 1})

        threads = [threading.Thread(target=change, args=(first,)) for first in range(0, 80, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.match({"x": 1_000}) == [one["id"] for one in client.all()]
        assert sorted(client.match({"x": 1_000})) == list(range(80))


def test_many_calls_are_awaited_at_once(address):
    async def ask():
        async with AsyncClient(address) as client:
            await client.remove_many([one["id"] async for one in client.all()])
            await asyncio.gather(*(client.add(number, f"x > {number}") for number in range(50)))
            found = await asyncio.gather(*(client.publish({"x": number}) for number in range(50)))
            return [sorted(ids) for ids in found]

    assert asyncio.run(ask()) == [list(range(number)) for number in range(50)]
