"""Who is let in, with which role, and with how much? Does a tenant learn anything of another?"""

import http.client
import json
import shutil
import socket
import ssl
import stat
import subprocess
import threading
import time
from contextlib import closing

import httpx2
import pytest

from service_support import JSON_HEADERS, make_test_client, run_service, wait_until
from tellwhen.client import Client, ServiceError
from tellwhen.errors import ArgumentError, FormatError, UnknownId
from tellwhen.service import Keys, Limits, keys, serve
from tellwhen.service.guard import HEADERS, Bucket
from tellwhen.service.serving import is_loopback

NEEDS = {
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
ROLES = ("read", "publish", "manage")


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch):
    """Keys are read again at every request."""
    monkeypatch.setattr(keys, "LOOK_AGAIN_SECONDS", 0.0)


def bearer(secret):
    return {"authorization": f"Bearer {secret}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A service, with a key for each role, and one for all of them in each of two tenants."""
    folder = tmp_path_factory.mktemp("guard") / "data"
    made = Keys(folder / "keys.json")
    secrets = {role: made.add(role, [role]) for role in ROLES}
    secrets |= {tenant: made.add(tenant, list(ROLES), tenant) for tenant in ("ann", "bob")}
    with make_test_client(folder) as client:
        yield client, secrets, folder


def refused(response, status, kind):
    assert response.status_code == status, response.text
    body = response.json()
    assert body["error"] == kind
    assert body["message"]
    return body["message"]


# keys and roles


def test_there_is_a_decision_for_every_path(guarded):
    client, _, _ = guarded
    described = client.get("/openapi.json").json()["paths"]
    assert {(method, path) for path, methods in described.items() for method in methods} == set(NEEDS)
    routes = {route.path.replace(":any", "") for route in client.app._app._app.routes}
    assert routes <= {path for _, path in NEEDS} | UNDESCRIBED


@pytest.mark.parametrize(("method", "path"), NEEDS)
def test_roles(guarded, method, path):
    client, secrets, _ = guarded
    # What is sent is refused behind the guard, so that nothing changes and nobody listens for ever.
    address = path.replace("{id}", "nobody") + ("?filter=(" if path == "/v1/live" else "")
    sent = {"content": b"{", "headers": JSON_HEADERS} if method in ("post", "put") else {"headers": {}}

    def ask(headers):
        return client.request(method, address, **{**sent, "headers": {**sent["headers"], **headers}})

    needs = NEEDS[method, path]
    for given in (None, "Bearer wrong", "Bearer ", "Bearer", secrets["manage"], "Basic x", "Bearer \xe9"):
        response = ask({} if given is None else {"authorization": given.encode("latin-1")})
        if needs is None:
            assert response.status_code == 200
        else:
            refused(response, 401, "KeyRefused")
            assert response.headers["www-authenticate"] == "Bearer"
    for role in ROLES:
        response = ask(bearer(secrets[role]))
        if needs in (None, role):
            assert response.status_code in (200, 404, 422), response.text
        else:
            assert needs in refused(response, 403, "RoleMissing")
        assert ask(bearer(secrets["ann"])).status_code in (200, 404, 422)


def test_answers_say_nothing_of_other_keys_and_are_not_kept(guarded):
    client, secrets, _ = guarded
    for response in (
        client.get("/v1", headers=bearer(secrets["read"])),
        client.get("/v1"),
        client.get("/v1/nothing", headers=bearer(secrets["read"])),
    ):
        for name, value in HEADERS:
            assert response.headers[name.decode()] == value.decode()
        assert "bob" not in response.text


def test_addresses_that_look_open_are_not(guarded):
    client, _, _ = guarded
    for path in ("/console/../v1", "/healthz/../v1", "//v1", "/v1/", "/V1", "/v1/subscriptions/", "/console"):
        response = client.get(httpx2.URL("http://127.0.0.1" + path), follow_redirects=False)
        assert response.status_code in (307, 401, 404), path
        assert "subscriptions" not in response.text


def test_keys_come_and_go_while_the_service_runs(guarded):
    client, _, folder = guarded
    made = Keys(folder / "keys.json")
    secret = made.add("late", ["read"], "late-tenant")
    about = client.get("/v1", headers=bearer(secret)).json()
    assert (about["tenant"], about["roles"]) == ("late-tenant", ["read"])
    made.remove("late")
    refused(client.get("/v1", headers=bearer(secret)), 401, "KeyRefused")


def test_the_first_key_closes_a_service_that_runs(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        assert client.get("/v1").status_code == 200
        made = Keys(tmp_path / "data" / "keys.json")
        secret = made.add("first", ["read"])
        refused(client.get("/v1"), 401, "KeyRefused")
        assert client.get("/v1", headers=bearer(secret)).status_code == 200
        # With a key, a page elsewhere may ask: it must know one.
        assert client.get("/v1", headers={**bearer(secret), "host": "tellwhen.example"}).status_code == 200
        made.remove("first")
        refused(client.get("/v1", headers=bearer(secret)), 401, "KeyRefused")
        (tmp_path / "data" / "keys.json").unlink()
        refused(client.get("/v1"), 401, "KeyRefused")  # it does not open again


def test_a_damaged_file_of_keys_lets_nobody_in(tmp_path, caplog):
    file = tmp_path / "data" / "keys.json"
    secret = Keys(file).add("one", ["read"])
    good = file.read_bytes()
    with make_test_client(tmp_path / "data") as client:
        for damage in (b"", b"{", b"[]", b'{"keys": [{}]}', b'{"keys": 5}', b"\xff", b"[" * 100_000):
            file.write_bytes(damage)
            for _ in range(2):
                message = refused(client.get("/v1", headers=bearer(secret)), 503, "Unavailable")
                assert str(tmp_path) not in message
        assert "is damaged" in caplog.text
        file.write_bytes(good)
        assert client.get("/v1", headers=bearer(secret)).status_code == 200
    file.write_bytes(b"{")
    with pytest.raises(FormatError), make_test_client(tmp_path / "data"):
        pass


def test_the_file_has_no_key_in_clear(tmp_path):
    file = tmp_path / "data" / "keys.json"
    made = Keys(file)
    secrets = [made.add(f"key{number}", ["read"]) for number in range(3)]
    made.remove("key1")
    text = file.read_text()
    for secret in secrets:
        assert len(secret) >= 43
        assert secret not in text
        assert secret.removeprefix("tw_") not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in file.parent.iterdir()} == {"keys.json", "keys.json.lock"}  # nothing unfinished
    assert [key.name for key in Keys(file).all()] == ["key0", "key2"]
    assert Keys(file).of(secrets[0]).name == "key0"
    assert Keys(file).of(secrets[1]) is None


@pytest.mark.parametrize(
    "given",
    [
        ("", ["read"]), ("x" * 101, ["read"]), ("a\nb", ["read"]), ("a", []), ("a", ["admin"]), ("a", ["read"], "A"),
        ("a", ["read"], "../x"), ("a", ["read"], ""), ("a", ["read"], "x" * 64), ("a", ["read"], "t", 0),
        ("a", ["read"], "t", -1), ("a", ["read"], "t", float("nan")), ("taken", ["read"]),
    ],
)  # fmt: skip
def test_keys_that_cannot_be_made(tmp_path, given):
    made = Keys(tmp_path / "keys.json")
    made.add("taken", ["read"])
    with pytest.raises(ArgumentError):
        made.add(*given)
    with pytest.raises(UnknownId):
        made.remove("nobody")
    assert len(made.all()) == 1


# tenants


def test_tenants_share_nothing(guarded):
    client, secrets, _ = guarded
    ann, bob = bearer(secrets["ann"]), bearer(secrets["bob"])
    for id_ in ("shared", "private"):
        body = {"expression": "secret_of_ann > 1", "payload": {"subscriber": "ann"}}
        assert client.put(f"/v1/subscriptions/{id_}", json=body, headers=ann).status_code == 201
    assert client.put("/v1/subscriptions/shared", json={"expression": "b = 1"}, headers=bob).status_code == 201

    event = {"secret_of_ann": 2}
    assert client.post("/v1/publish", json={"event": event}, headers=ann).json()["count"] == 2
    for path in ("publish", "match"):
        assert client.post(f"/v1/{path}", json={"event": event}, headers=bob).json()["count"] == 0
    assert client.post("/v1/publish/many", json={"events": [event]}, headers=bob).json()["matches"] == [[]]
    assert client.post("/v1/top-k", json={"event": event, "relaxed": True}, headers=bob).json()["matches"] in (
        [], [{"id": "shared", "score": 0.0}],
    )  # fmt: skip

    refused(client.get("/v1/subscriptions/private", headers=bob), 404, "UnknownId")
    refused(client.delete("/v1/subscriptions/private", headers=bob), 404, "UnknownId")
    refused(client.post("/v1/subscriptions/remove", json={"ids": ["private"]}, headers=bob), 404, "UnknownId")
    refused(client.post("/v1/explain", json={"id": "private", "event": event}, headers=bob), 404, "UnknownId")
    scores = {"scores": [{"id": "private", "score": 5}]}
    refused(client.post("/v1/scores", json=scores, headers=bob), 404, "UnknownId")
    refused(client.get("/v1/subscriptions", params={"start": "private"}, headers=bob), 404, "UnknownId")
    assert client.put("/v1/subscriptions/shared", json={"expression": "b = 2"}, headers=bob).status_code == 200

    page = client.get("/v1/subscriptions", headers=bob).json()["subscriptions"]
    assert [one["expression"] for one in page] == ["b = 2"]
    assert client.get("/v1/attributes", headers=bob).json() == {"b": "number"}
    assert client.get("/v1", headers=bob).json()["subscriptions"] == 1
    tried = client.post("/v1/dry-run", json={"expression": "secret_of_ann IS NOT NULL"}, headers=bob).json()
    assert (tried["events"], tried["matches"]) == (2, 2)  # those that bob published
    stats = client.get("/v1/stats", headers=bob).json()
    assert (stats["subscriptions"], stats["events"], stats["matches"]) == (1, 2, 0)
    metrics = client.get("/metrics", headers=bob).text.splitlines()
    assert "tellwhen_subscriptions 1.0" in metrics
    assert "tellwhen_events_total 2.0" in metrics
    assert "tellwhen_matches_total 0.0" in metrics
    for path in ("/v1/stats", "/metrics", "/v1", "/v1/subscriptions"):
        assert "ann" not in client.get(path, headers=bob).text

    shown = client.get("/v1/subscriptions/shared", headers=ann).json()
    assert shown["expression"] == "secret_of_ann > 1"
    assert client.get("/v1/stats", headers=ann).json()["events"] == 1


def test_tenants_do_not_hear_each_other(tmp_path):
    made = Keys(tmp_path / "data" / "keys.json")
    secrets = {tenant: made.add(tenant, list(ROLES), tenant) for tenant in ("ann", "bob")}
    with (
        run_service(tmp_path / "data") as address,
        Client(address, secrets["ann"]) as ann,
        Client(address, secrets["bob"]) as bob,
    ):
        for client in (ann, bob):
            client.add("same", "x > 0", payload={"subscriber": "same"})
        heard = []

        def listen(**wanted):
            with Client(address, secrets["ann"]) as client:
                heard.append(next(client.listen(**wanted)))

        ways = ({}, {"subscriber": "same"}, {"ids": ["same"]}, {"filter": "x > 0"})
        threads = [threading.Thread(target=listen, kwargs=wanted, daemon=True) for wanted in ways]
        for thread in threads:
            thread.start()
        wait_until(lambda: ann.get_stats()["listeners"] == len(ways))
        assert bob.get_stats()["listeners"] == 0
        bob.publish({"x": 1})
        bob.publish_many([{"x": 2}])
        assert ann.publish({"x": 3}) == ["same"]
        for thread in threads:
            thread.join(20)
        assert [message.data for message in heard] == [{"event": {"x": 3}, "matches": ["same"]}] * len(ways)
        wait_until(lambda: ann.get_stats()["listeners"] == 0)


# how much


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A service of small limits, over a socket."""
    limits = Limits(body=2_000, events=3, subscriptions=2, results=5, expression=50, seconds=1.0, listeners=1)
    with run_service(tmp_path_factory.mktemp("small") / "data", limits=limits) as address, Client(address) as client:
        client.add_many({f"s{number}": "x > 0" for number in range(2)})
        client.add_many({f"t{number}": "x > 0" for number in range(2)})
        client.add_many({f"u{number}": "x > 0" for number in range(2)})
        yield address


def raw(address, head, *parts, wait=0.0):
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


def request(path, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


PATHS = [path for method, path in NEEDS if method == "post"]


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_is_too_large(small, path):
    body = b'{"event": {"x": "%s"}}' % (b"x" * 3_000)
    assert "2,000 bytes" in refused(httpx2.post(small + path, content=body, headers=JSON_HEADERS), 413, "TooLarge")
    # Without its length, in chunks.
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    answer, told = raw(small, request(path, "Transfer-Encoding: chunked"), chunk)
    assert (answer.status, told["error"]) == (413, "TooLarge")
    assert answer.headers["connection"] == "close"
    # A length that cannot be.
    answer, told = raw(small, request(path, f"Content-Length: {10**15}"))
    assert (answer.status, told["error"]) == (413, "TooLarge")


def test_a_body_that_never_ends_is_left(small):
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    answer, told = raw(small, request("/v1/publish", "Transfer-Encoding: chunked"), *[chunk] * 4)
    assert (answer.status, told["error"]) == (413, "TooLarge")


@pytest.mark.parametrize("path", ["/v1/publish", pytest.param("/v1/subscriptions", marks=pytest.mark.slow)])
def test_a_body_that_arrives_too_slowly(small, path):
    begin = time.monotonic()
    answer, told = raw(small, request(path, "Content-Length: 100"), *[b"{"] * 5, wait=0.3)
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
        refused(httpx2.put(f"{small}/v1/subscriptions/long", json={"expression": long}), 413, "TooLarge")
        body = {"expression": long, "event": {}}
        refused(httpx2.post(f"{small}/v1/explain", json=body), 413, "TooLarge")
        answer = httpx2.post(f"{small}/v1/match", json={"event": {"x": 1}}).json()
        assert (answer["count"], len(answer["matches"]), answer["truncated"]) == (6, 5, True)
        with pytest.raises(ArgumentError, match="6 subscriptions"):
            client.match({"x": 1})
        assert client.count({"x": 1}) == 6
        assert len(client) == 6


def test_more_listeners_than_there_may_be(small):
    with httpx2.stream("GET", f"{small}/v1/live") as first:
        assert first.status_code == 200
        refused(httpx2.get(f"{small}/v1/live"), 429, "TooMany")
    with Client(small) as client:
        wait_until(lambda: client.get_stats()["listeners"] == 0)
    with httpx2.stream("GET", f"{small}/v1/live") as again:
        assert again.status_code == 200


def test_a_rate_of_requests(tmp_path):
    made = Keys(tmp_path / "data" / "keys.json")
    slow, quick = made.add("slow", ["read"], rate=0.4), made.add("quick", ["read"])
    with make_test_client(tmp_path / "data", Limits(rate=1_000)) as client:
        assert client.get("/v1", headers=bearer(slow)).status_code == 200
        response = client.get("/v1", headers=bearer(slow))
        assert "0.4 requests per second" in refused(response, 429, "TooMany")
        assert response.headers["retry-after"] == "3"
        assert client.get("/v1", headers=bearer(quick)).status_code == 200
        assert client.get("/healthz", headers=bearer(slow)).status_code == 200


def test_a_rate_without_keys(tmp_path):
    with make_test_client(tmp_path / "data", Limits(rate=2)) as client:
        statuses = [client.get("/v1").status_code for _ in range(4)]
        assert statuses[:2] == [200, 200]
        assert 429 in statuses


def test_a_bucket_fills_again(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bucket = Bucket(4.0)
    assert [bucket.take() for _ in range(4)] == [0.0] * 4
    assert bucket.take() == pytest.approx(0.25)
    now += 0.25
    assert bucket.take() == 0.0
    assert bucket.take() > 0
    now += 1_000
    assert [bucket.take() > 0 for _ in range(5)] == [False] * 4 + [True]


# where


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
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
def test_without_keys_only_this_machine_is_answered(open_service, headers, is_let_in):
    for path in ("/v1", "/healthz", "/openapi.json"):
        response = open_service.get(path, headers=headers)
        if is_let_in:
            assert response.status_code == 200
        else:
            assert "this machine" in refused(response, 421, "HostRefused")


@pytest.fixture(scope="module")
def open_service(tmp_path_factory):
    with make_test_client(tmp_path_factory.mktemp("open") / "data") as client:
        yield client


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", ""])
def test_without_keys_others_cannot_be_listened_to(tmp_path, host):
    with pytest.raises(ArgumentError, match="tellwhen keys add"):
        serve(tmp_path / "data", host=host, port=0)
    assert not (tmp_path / "data").exists()


def test_hosts_of_this_machine():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "localhost.example", "", "10.0.0.1")))


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "certificate.pem", folder / "key.pem"


def test_tls(tmp_path, certificate):
    chain, private = certificate
    with run_service(tmp_path / "data", certificate=chain, private_key=private) as address:
        assert address.startswith("https://127.0.0.1:")
        with Client(address, verify=ssl.create_default_context(cafile=chain)) as client:
            client.add("a", "x > 1")
            assert client.publish({"x": 2}) == ["a"]
        with Client(address) as stranger, pytest.raises(ServiceError, match="certificate"):
            stranger.get_service_info()
        with Client(address.replace("https", "http")) as plain, pytest.raises(ServiceError):
            plain.get_service_info()


def test_tls_needs_both_files(tmp_path, certificate):
    chain, private = certificate
    for files in ({"certificate": chain}, {"private_key": private}):
        with pytest.raises(ArgumentError, match="two files"):
            serve(tmp_path / "data", port=0, **files)


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


def test_keys_of_a_file_that_is_gone_or_odd(tmp_path):
    secret = Keys(tmp_path / "data" / "keys.json").add("ann", ["read"])
    with make_test_client(tmp_path / "data") as client:
        assert client.get("/v1", headers=bearer(secret)).status_code == 200
        file = tmp_path / "data" / "keys.json"
        text = file.read_text()
        file.unlink()
        assert client.get("/v1", headers=bearer(secret)).status_code == 401
        file.write_text(text.replace('"digest": "', '"digest": "\u00e9'))
        assert client.get("/v1", headers=bearer(secret)).status_code == 503
