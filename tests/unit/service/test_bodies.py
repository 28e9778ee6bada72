"""Parsing of request bodies: valid ones, malformed ones, and large ones."""

import json
import time

import pytest

from service_support import expect_error, expect_success, make_test_client
from tellwhen.service import Limits


def test_rows_of_wrong_types_are_named_or_kept_out(client):
    wrong = [
        5, None, ["a", "x = 1"], {"id": "b"}, {"id": 1.5, "expression": "x = 1"}, {"id": "c", "expression": 7},
        {"id": "d", "expression": "x = 1", "score": "much"}, {"id": "e", "expression": "x = 1", "payload": [1]},
        {"id": "f", "expression": "x = 1", "colour": 1}, {"id": 2**70, "expression": "x = 1"},
        {"id": "g", "expression": "x = 1", "weights": {"x": 10**400}},
    ]  # fmt: skip
    rows = [{"id": number, "expression": f"x = {number}"} for number in range(789)]
    for one in wrong:
        body = {"subscriptions": [*rows, one]}
        said = expect_error(client.post("/v1/subscriptions", json=body), 422, "MalformedRequest")
        assert said.startswith("subscriptions.789")
        assert expect_success(client.get("/v1"))["subscriptions"] == 0
    body = {"subscriptions": [*wrong[:5], *rows, *wrong[5:], {"id": "z", "expression": "x ="}], "errors": "quarantine"}
    answer = expect_success(client.post("/v1/subscriptions", json=body))
    assert (answer["accepted"], answer["added"]) == (789, 789)
    assert [one["id"] for one in answer["rejected"]] == [None, None, "a", "b", 1.5, "c", "d", "e", "f", 2**70, "g", "z"]
    reasons = [one["reason"] for one in answer["rejected"]]
    assert reasons[6].startswith("score: ")
    assert all(reasons)
    assert "tellwhen_rejected_total" in client.get("/metrics").text


def test_an_expression_that_is_too_long_is_kept_out_alone(client):
    rows = [{"id": "a", "expression": "x = 1"}, {"id": "b", "expression": "x = " + "1" * 120_000, "score": 3}]
    expect_error(client.post("/v1/subscriptions", json={"subscriptions": rows}), 413, "TooLarge")
    answer = expect_success(client.post("/v1/subscriptions", json={"subscriptions": rows, "errors": "quarantine"}))
    assert (answer["accepted"], [(one["id"], one["score"]) for one in answer["rejected"]]) == (1, [("b", 3.0)])


def test_a_large_batch_is_read_as_a_small_one(tmp_path):
    rows = [{"id": number, "expression": f"x = {number}"} for number in range(2_000)]
    with make_test_client(tmp_path / "data", Limits(single=1_000)) as client:
        assert expect_success(client.post("/v1/subscriptions", json={"subscriptions": rows}))["added"] == 2_000
        expect_error(
            client.post("/v1/subscriptions", json={"subscriptions": [{"id": "x" * 2_000}]}), 422, "MalformedRequest"
        )
        expect_error(client.post("/v1/subscriptions", content=b"[" * 2_000), 422, "MalformedRequest")


@pytest.mark.parametrize(
    "body",
    [
        [], 5, None, {}, {"subscriptions": {}}, {"subscriptions": [{"id": "a"}]}, {"subscriptions": [["a", "x = 1"]]},
        {"subscriptions": [{"id": None, "expression": "x = 1"}]}, {"subscriptions": [{"id": 1.0, "expression": "x"}]},
        {"subscriptions": [{"id": True, "expression": "x = 1"}]}, {"subscriptions": [], "errors": "ignore"},
        {"subscriptions": [{"id": 2**63, "expression": "x = 1"}]}, {"subscriptions": [], "more": 1},
    ],
)  # fmt: skip
def test_bodies_that_are_no_subscriptions(client, body):
    expect_error(client.post("/v1/subscriptions", json=body), 422, "MalformedRequest")


@pytest.mark.parametrize("path", ["publish", "match", "top-k"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "MalformedRequest"), ({"event": []}, "MalformedRequest"), ({"event": None}, "MalformedRequest"),
        ({"event": {}, "evnt": 1}, "MalformedRequest"), ({"event": {}, "where": 5}, "MalformedRequest"),
        ({"event": {}, "where": {"a": {"b": 1}}}, "ArgumentError"),
    ],
)  # fmt: skip
def test_events_that_are_none(client, path, body, kind):
    expect_error(client.post(f"/v1/{path}", json=body), 422, kind)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("publish", {"event": {}, "limit": -1}), ("publish", {"event": {}, "payload": "perhaps"}),
        ("publish/many", {"events": {}}), ("publish/many", {"events": [1]}), ("publish/many", {}),
        ("top-k", {"event": {}, "k": 0}), ("top-k", {"event": {}, "k": 10_001}),
        ("top-k", {"event": {}, "weights": {"a": "b"}}),
    ],
)  # fmt: skip
def test_questions_that_cannot_be(client, path, body):
    expect_error(client.post(f"/v1/{path}", json=body), 422, "MalformedRequest")


def test_a_million_errors_are_as_quick_as_one(fresh_client):
    large = {f"a{number}": "x" for number in range(50_000)}
    row = {"id": "a", "expression": "x = 1"}
    for path, body in (
        ("/v1/publish/many", {"events": [1] * 1_000_000}),
        ("/v1/subscriptions/remove", {"ids": [[]] * 500_000}),
        ("/v1/scores", {"scores": [1] * 500_000}),
        ("/v1/subscriptions", {"subscriptions": [], **large}),
        ("/v1/subscriptions", {"subscriptions": [{**row, **large}]}),
        ("/v1/subscriptions", {"subscriptions": [{**row, "weights": large}]}),
        ("/v1/publish", {"event": {}, **large}),
    ):
        content = json.dumps(body)
        begin = time.process_time()
        answer = fresh_client.post(path, content=content)
        assert (answer.status_code, answer.json()["error"]) == (422, "MalformedRequest")
        assert len(answer.text) < 1_000
        assert time.process_time() - begin < 2


def test_an_id_fits_into_an_address(fresh_client):
    for id_, status in (("\U0001f600" * 4_000, 200), ("x" * 4_001, 422)):
        rows = [{"id": id_, "expression": "x = 1"}]
        assert fresh_client.post("/v1/subscriptions", json={"subscriptions": rows}).status_code == status
    page = fresh_client.get("/v1/subscriptions", params={"limit": 1}).json()
    assert fresh_client.get("/v1/subscriptions", params={"start": page["subscriptions"][0]["id"]}).status_code == 200
