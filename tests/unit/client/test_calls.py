"""Clients answer as an `Index` does, with the same errors, with and without `await`."""

import datetime as dt
import math
import random

import httpx2
import pytest

import tellwhen as tw
from service_support import make_json_event
from tellwhen.client import AsyncClient, Client, SubscriptionPage
from tellwhen.client.calls import ClientMethods
from tellwhen.client.deprecated_members import DeprecatedMembers
from tellwhen.index.subscriptions import Rejected
from tellwhen.testing.engine_checks import random_expression

ODD_IDS = [
    "a/b", "a%20b", "%", "%2F", "?x=1", "#x", "a b", "a+b", "žluť", "😀", "\n", "x\n", '"', "'", "5", 5, -5, 2**63 - 1,
    "...", "./a", "a/..", "remove", "\0", "\u2028", "\ufeff", " ", "y" * 2_000,
]  # fmt: skip


# Answers and errors


def test_every_call_is_named_as_that_of_an_index():
    calls = {name for name in vars(ClientMethods) if not name.startswith("_")}
    inspections = {"get_attributes", "get_stats"}
    service_calls = {
        "dry_run", "get_service_info", "list_subscriptions", "publish", "publish_many", "publish_with_payloads",
        "validate",
    }  # fmt: skip
    assert {name for name in calls if not hasattr(tw.Index, name)} == service_calls | inspections
    assert all(hasattr(tw.Inspection, name) for name in inspections)
    old_names = {name for name in vars(DeprecatedMembers) if not name.startswith("_")}
    for kind in (Client, AsyncClient):
        names = {name for name in dir(kind) if not name.startswith("_")}
        assert names - old_names == {*calls, "close", "iter_subscriptions", "listen"}


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
    assert client.add_many(rows) is None
    assert len(client) == len(index) == len(rows)
    events = [make_json_event(rng) for _ in range(10)]
    for event in events:
        assert client.match(event) == client.publish(event) == index.match(event)
        where = {"tenant": [0, 1]}
        for match in (client.match_with_payloads, client.publish_with_payloads):
            assert match(event) == index.match_with_payloads(event)
            assert match(event, where=where) == index.match_with_payloads(event, where=where)
        assert client.publish(event, where=where) == index.match(event, where=where)
        assert client.count(event) == index.count(event)
        assert client.count(event, where=where) == index.count(event, where=where)
        assert client.top_k(event, 5) == index.top_k(event, 5)
        assert client.top_k(event, 5, relaxed=True) == index.top_k(event, 5, relaxed=True)
        assert client.top_k(event, 5, weights={}) == index.top_k(event, 5, weights={})
        assert client.top_k(event, 3, where=where) == index.top_k(event, 3, where=where)
        for id_ in list(index)[:3]:
            expected = index.explain(id_, event)
            explanation = client.explain(id_, event)
            assert (explanation["value"], explanation["text"]) == (expected.value, str(expected))
    assert client.publish_many(events) == [index.match(event) for event in events]
    assert client.publish_many(iter(events), where=where) == [index.match(event, where=where) for event in events]
    assert [subscription.id for subscription in client.iter_subscriptions()] == list(index)
    assert client.get_attributes() == index.inspect.get_attributes()
    for id_ in list(index)[:5]:
        assert client.get_subscription(id_) == index.get_subscription(id_)


def test_events_and_conditions_as_text(client):
    index = tw.Index()
    for one in (client, index):
        one.add_many([("a", "x > 1", 2.0, None, {"bid": 1}), ("b", "x > 3", 1.0, None, {"bid": 2}), ("c", "x = 'a'")])
    text = "x <> 2 AND y < 'b'"
    event = tw.parse(text).to_event()
    assert client.match(text) == client.publish(text) == index.match(event) == ["a", "b"]
    assert client.count(text) == 2
    assert client.top_k(text, 1) == index.top_k(event, 1)
    assert client.explain("c", text)["value"] is None
    for where in ("bid >= 2", tw.col("bid") >= 2, tw.parse("bid >= 2")):
        assert client.match({"x": 9}, where=where) == client.publish(text, where=where) == ["b"]
        assert client.match_with_payloads(text, where=where) == [("b", {"bid": 2})]
        assert client.publish_many([{"x": 9}], where=where) == [["b"]]
        assert client.top_k(text, 5, where=where) == [("b", 1.0)]
    with pytest.raises(tw.TellwhenError):
        client.match("x <")
    with pytest.raises(tw.ParseError):
        client.match({"x": 9}, where="bid >")


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
    assert list(client.iter_subscriptions()) == [index.get_subscription(id_) for id_ in index]


def test_changes_return_counts(client):
    client.add_many(dict.fromkeys(range(5), "x > 1"))
    assert client.remove_many([0, 1]) == 2
    assert client.remove_many([0, 2], missing="ignore") == 1
    assert client.set_scores({3: 1, 4: 2}) == 2
    assert client.discard(0) == 0


def test_subscriptions_of_a_service_are_added_to_an_index(client):
    rows = [tw.Subscription("a", "x > 1", 2.5, {"x": 0.5}, {"n": [1, None]}), tw.Subscription(1, "y = 'z'")]
    client.add_many(rows)
    index = tw.Index().add_many(client.iter_subscriptions())
    assert [index.get_subscription(id_) for id_ in index] == rows


def test_faulty_subscriptions_are_returned(client):
    rows = [("a", "x > 1"), ("b", "x >"), ("a", "x > 2"), (4, "y = 1", None, {"z": 1})]
    rejected = client.add_valid(rows)
    assert rejected == tw.Index().add_valid(rows)
    assert all(isinstance(one, Rejected) for one in rejected)
    assert [one.id for one in rejected] == ["b", "a", 4]
    wrong = [(1.5, "x > 1"), 5, ("c", "x > 1", "high"), ("d", True)]
    assert client.add_valid([*wrong, *rows]) == tw.Index().add("a", "x > 1").add_valid([*wrong, *rows])


def test_a_table_of_an_index_is_added(client):
    index = tw.Index().add("a", "x > 1", score=2.5, weights={"x": 0.5}, payload={"n": [1, None]})
    client.add_many(index.to_arrow())
    assert client.get_subscription("a") == index.get_subscription("a")


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
    "ids that are bytes": lambda one: one.remove_many(b"taken"),
    "missing ids": lambda one: one.remove_many([], missing="skip"),
    "missing scores": lambda one: one.set_scores({}, missing="skip"),
    "errors": lambda one: one.add_many({}, errors="ignore"),
    "scores that are none": lambda one: one.set_scores([("taken", 1)]),
    "subscriptions that are none": lambda one: one.add_many(5),
    "subscriptions that are a string": lambda one: one.add_many("ab"),
    "a row that is none": lambda one: one.add_many([5]),
    "a short row": lambda one: one.add_many([("x",)]),
    "a long row": lambda one: one.add_many([("x", "a = 1", 1, None, None, 7)]),
    "event": lambda one: one.match([1]),
    "event of a number": lambda one: one.match({1: 2}),
    "where": lambda one: one.match({}, where={"a": {"b": 1}}),
    "weights by number": lambda one: one.top_k({}, weights={1: 1}),
    "bool": lambda one: one.add("x", tw.col("a") & tw.col("b") == 1),
    "expression of a number": lambda one: one.add("x", 5),
    "no expression": lambda one: one.add("x", None),
    "k of 0": lambda one: one.top_k({}, k=0),
    "k of a fraction": lambda one: one.top_k({}, k=1.5),
    "score of a string": lambda one: one.set_score("taken", "x"),
    "no score": lambda one: one.set_score("taken", None),
    "score of NaN": lambda one: one.set_score("taken", math.nan),
    "score of a float id": lambda one: one.set_scores({1.5: 1}),
    "added score": lambda one: one.add("x", "a = 1", score="x"),
    "added weights": lambda one: one.add("x", "a = 1", weights={"a": "x"}),
    "added payload": lambda one: one.add("x", "a = 1", payload=5),
    "added id": lambda one: one.add(1.5, "a = 1"),
    "added large id": lambda one: one.add(2**63, "a = 1"),
    "float ids": lambda one: one.remove_many([1.5]),
    "float id to explain": lambda one: one.explain(1.5, {}),
    "where of a number": lambda one: one.match({}, where=5),
    "where of names that are no strings": lambda one: one.count({}, where={1: 2}),
    "where of a ranking": lambda one: one.top_k({}, where=5),
    "relaxed weights": lambda one: one.top_k({}, relaxed=True, weights={"a": "x"}),
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
def test_values_that_json_cannot_represent(client, value):
    calls = [lambda: client.publish({"a": value}), lambda: client.publish_many([{"a": value}])]
    if value != {1, 2}:  # a payload may have a set, as in an index
        calls.append(lambda: client.add("x", "a = 1", payload={"p": value}))
    for call in calls:
        with pytest.raises(tw.TellwhenError, match="JSON"):
            call()
    assert len(client) == 0


# Ids in URLs


def test_odd_ids_in_urls(client):
    client.add_many(dict.fromkeys(ODD_IDS, "x > 1"))
    client.add("last", "x > 1")
    assert client.publish({"x": 2}) == [*ODD_IDS, "last"]
    for number, id_ in enumerate(ODD_IDS):
        assert client.get_subscription(id_).id == id_
        rest = [*ODD_IDS[number + 1 :], "last"]
        assert list_ids(client, start=id_) == [id_, *rest]
        client.remove(id_)
        assert client.match({"x": 2}) == rest
        with pytest.raises(tw.UnknownId):
            client.get_subscription(id_)


@pytest.mark.parametrize("id_", ["", ".", ".."])
def test_ids_that_cannot_be_part_of_a_url(client, address, id_):
    for add in (lambda: client.add(id_, "x > 1"), lambda: client.add_many({"a": "x > 1", id_: "x > 1"})):
        with pytest.raises(tw.IdError, match=r"cannot be part of a URL.*choose another id"):
            add()
    (rejected,) = client.add_valid({id_: "x > 1"})
    assert (rejected.id, "cannot be part of a URL" in rejected.reason, len(client)) == (id_, True, 0)
    # Other clients, and indexes of earlier versions, may have such ids.
    body = {"subscriptions": [{"id": id_, "expression": "x > 1"}]}
    assert httpx2.post(f"{address}/v1/subscriptions", json=body).is_success
    for call in (client.get_subscription, client.remove):
        with pytest.raises(tw.IdError, match="remove_many"):
            call(id_)
    assert client.publish({"x": 2}) == [id_]
    assert client.explain(id_, {"x": 2})["value"] is True
    assert client.discard(id_) == 1
    assert len(client) == 0


def test_texts_that_are_too_long_for_a_url(client):
    for call in (lambda: client.get_subscription("x" * 100_000), lambda: client.list_subscriptions(text="x" * 100_000)):
        with pytest.raises(tw.ArgumentError, match="URL"):
            call()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "send None instead of NaN"),
        ({1, 2}, "send a list instead of a set"),
        (dt.date(2026, 1, 15), "send a date as text, such as 2026-01-15"),
    ],
)
def test_values_that_json_lacks(client, value, message):
    with pytest.raises(tw.ArgumentError, match=message):
        client.publish({"x": value})


# Pages and questions


def list_ids(client, **query):
    return [subscription.id for subscription in client.list_subscriptions(**query).subscriptions]


def test_pages(client):
    client.add_many({f"s{number}": f"x > {number}" for number in range(5)} | {7: "name = '5' AND x = 3"})
    page = client.list_subscriptions(limit=4)
    assert isinstance(page, SubscriptionPage)
    assert page.subscriptions == [tw.Subscription(f"s{number}", f"x > {number}") for number in range(4)]
    last_page = client.list_subscriptions(start=page.next)
    assert ([subscription.id for subscription in last_page.subscriptions], last_page.next) == (["s4", 7], None)
    assert list_ids(client, start=7) == [7]
    assert list_ids(client, constant=3) == ["s3", 7]
    assert list_ids(client, constant="5") == [7]
    assert list_ids(client, constant=5) == []
    assert list_ids(client, mentions="name") == [7]
    assert list_ids(client, text="s1") == ["s1"]
    client.add_many([(f"a{n}", f"x > {n}", None, None, {"subscriber": 7 if n % 2 else "ann"}) for n in range(4)])
    assert list_ids(client, subscriber="ann") == ["a0", "a2"]
    assert list_ids(client, subscriber=7, text="a3") == ["a3"]
    assert list_ids(client, subscriber="ann", mentions="name") == list_ids(client, subscriber="nobody") == []
    page = client.list_subscriptions(subscriber="ann", limit=1)
    assert list_ids(client, subscriber="ann", start=page.next) == ["a2"]
    for limit in (0, 1_001, "5", True):
        with pytest.raises(tw.ArgumentError, match="limit must be a whole number from 1 to 1,000"):
            client.list_subscriptions(limit=limit)
    with pytest.raises(tw.UnknownId):
        client.list_subscriptions(start="nobody")


def test_all_of_many_pages(client):
    client.add_many(dict.fromkeys(range(2500), "x > 1"))
    assert [subscription.id for subscription in client.iter_subscriptions()] == list(range(2_500))


def test_validate_and_dry_run(client):
    assert client.validate("price<20")["text"] == "price < 20"
    assert client.validate(tw.col("price") < 20)["ok"]
    assert client.validate("price <")["error"]["position"] == 7
    client.publish({"unheard_of": 1})
    assert client.dry_run("unheard_of = 1")["matches"] >= 1
    assert client.dry_run(tw.col("unheard_of") == 2)["matches"] == 0
    with pytest.raises(tw.ParseError):
        client.dry_run("price <")
    assert client.get_stats()["subscriptions"] == 0
    assert client.get_service_info()["roles"] == ["read", "publish", "manage"]
