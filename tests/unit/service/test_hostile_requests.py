"""Malformed and hostile requests: the status is below 500, an error has a message, and the service goes on."""

import json
import string

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service_support import JSON_HEADERS, make_test_client, run_service
from tellwhen.client import Client

BODIES = {
    "/v1/subscriptions": {"subscriptions": [{"id": "x", "expression": "a = 1", "payload": {"p": 1}}]},
    "/v1/subscriptions/remove": {"ids": ["x"]},
    "/v1/scores": {"scores": [{"id": "x", "score": 1}]},
    "/v1/publish": {"event": {"a": 1}, "where": {"p": 1}},
    "/v1/publish/many": {"events": [{"a": 1}]},
    "/v1/match": {"event": {"a": 1}},
    "/v1/top-k": {"event": {"a": 1}, "k": 3, "relaxed": True, "weights": {"a": 1}},
    "/v1/explain": {"expression": "a = 1", "event": {"a": 1}},
    "/v1/validate": {"expression": "a = 1"},
    "/v1/dry-run": {"expression": "a = 1"},
    "PUT": {"expression": "a = 1", "score": 1, "weights": {"a": 1}, "payload": {"p": 1}},
}
"""A valid body for every path that takes one; PUT stands for the path of a subscription."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with make_test_client(tmp_path_factory.mktemp("hostile") / "data") as client:
        yield client


@pytest.fixture
def client(shared):
    """A client that raises unexpected errors in the test; after each test, the service must still work."""
    yield shared
    shared.put("/v1/subscriptions/alive", json={"expression": "alive = 1"}).raise_for_status()
    assert shared.post("/v1/publish", json={"event": {"alive": 1}}).json()["matches"] == ["alive"]
    for path in ("/v1/stats", "/metrics", "/v1/subscriptions?limit=1000", "/v1/attributes"):
        assert shared.get(path).status_code == 200
    assert shared.post("/v1/dry-run", json={"expression": "TRUE"}).status_code == 200


def get_checked_status(response):
    """Return the status; check that it is below 500, and that an error has a message."""
    assert response.status_code < 500, response.text
    body = response.json()
    if response.status_code >= 400:
        assert isinstance(body["error"], str)
        assert len(body["message"]) > 5
    return response.status_code


def send(client, path, content):
    content = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    if path == "PUT":
        return get_checked_status(client.put("/v1/subscriptions/x", content=content, headers=JSON_HEADERS))
    return get_checked_status(client.post(path, content=content, headers=JSON_HEADERS))


NO_BODIES = {
    "nothing": b"", "null": b"null", "a number": b"1", "a list": b"[]", "a string": b'"x"', "half": b"{",
    "two": b"{} {}", "NUL": b"\0", "no UTF-8": b'{"\xff": "\xff"}', "UTF-16": b"\xff\xfe{\0}\0", "a comma": b'{"a":1,}',
    "a quote": b"{'a': 1}", "brackets": b"[" * 100_000, "braces": b'{"a":' * 100_000, "only spaces": b" " * 10_000,
    "a form": b"event=1&x=2", "XML": b"<a/>", "control": b'{"a": "\n"}',
}  # fmt: skip


@pytest.mark.parametrize("path", BODIES)
def test_bodies_that_are_no_objects(client, path):
    for what, content in NO_BODIES.items():
        assert send(client, path, content) == 422, what


def places(value):
    """All paths into a body."""
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        for path in places(part):
            yield (key, *path)


def put(value, path, text):
    """The body as JSON_HEADERS, with something else in a place."""
    if not path:
        return text
    key, *rest = path
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}: {put(v, rest, text) if k == key else json.dumps(v)}" for k, v in value.items()]
        return "{" + ", ".join(parts) + "}"
    return "[" + ", ".join(put(v, rest, text) if k == key else json.dumps(v) for k, v in enumerate(value)) + "]"


def deep(count):
    return '{"a":' * count + "1" + "}" * count


STRANGE = {
    "NaN": "NaN", "infinity": "Infinity", "minus infinity": "-Infinity", "1e400": "1e400", "-1e400": "-1e400",
    "1e-400": "1e-400", "400 digits": "1" + "0" * 400, "5,000 digits": "1" + "0" * 5_000, "2**63": str(2**63),
    "-2**63": str(-(2**63)), "2**64": str(2**64), "-0": "-0", "-0.0": "-0.0", "null": "null", "true": "true",
    "a list": "[]", "an object": "{}", "a lone surrogate": r'"\ud800"', "surrogates inside": r'{"\udfff": "\ud800"}',
    "NUL": r'"\u0000"', "NUL inside": r'{"\u0000": "\u0000"}', "odd text": '"\u2028\ufeff\u202e"', "empty": '""',
    "long": json.dumps("x" * 100_001), "90 deep": deep(90), "180 deep": deep(180), "250 deep": deep(250),
    "900 deep": deep(900), "50,000 deep": deep(50_000), "lists": "[" * 150 + "]" * 150, "twice": '{"a": 1, "a": 2}',
    "an empty name": '{"": 1}', "a proto": '{"__proto__": {"a": 1}, "__class__": "x"}', "half": "{", "raw NUL": '"\0"',
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", BODIES)
def test_strange_values_in_every_place(client, path):
    body = BODIES[path]
    for place in places(body):
        for what, text in STRANGE.items():
            try:
                send(client, path, put(body, place, text))
            except Exception as error:
                raise AssertionError(f"{what} in {place}: {error!r}") from error


def test_lone_surrogates_as_bytes(client):
    for path in BODIES:
        assert send(client, path, '{"expression": "\ud800"}') == 422


@pytest.mark.slow
def test_large_events(client):
    assert client.put("/v1/subscriptions/x", json={"expression": "a9999 = 9999"}).status_code < 300
    wide = {f"a{number}": number for number in range(10_000)}
    assert client.post("/v1/publish", json={"event": wide}).json()["matches"] == ["x"]
    for event in (
        {"a": list(range(50_000))}, {"a": [wide] * 2}, {"a": "x" * 1_000_000}, {"x" * 100_000: 1},
        {"a": [[[[1]]]] * 1_000}, {str(number): None for number in range(20_000)},
    ):  # fmt: skip
        assert client.post("/v1/publish", json={"event": event}).json()["count"] == 0
        assert client.post("/v1/publish/many", json={"events": [event, event]}).status_code == 200
        assert client.post("/v1/top-k", json={"event": event, "relaxed": True}).status_code == 200
        assert client.post("/v1/explain", json={"id": "x", "event": event}).status_code == 200
    client.delete("/v1/subscriptions/x")


EXPRESSIONS = {
    "parentheses": "(" * 10_000 + "a = 1" + ")" * 10_000,
    "open ones": "(" * 10_000,
    "closed ones": ")" * 10_000,
    "NOT": "NOT " * 10_000 + "a = 1",
    "minus": "a = " + "-" * 10_000 + "1",
    "plus": "a = 1" + " + 1" * 3_000,
    "AND": " AND ".join(f"a{number} = 1" for number in range(2_000)),
    "XOR": " XOR ".join(f"a{number} = 1" for number in range(500)),
    "OR of AND": " AND ".join(f"(a{number} = 1 OR b{number} = 1)" for number in range(40)),
    "IN": f"a IN ({', '.join(map(str, range(15_000)))})",
    "brackets": "a" + "[b" * 5_000 + " = 1" + "]" * 5_000,
    "dots": "a" + ".b" * 5_000 + " = 1",
    "digits": f"a = {'9' * 50_000}",
    "a small number": "a = 1e-99999999999",
    "a large number": "a = 1e99999999999",
    "a name": f"{'a' * 50_000} = 1",
    "a quoted name": f'"{"x" * 50_000}" = 1',
    "a string": f"a = '{'x' * 50_000}'",
    "quotes": "'" * 10_001,
    "NUL": "a = '\0'",
    "a pattern": f"a MATCHES '{'(a+)+' * 5_000}$'",
    "a large pattern": "a MATCHES '((((a{100}){100}){100}){100})'",
    "a nested pattern": f"a MATCHES '{'(' * 5_000}{')' * 5_000}'",
    "LIKE": f"a LIKE '{'%a' * 20_000}'",
    "CAST": "CAST(" * 5_000 + "a" + " AS int)" * 5_000 + " = 1",
    "comments": "/*" * 10_000,
    "symbols": string.punctuation * 1_000,
    "nothing": "",
    "spaces": " \t\n" * 10_000,
    "odd letters": "ａ ＝ １ \u202e\u0000\ufeff",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EXPRESSIONS)
def test_expressions_that_nobody_writes(client, what):
    text = EXPRESSIONS[what]
    asked = json.dumps({"expression": text})
    for path in ("PUT", "/v1/validate", "/v1/dry-run"):
        send(client, path, asked)
    send(client, "/v1/explain", json.dumps({"expression": text, "event": {"a": "a" * 1_000}}))
    rows = {"subscriptions": [{"id": "x", "expression": text}], "errors": "quarantine", "replace": True}
    assert send(client, "/v1/subscriptions", json.dumps(rows)) == 200
    if len(text) < 11_000:
        for query in ({"text": text}, {"mentions": text}, {"constant": text}):
            get_checked_status(client.get("/v1/subscriptions", params=query))
    client.delete("/v1/subscriptions/x")


@pytest.mark.slow
def test_patterns_that_other_engines_take_for_ever(client):
    for pattern in ("(a+)+$", "(a|a)+$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"):
        assert client.put("/v1/subscriptions/x", json={"expression": f"a MATCHES '{pattern}'"}).status_code < 300
        assert client.post("/v1/publish", json={"event": {"a": "a" * 20_000 + "!"}}).json()["count"] == 0
    client.delete("/v1/subscriptions/x")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_ids_in_addresses(client, method):
    body = {"json": {"expression": "a = 1"}} if method == "PUT" else {}
    for id_ in (
        "%00", "%ff", "%ed%a0%80", "x" * 10_000, "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%0d%0aX-Evil:1", "<script>", "%25",
        "%F0%9F%98%80", "..%2f..", "remove/", "%20",
    ):  # fmt: skip
        assert get_checked_status(client.request(method, f"/v1/subscriptions/{id_}", **body)) in (200, 201, 404, 422)
        assert get_checked_status(client.request(method, f"/v1/subscriptions/{id_}?id_type=int", **body)) == 422
    for number in (2**63, -(2**63), 10**30, "1e3", "0x10", "", "+", "9" * 5_000):
        assert get_checked_status(client.request(method, f"/v1/subscriptions/{number}?id_type=int", **body)) == 422
    get_checked_status(client.get(f"/v1/subscriptions?start={'9' * 5_000}&id_type=int"))
    get_checked_status(client.get("/v1/subscriptions?limit=" + "9" * 5_000))


def test_headers_that_nobody_sends(client):
    for headers in (
        {"content-length": "-1"}, {"content-length": "x"}, {"content-type": "text/plain"}, {"content-type": "\xff"},
        {"authorization": "Bearer " + "x" * 10_000}, {"accept": "application/xml"}, {"content-encoding": "gzip"},
    ):  # fmt: skip
        sent = {name: value.encode("latin-1") for name, value in headers.items()}
        get_checked_status(client.post("/v1/publish", content=b'{"event": {}}', headers=sent))
        get_checked_status(client.post("/v1/subscriptions", content=b'{"subscriptions": []}', headers=sent))


# what the description says


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def openapi_schema(tmp_path_factory):
    with run_service(tmp_path_factory.mktemp("openapi_schema") / "data") as address:
        with Client(address) as client:
            client.add_many([("ann-1", "price < 20", 1.0, None, {"subscriber": "ann"}), (5, "price < 5")])
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        yield schema.exclude(path="/v1/live")  # it has no end


def check_operations(openapi_schema, examples):
    """Send `examples` random requests to every path."""

    def send_case(case):
        case.call_and_validate(checks=CHECKS)

    count = 0
    for found in openapi_schema.get_all_operations():
        operation = found.ok()
        run = given(operation.as_strategy())(send_case)
        settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))(run)()
        count += 1
    assert count > 15


def test_answers_are_as_described(openapi_schema):
    check_operations(openapi_schema, 10)


@pytest.mark.slow
def test_many_answers_are_as_described(openapi_schema):
    check_operations(openapi_schema, 300)
