"""Routes of subscriptions, over HTTP."""

import pytest

import tellwhen as tw
from service_support import ODD_IDS, add_subscriptions, expect_error, expect_success, list_ids, make_address


@pytest.mark.parametrize("id_", ODD_IDS, ids=lambda id_: repr(id_)[:20])
def test_a_subscription_by_its_address(client, id_):
    given = {"expression": "price < 20", "score": 2.5, "weights": {"price": 0.5}, "payload": {"subscriber": "ann"}}
    expect_error(client.get(make_address(id_)), 404, "UnknownId")
    shown = {"id": id_, **given}
    assert expect_success(client.put(make_address(id_), json=given), 201) == shown
    assert expect_success(client.get(make_address(id_))) == shown
    assert expect_success(client.put(make_address(id_), json=given)) == shown
    expect_error(client.put(make_address(id_) + "&replace=false", json=given), 409, "DuplicateId")
    assert expect_success(client.post("/v1/publish", json={"event": {"price": 3}}))["matches"] == [id_]
    assert expect_success(client.get("/v1/subscriptions"))["subscriptions"] == [shown]
    assert expect_success(client.delete(make_address(id_))) == {"removed": 1}
    expect_error(client.delete(make_address(id_)), 404, "UnknownId")
    assert expect_success(client.post("/v1/publish", json={"event": {"price": 3}}))["matches"] == []


def test_an_integer_and_its_text_are_two_ids(client):
    expect_success(client.put("/v1/subscriptions/5", json={"expression": "a = 1"}), 201)
    expect_success(client.put("/v1/subscriptions/5?id_type=int", json={"expression": "a = 2"}), 201)
    assert expect_success(client.get("/v1/subscriptions/5"))["expression"] == "a = 1"
    assert expect_success(client.get("/v1/subscriptions/5?id_type=int"))["expression"] == "a = 2"
    expect_success(client.delete("/v1/subscriptions/5?id_type=int"))
    assert list_ids(expect_success(client.get("/v1/subscriptions"))) == ["5"]


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ({"expression": "price <"}, "ParseError", "expected a constant"),
        ({"expression": "a MATCHES '('"}, "ParseError", "'(' is not a regular expression: missing )"),
        ({"expression": {"nonsense": 1}}, "ExpressionError", "nonsense"),
        (
            {"expression": "a = 1", "weights": {"b": 1}},
            "ScoreError",
            "weights name 'b', which the expression does not use",
        ),
        ({"expression": "a = 1", "scor": 1}, "MalformedRequest", "unknown field 'scor'; the fields are expression, "),
        ({"expression": "a = 1", "score": "high"}, "MalformedRequest", "score: "),
        ({"expression": "a = 1", "payload": [1]}, "MalformedRequest", "payload: "),
        ({"expression": 5}, "MalformedRequest", "expression"),
        ({}, "MalformedRequest", "expression: Field required"),
    ],
)
def test_a_subscription_that_is_refused(client, body, kind, says):
    response = client.put("/v1/subscriptions/x", json=body)
    assert says in expect_error(response, 422, kind)
    if kind == "ParseError":
        assert isinstance(response.json()["position"], int)
    assert expect_success(client.get("/v1"))["subscriptions"] == 0


def test_all_are_added_or_none(client):
    assert expect_success(add_subscriptions(client, ("a", "x > 1"), (2, "x > 2"))) == {
        "accepted": 2,
        "added": 2,
        "rejected": [],
    }
    expect_error(add_subscriptions(client, ("b", "x > 3"), ("a", "x > 4")), 409, "DuplicateId")
    assert "'c'" in expect_error(add_subscriptions(client, ("b", "x > 3"), ("c", "x >")), 422, "ParseError")
    assert expect_success(client.get("/v1"))["subscriptions"] == 2
    assert expect_success(add_subscriptions(client, ("b", "x > 3"), ("a", "x > 4"), replace=True)) == {
        "accepted": 2, "added": 1, "rejected": [],
    }  # fmt: skip
    assert expect_success(client.get("/v1/subscriptions/a"))["expression"] == "x > 4"
    assert expect_success(add_subscriptions(client)) == {"accepted": 0, "added": 0, "rejected": []}


def test_faulty_ones_are_kept_out(client):
    given = [("a", "x > 1"), ("b", "x >"), (3, "x > 2"), ("a", "x > 3"), ("d", "y = 1", {"weights": {"z": 1}})]
    answer = expect_success(add_subscriptions(client, *given, errors="quarantine"))
    rows = [(id_, expression, None, *(one["weights"] for one in more)) for id_, expression, *more in given]
    rejected = tw.Index().add_valid(rows)
    assert (answer["accepted"], answer["added"]) == (2, 2)
    assert answer["rejected"] == [one._asdict() for one in rejected]
    assert [one["id"] for one in answer["rejected"]] == ["b", "a", "d"]
    assert list_ids(expect_success(client.get("/v1/subscriptions"))) == ["a", 3]


def test_only_what_is_there_is_counted(client):
    expect_success(add_subscriptions(client, ("a", "x = 1"), ("b", "x = 1")))
    scores = [{"id": "a", "score": 1}, {"id": "z", "score": 1}]
    assert expect_success(client.post("/v1/scores", json={"scores": scores, "missing": "ignore"})) == {"scored": 1}
    assert expect_success(client.post("/v1/subscriptions/remove", json={"ids": ["a", "a"]})) == {"removed": 1}
    ids = {"ids": ["a", "b", "b"], "missing": "ignore"}
    assert expect_success(client.post("/v1/subscriptions/remove", json=ids)) == {"removed": 1}


def test_many_are_removed(client):
    expect_success(add_subscriptions(client, ("a", "x > 1"), (2, "x > 1"), ("c", "x > 1")))
    assert "'b'" in expect_error(client.post("/v1/subscriptions/remove", json={"ids": ["a", "b"]}), 404, "UnknownId")
    assert expect_success(client.get("/v1"))["subscriptions"] == 3
    body = {"ids": ["a", "b", 2, "2", "a"], "missing": "ignore"}
    assert expect_success(client.post("/v1/subscriptions/remove", json=body)) == {"removed": 2}
    assert list_ids(expect_success(client.get("/v1/subscriptions"))) == ["c"]
    assert expect_success(client.post("/v1/subscriptions/remove", json={"ids": []})) == {"removed": 0}
    expect_error(client.post("/v1/subscriptions/remove", json={"ids": "c"}), 422, "MalformedRequest")


def test_scores_are_set(client):
    expect_success(add_subscriptions(client, ("a", "x > 1"), (2, "x > 1")))
    scores = [{"id": "a", "score": 3}, {"id": 2, "score": 4.5}]
    assert expect_success(client.post("/v1/scores", json={"scores": scores})) == {"scored": 2}
    best = expect_success(client.post("/v1/top-k", json={"event": {"x": 2}}))
    assert best == {"matches": [{"id": 2, "score": 4.5}, {"id": "a", "score": 3.0}]}
    unknown = [{"id": "a", "score": 9}, {"id": "b", "score": 1}]
    expect_error(client.post("/v1/scores", json={"scores": unknown}), 404, "UnknownId")
    assert expect_success(client.get("/v1/subscriptions/a"))["score"] == 3
    expect_success(client.post("/v1/scores", json={"scores": unknown, "missing": "ignore"}))
    assert expect_success(client.get("/v1/subscriptions/a"))["score"] == 9
    expect_error(client.post("/v1/scores", json={"scores": {"a": 1}}), 422, "MalformedRequest")
