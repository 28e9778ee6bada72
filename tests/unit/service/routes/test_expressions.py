"""Routes of expressions, over HTTP."""

import json

from service_support import (
    add_subscriptions,
    expect_error,
    expect_success,
    make_test_client,
)


def test_reasons_are_those_of_an_index(twins):
    client, index, rows, events = twins
    for row, event in zip(rows, events, strict=False):
        found = index.explain(row["id"], event)
        by_id = expect_success(client.post("/v1/explain", json={"id": row["id"], "event": event}))
        assert (by_id["value"], by_id["text"]) == (found.value, str(found))
        assert (by_id["tree"]["label"], len(by_id["tree"]["parts"])) == (found.label, len(found.parts))
        assert (
            expect_success(client.post("/v1/explain", json={"expression": row["expression"], "event": event})) == by_id
        )


def test_validation(client):
    answer = expect_success(client.post("/v1/validate", json={"expression": "price<20 and city='Oslo'"}))
    assert answer == {
        "ok": True, "error": None, "hints": [], "attributes": ["price", "city"],
        "text": "price < 20 AND city = 'Oslo'",
    }  # fmt: skip
    answer = expect_success(client.post("/v1/validate", json={"expression": "price <"}))
    assert not answer["ok"]
    assert answer["error"]["position"] == 7
    assert "expected a constant" in answer["error"]["message"]
    assert expect_success(client.post("/v1/validate", json={"expression": "a < 1 AND a > 2"}))["hints"]
    expect_success(add_subscriptions(client, ("a", "lower(station) = 'basel' AND delay > 5")))
    expect_success(client.post("/v1/publish", json={"event": {"vehicle": {"seats": 5}, "planned": 1, "actual": 1}}))
    for expression, hints in (
        ("dealy > 5", ["no other subscription uses dealy; did you mean delay?"]),
        ("station = Basel", ["Basel is an attribute here; if it is text, write 'Basel'"]),
        ("vehicle.seatz > 5", ["no other subscription uses vehicle.seatz; did you mean vehicle.seats?"]),
        ("station = 'Basel' AND actual = planned AND vehicle.seats > 1", []),
        ("quite_new = 1", []),
    ):
        assert expect_success(client.post("/v1/validate", json={"expression": expression}))["hints"] == hints
    assert expect_success(client.get("/v1/attributes")) == {"station": "string", "delay": "number"}
    for body in ({}, {"expression": None}, {"expression": 1}, {"expression": []}):
        expect_error(client.post("/v1/validate", json=body), 422, "MalformedRequest")


def test_json_expressions(client):
    given = json.loads(json.dumps({"and": [{"attribute": "a"}, 1]}))
    text = expect_success(client.post("/v1/validate", json={"expression": given}))
    assert text["ok"] in (True, False)
    assert text["ok"] or text["error"]["message"]


def test_what_is_wrong_names_no_id_that_nobody_gave(client):
    for path, more in (("explain", {"event": {}}), ("dry-run", {})):
        response = client.post(f"/v1/{path}", json={"expression": "price <", **more})
        assert not expect_error(response, 422, "ParseError").startswith("subscription")
        assert response.json()["position"] == 7


def test_explain_takes_an_id_or_an_expression(client):
    expect_success(add_subscriptions(client, (0, "x > 1"), ("", "x > 2")))
    assert expect_success(client.post("/v1/explain", json={"id": 0, "event": {"x": 2}}))["value"] is True
    assert expect_success(client.post("/v1/explain", json={"id": "", "event": {"x": 2}}))["value"] is False
    assert expect_success(client.post("/v1/explain", json={"id": 0, "event": {}}))["value"] is None
    for body in ({}, {"id": 0, "expression": "x > 1"}, {"id": None, "expression": None}):
        expect_error(client.post("/v1/explain", json={"event": {}, **body}), 422, "MalformedRequest")
    expect_error(client.post("/v1/explain", json={"id": "nobody", "event": {}}), 404, "UnknownId")
    expect_error(client.post("/v1/explain", json={"id": 0, "event": 5}), 422, "MalformedRequest")


def test_times_that_are_not_declared_are_hinted_at(tmp_path):
    given = {"expression": "at > DATE '2026-01-01' AND day < DATE '2027-01-01'"}
    with make_test_client(tmp_path / "data", schema={"day": "date"}) as client:
        hints = expect_success(client.post("/v1/validate", json=given))["hints"]
        assert hints == [
            "at is compared with a time, but JSON has no times; declare at as a date or timestamp in the schema"
        ]
        found = expect_success(
            client.post("/v1/explain", json=given | {"event": {"at": "2026-02-02", "day": "2026-02-02"}})
        )
        assert "at is '2026-02-02', which is a string, not a time; a schema can declare at as a time" in found["text"]
        assert found["value"] is None
