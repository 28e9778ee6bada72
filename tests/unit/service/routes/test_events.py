"""Routes of events, over HTTP: the same matches as an index."""

import json

import httpx2

import tellwhen as tw
from service_support import expect_error, expect_success, make_test_client, wait_until
from tellwhen.client import Client
from tellwhen.service import Limits


def test_matches_are_those_of_an_index_and_of_the_oracle(twins):
    client, index, rows, events = twins
    oracle = [(row["id"], tw.parse(row["expression"])) for row in rows]
    total = 0
    for event in events:
        ids = index.match(event)
        total += len(ids)
        assert ids == [id_ for id_, expression in oracle if expression.evaluate(event) is True]
        for path in ("/v1/publish", "/v1/match"):
            answer = expect_success(client.post(path, json={"event": event}))
            assert answer == {"count": len(ids), "matches": ids, "truncated": False}
    assert total > 300
    assert expect_success(client.post("/v1/publish/many", json={"events": events})) == {
        "count": total, "matches": [index.match(event) for event in events],
    }  # fmt: skip


def test_payloads_and_filters_are_those_of_an_index(twins):
    client, index, _, events = twins
    for where in ({"tenant": 1}, {"tenant": [0, 2]}, {"tenant": None}, {"nobody": 1}, {}):
        for event in events[:8]:
            pairs = index.match_with_payloads(event, where=where)
            answer = expect_success(client.post("/v1/publish", json={"event": event, "where": where, "payload": True}))
            assert answer["matches"] == [{"id": id_, "payload": payload} for id_, payload in pairs]
        answer = expect_success(client.post("/v1/publish/many", json={"events": events[:8], "where": where}))
        assert answer["matches"] == [index.match(event, where=where) for event in events[:8]]


def test_the_best_are_those_of_an_index(twins):
    client, index, _, events = twins
    for number, event in enumerate(events[:15]):
        for options in (
            {},
            {"relaxed": True},
            {"where": {"tenant": 1}},
            {"relaxed": True, "weights": {"a": 3.0}},
            {"weights": {"a": 3.0}, "where": {"tenant": 1}},
            {"weights": {}},
        ):
            k = 1 + number
            best = [{"id": id_, "score": score} for id_, score in index.top_k(event, k, **options)]
            assert expect_success(client.post("/v1/top-k", json={"event": event, "k": k, **options}))["matches"] == best


def test_listening_is_refused_with_a_sentence(client):
    expect_error(client.get("/v1/live", params={"filter": "x >"}), 422, "ParseError")
    expect_error(client.get("/v1/live", params={"id": "x", "id_type": "int"}), 422, "MalformedRequest")
    assert expect_success(client.get("/v1/stats"))["listeners"] == 0


def test_filters_are_short_and_few(tmp_path):
    with make_test_client(tmp_path / "data", Limits(filters=0)) as client:
        assert client.get("/v1/live", params={"filter": "x = 1"}).status_code == 429
        long = client.get("/v1/live", params={"filter": " OR ".join(["x = 1"] * 500)})
        assert (long.status_code, "a filter has at most 2,000 characters" in long.text) == (413, True)


def test_events_of_any_size_are_not_kept(fresh_client):
    """A sample of events is kept in memory: of large ones, little."""
    index = fresh_client.app._tenants.get("default").index
    for large in ([[]] * 50_000, "x" * 500_000, {str(n): n for n in range(30_000)}, ["y" * 5_000] * 100):
        assert fresh_client.post("/v1/match", json={"event": {"a": large, "b": 1}}).status_code == 200
        assert fresh_client.post("/v1/publish/many", json={"events": [{"a": large}] * 3}).status_code == 200
    kept = index._monitor.sample._events
    assert len(kept) == 16
    assert sum(len(json.dumps(one)) for one in kept) < 16 * 100_000
    assert not any(isinstance(one["a"], dict) and len(one["a"]) > 1_000 for one in kept)


def test_names_in_where_forge_no_log(fresh_client, caplog):
    fresh_client.put("/v1/subscriptions/a", json={"expression": "x = 1", "payload": {"n": 1}})
    for n in range(200):
        where = {f"n{n}\nFAKE" + "x" * 1_000: 1}
        assert fresh_client.post("/v1/match", json={"event": {"x": 1}, "where": where}).status_code == 200
    said = [record.getMessage() for record in caplog.records if "where=" in record.getMessage()]
    assert len(said) == 100
    assert all(len(one) < 300 and "\n" not in one for one in said)


def test_more_listeners_than_there_may_be(small):
    with httpx2.stream("GET", f"{small}/v1/live") as first:
        assert first.status_code == 200
        expect_error(httpx2.get(f"{small}/v1/live"), 429, "TooMany")
    with Client(small) as client:
        wait_until(lambda: client.get_stats()["listeners"] == 0)
    with httpx2.stream("GET", f"{small}/v1/live") as again:
        assert again.status_code == 200


def test_a_faulty_where_is_refused_with_a_sentence(client):
    for where, message in ((3, "text or an object, not 3"), (["x"], "not ['x']"), ("x" * 5_000, "4,000 characters")):
        answer = client.post("/v1/publish", json={"event": {"x": 5}, "where": where})
        assert message in expect_error(answer, 422, "MalformedRequest")
        assert "constrained" not in answer.text
