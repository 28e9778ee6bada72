"""The application as a whole: OpenAPI, unknown paths and parameters, internal errors, and restarts."""

import httpx2

from service_support import (
    ODD_IDS,
    add_subscriptions,
    expect_error,
    expect_success,
    list_ids,
    make_test_client,
    run_service,
)


def test_other_addresses(client):
    assert client.get("/v1/nothing").status_code == 404
    assert client.get("/v1/nothing").json()["message"]
    assert client.request("PATCH", "/v1/subscriptions").status_code == 405
    assert client.get("/openapi.json").json()["info"]["title"] == "tellwhen"


def test_the_description_is_whole(client):
    """Every reference in it leads somewhere."""
    described = client.get("/openapi.json").json()

    def references(part):
        if isinstance(part, dict):
            yield from ([part["$ref"]] if isinstance(part.get("$ref"), str) else [])
            part = list(part.values())
        if isinstance(part, list):
            for one in part:
                yield from references(one)

    names = set(references(described))
    assert names
    for name in names:
        place = described
        for step in name.removeprefix("#/").split("/"):
            place = place[step]
    for path in described["paths"].values():
        for operation in path.values():
            assert operation["description"] or operation["summary"]


def test_it_is_all_there_when_the_service_starts_again(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        expect_success(add_subscriptions(client, *((id_, "x > 1", {"payload": {"n": 1}}) for id_ in ODD_IDS)))
        page = expect_success(client.get("/v1/subscriptions"))
    with make_test_client(tmp_path / "data") as client:
        assert expect_success(client.get("/v1/subscriptions")) == page
        assert list_ids(page) == ODD_IDS


def test_parameters_that_are_none(client):
    """What is misspelt would change nothing, or show too much."""
    for path, there in (
        ("/v1/subscriptions?q=ann", "the parameters are text, mentions, "),
        ("/v1/live?subscribers=ann", "subscriber, "),
    ):
        assert there in expect_error(client.get(path), 422, "MalformedRequest")
    assert "this path has no parameters" in expect_error(
        client.post("/v1/publish?x=1", json={"event": {}}), 422, "MalformedRequest"
    )
    assert "this path has no parameters" in expect_error(client.get("/v1/stats?x"), 422, "MalformedRequest")
    assert client.get("/?x=1").status_code == 200


def test_what_nobody_expected_is_answered_counted_and_ends_nothing(tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a mistake of ours")

    with run_service(tmp_path / "data") as address, httpx2.Client(base_url=address) as client:
        with monkeypatch.context() as patched:
            patched.setattr("tellwhen.service.answers.match_event", broken)
            answer = client.post("/v1/publish", json={"event": {"x": 1}})
            assert answer.status_code == 500
            assert "mistake" not in answer.text
        assert client.post("/v1/publish", json={"event": {"x": 1}}).json()["count"] == 0
        counted = client.get("/metrics").text
    assert 'tellwhen_requests_total{path="/v1/publish",status="500"} 1.0' in counted
    assert 'tellwhen_requests_total{path="/v1/publish",status="200"} 1.0' in counted
