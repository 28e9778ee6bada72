"""Roles, hosts, rates, and the size and time of requests."""

import http.client
import json
import socket
import time
from contextlib import closing

import httpx2
import pytest

from service_support import JSON_HEADERS, expect_error, make_bearer, make_test_client
from tellwhen.client import Client, ServiceError
from tellwhen.errors import ArgumentError
from tellwhen.service import Keys, Limits
from tellwhen.service.guard import SECURITY_HEADERS, TokenBucket
from tellwhen.service.keys import ROLES
from tellwhen.service.serving import is_loopback

REQUIRED_ROLES = {
    ("get", "/healthz"): None,
    ("get", "/readyz"): None,
    ("get", "/metrics"): "read",
    ("get", "/v1"): "read",
    ("get", "/v1/attributes"): "read",
    ("get", "/v1/stats"): "read",
    ("get", "/v1/live"): "read",
    ("get", "/v1/subscriptions"): "read",
    ("get", "/v1/subscriptions/{id}"): "read",
    ("post", "/v1/match"): "read",
    ("post", "/v1/top-k"): "read",
    ("post", "/v1/explain"): "read",
    ("post", "/v1/validate"): "read",
    ("post", "/v1/dry-run"): "read",
    ("post", "/v1/publish"): "publish",
    ("post", "/v1/publish/many"): "publish",
    ("post", "/v1/scores"): "manage",
    ("post", "/v1/subscriptions"): "manage",
    ("post", "/v1/subscriptions/remove"): "manage",
    ("put", "/v1/subscriptions/{id}"): "manage",
    ("delete", "/v1/subscriptions/{id}"): "manage",
}
"""Which role a path needs: a decision for each. None is for everybody."""


UNDESCRIBED = {"/", "/openapi.json", "/console"}
"""Paths that the description leaves out; they need no key."""


def test_there_is_a_decision_for_every_path(guarded):
    client, _, _ = guarded
    described = client.get("/openapi.json").json()["paths"]
    assert {(method, path) for path, methods in described.items() for method in methods} == set(REQUIRED_ROLES)
    routes = {route.path.replace(":any", "") for route in client.app._app._app.routes}
    assert routes <= {path for _, path in REQUIRED_ROLES} | UNDESCRIBED


@pytest.mark.parametrize(("method", "path"), REQUIRED_ROLES)
def test_roles(guarded, method, path):
    client, secrets, _ = guarded
    # What is sent is refused behind the guard, so that nothing changes and nobody listens for ever.
    address = path.replace("{id}", "nobody") + ("?filter=(" if path == "/v1/live" else "")
    sent = {"content": b"{", "headers": JSON_HEADERS} if method in ("post", "put") else {"headers": {}}

    def ask(headers):
        return client.request(method, address, **{**sent, "headers": {**sent["headers"], **headers}})

    needs = REQUIRED_ROLES[method, path]
    for given in (None, "Bearer wrong", "Bearer ", "Bearer", secrets["manage"], "Basic x", "Bearer \xe9"):
        response = ask({} if given is None else {"authorization": given.encode("latin-1")})
        if needs is None:
            assert response.status_code == 200
        else:
            expect_error(response, 401, "KeyRefused")
            assert response.headers["www-authenticate"] == "Bearer"
    for role in ROLES:
        response = ask(make_bearer(secrets[role]))
        if needs in (None, role):
            assert response.status_code in (200, 404, 422), response.text
        else:
            assert needs in expect_error(response, 403, "RoleMissing")
        assert ask(make_bearer(secrets["ann"])).status_code in (200, 404, 422)


def test_answers_say_nothing_of_other_keys_and_are_not_kept(guarded):
    client, secrets, _ = guarded
    for response in (
        client.get("/v1", headers=make_bearer(secrets["read"])),
        client.get("/v1"),
        client.get("/v1/nothing", headers=make_bearer(secrets["read"])),
    ):
        for name, value in SECURITY_HEADERS:
            assert response.headers[name.decode()] == value.decode()
        assert "bob" not in response.text


def test_addresses_that_look_open_are_not(guarded):
    client, _, _ = guarded
    for path in ("/console/../v1", "/healthz/../v1", "//v1", "/v1/", "/V1", "/v1/subscriptions/", "/console"):
        response = client.get(httpx2.URL("http://127.0.0.1" + path), follow_redirects=False)
        assert response.status_code in (307, 401, 404), path
        assert "subscriptions" not in response.text


def send_raw(address, head, *parts, wait=0.0):
    """Send bytes as they are; returns the status, and the whole answer."""
    host, port = address.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)), timeout=20)) as connection:
        connection.sendall(head)
        for part in parts:
            time.sleep(wait)
            try:
                connection.sendall(part)
            except OSError:
                break  # it is refused already
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer, json.loads(answer.read())


def make_head(path, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


PATHS = [path for method, path in REQUIRED_ROLES if method == "post"]


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_is_too_large(small, path):
    body = b'{"event": {"x": "%s"}}' % (b"x" * 3_000)
    assert "2,000 bytes" in expect_error(httpx2.post(small + path, content=body, headers=JSON_HEADERS), 413, "TooLarge")
    # Without its length, in chunks.
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    answer, told = send_raw(small, make_head(path, "Transfer-Encoding: chunked"), chunk)
    assert (answer.status, told["error"]) == (413, "TooLarge")
    assert answer.headers["connection"] == "close"
    # A length that cannot be.
    answer, told = send_raw(small, make_head(path, f"Content-Length: {10**15}"))
    assert (answer.status, told["error"]) == (413, "TooLarge")


def test_a_body_that_never_ends_is_left(small):
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    answer, told = send_raw(small, make_head("/v1/publish", "Transfer-Encoding: chunked"), *[chunk] * 4)
    assert (answer.status, told["error"]) == (413, "TooLarge")


@pytest.mark.parametrize("path", ["/v1/publish", pytest.param("/v1/subscriptions", marks=pytest.mark.slow)])
def test_a_body_that_arrives_too_slowly(small, path):
    begin = time.monotonic()
    answer, told = send_raw(small, make_head(path, "Content-Length: 100"), *[b"{"] * 5, wait=0.3)
    assert (answer.status, told["error"]) == (504, "TooSlow")
    assert time.monotonic() - begin < 10
    assert httpx2.get(f"{small}/healthz").status_code == 200


def test_more_than_a_request_may_have(small):
    with Client(small) as client:

        def kind(call, *given, **more):
            with pytest.raises(ServiceError) as caught:
                call(*given, **more)
            assert caught.value.status == 413
            return str(caught.value)

        assert "3 events" in kind(client.publish_many, [{}] * 4)
        assert "5 matches" in kind(client.publish_many, [{"x": 1}])
        assert "2 subscriptions" in kind(client.add_many, {"a": "x = 1", "b": "x = 1", "c": "x = 1"})
        long = "x = 1" + " OR x = 1" * 10
        assert "50 characters" in kind(client.add, "long", long)
        assert "50 characters" in kind(lambda: list(client.listen(filter=long)))
        assert "50 characters" in kind(client.dry_run, long)
        expect_error(httpx2.put(f"{small}/v1/subscriptions/long", json={"expression": long}), 413, "TooLarge")
        body = {"expression": long, "event": {}}
        expect_error(httpx2.post(f"{small}/v1/explain", json=body), 413, "TooLarge")
        answer = httpx2.post(f"{small}/v1/match", json={"event": {"x": 1}}).json()
        assert (answer["count"], len(answer["matches"]), answer["truncated"]) == (6, 5, True)
        with pytest.raises(ArgumentError, match="6 subscriptions"):
            client.match({"x": 1})
        assert client.count({"x": 1}) == 6
        assert len(client) == 6


def test_a_rate_of_requests(tmp_path):
    made = Keys(tmp_path / "data" / "keys.json")
    slow, quick = made.add("slow", ["read"], rate=0.4), made.add("quick", ["read"])
    with make_test_client(tmp_path / "data", Limits(rate=1_000)) as client:
        assert client.get("/v1", headers=make_bearer(slow)).status_code == 200
        response = client.get("/v1", headers=make_bearer(slow))
        assert "0.4 requests per second" in expect_error(response, 429, "TooMany")
        assert response.headers["retry-after"] == "3"
        assert client.get("/v1", headers=make_bearer(quick)).status_code == 200
        assert client.get("/healthz", headers=make_bearer(slow)).status_code == 200


def test_a_rate_without_keys(tmp_path):
    with make_test_client(tmp_path / "data", Limits(rate=2)) as client:
        statuses = [client.get("/v1").status_code for _ in range(4)]
        assert statuses[:2] == [200, 200]
        assert 429 in statuses


def test_a_bucket_fills_again(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bucket = TokenBucket(4.0)
    assert [bucket.take() for _ in range(4)] == [0.0] * 4
    assert bucket.take() == pytest.approx(0.25)
    now += 0.25
    assert bucket.take() == 0.0
    assert bucket.take() > 0
    now += 1_000
    assert [bucket.take() > 0 for _ in range(5)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("headers", "is_admitted"),
    [
        ({"host": "127.0.0.1:8080"}, True), ({"host": "localhost"}, True), ({"host": "LOCALHOST:1"}, True),
        ({"host": "[::1]:8080"}, True), ({"host": "[::1]"}, True), ({"host": "evil.example"}, False),
        ({"host": "127.0.0.1.evil.example"}, False), ({"host": "localhost.evil.example:8080"}, False),
        ({"host": ""}, False), ({"host": "127.0.0.1:8080@evil.example"}, False), ({"host": "192.168.0.1"}, False),
        ({"origin": "http://127.0.0.1:8080"}, True), ({"origin": "http://localhost"}, True),
        ({"origin": "https://evil.example"}, False), ({"origin": "null"}, False),
        ({"origin": "http://localhost.evil.example"}, False), ({"origin": "http://evil.example:80"}, False),
    ],
)  # fmt: skip
def test_without_keys_only_this_machine_is_answered(open_service, headers, is_admitted):
    for path in ("/v1", "/healthz", "/openapi.json"):
        response = open_service.get(path, headers=headers)
        if is_admitted:
            assert response.status_code == 200
        else:
            assert "this machine" in expect_error(response, 421, "HostRefused")


@pytest.fixture(scope="module")
def open_service(tmp_path_factory):
    with make_test_client(tmp_path_factory.mktemp("open") / "data") as client:
        yield client


def test_hosts_of_this_machine():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "localhost.example", "", "10.0.0.1")))


def test_a_body_in_pieces_has_the_same_limit(tmp_path):
    with make_test_client(tmp_path / "data", Limits(single=1_000)) as client:
        event = b'{"event": {"x": "' + b"y" * 900 + b'"}}'
        for more, status in ((0, 200), (1_000 - len(event), 200), (1_001 - len(event), 413)):
            pieces = iter([event[:10], event[10:], b" " * more])
            assert client.post("/v1/match", content=pieces).status_code == status


def test_lengths_origins_and_addresses_that_cannot_be(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        assert client.post("/v1/match", content=b"{}", headers={"content-length": "9" * 5_000}).status_code == 413
        twice = [("origin", "http://localhost"), ("origin", "http://evil.com")]
        assert client.get("/v1", headers=httpx2.Headers(twice)).status_code == 422
        assert client.get("/v1/subscriptions?start=%ff").status_code == 422
        answer = client.get("/v1/publish")
        assert (answer.status_code, answer.json()["message"]) == (405, "Method Not Allowed: this path has POST")


def test_only_requests_about_many_may_be_large(fresh_client):
    event = {"event": {"text": "x" * (2 << 20)}}
    assert fresh_client.post("/v1/publish", json=event).status_code == 413
    many = {"events": [{"text": "x" * (2 << 20)}]}
    assert fresh_client.post("/v1/publish/many", json=many).status_code == 200


def test_headers_that_come_twice_and_addresses_that_are_no_text(fresh_client):
    twice = fresh_client.get("/v1", headers=[("host", "127.0.0.1"), ("host", "evil.example")])
    assert (twice.status_code, twice.json()["message"]) == (422, "the header host occurs twice; send it once")
    assert fresh_client.get("/v1/subscriptions/%ff").status_code == 422
    assert fresh_client.get("/v1/subscriptions/%C3%A9").status_code == 404
