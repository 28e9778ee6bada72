"""Does one client leave the others alone? What an attack has tried, once more."""

import json
import multiprocessing
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest

from service_support import make_test_client, run_service, wait_until
from tellwhen.client import Client
from tellwhen.service import Keys, Limits
from tellwhen.service import answers as asking
from tellwhen.service.listeners import Live


@pytest.fixture
def client(tmp_path):
    with make_test_client(tmp_path / "data", Limits(seconds=5.0)) as client:
        yield client


def test_publishing_goes_on_beside_requests_that_take_long(tmp_path, monkeypatch):
    """More of them than there are threads."""
    monkeypatch.setattr("tellwhen.service.requests.QUICK_SECONDS", 0.0)
    released = threading.Event()
    monkeypatch.setattr("tellwhen.service.answers.explained", lambda *_: {"value": released.wait(20)})
    with run_service(tmp_path / "data") as address, Client(address) as client:
        client.add("a", "x = 1")
        waiting = [threading.Thread(target=_explain, args=(address,)) for _ in range(8)]
        for one in waiting:
            one.start()
        time.sleep(0.3)
        begin = time.perf_counter()
        assert client.publish({"x": 1}) == ["a"]
        assert time.perf_counter() - begin < 5
        released.set()
        for one in waiting:
            one.join()


def _explain(address):
    with Client(address) as client:
        assert client.explain("a", {"x": 1}) == {"value": True}


def test_an_expression_as_json_has_the_same_limit(client):
    one = {"op": "=", "attribute": "x", "value": 1}
    large = {"op": "and", "args": [one] * 5_000}
    for path in ("/v1/validate", "/v1/dry-run"):
        answer = client.post(path, json={"expression": large})
        assert answer.status_code == 413 or "an expression has at most" in answer.text
    answer = client.put("/v1/subscriptions/a", json={"expression": large})
    assert answer.status_code == 413
    assert "an expression has at most 100,000 characters" in answer.json()["message"]


def test_only_requests_about_many_may_be_large(client):
    event = {"event": {"text": "x" * (2 << 20)}}
    assert client.post("/v1/publish", json=event).status_code == 413
    many = {"events": [{"text": "x" * (2 << 20)}]}
    assert client.post("/v1/publish/many", json=many).status_code == 200


def test_large_events_are_not_kept_for_a_dry_run(client):
    client.post("/v1/publish", json={"event": {"text": "x" * 20_000}})
    client.post("/v1/publish/many", json={"events": [{"text": "x" * 20_000}] * 3})
    client.post("/v1/publish", json={"event": {"text": "y"}})
    assert client.post("/v1/dry-run", json={"expression": "text IS NOT NULL"}).json()["events"] == 1


def test_explaining_takes_time_by_size_and_not_its_square(client):
    event = {f"a{number}.b": number for number in range(20_000)}
    text = " OR ".join(f"b{number} = 1" for number in range(3_000))
    begin = time.process_time()
    assert client.post("/v1/explain", json={"expression": text, "event": event}).status_code == 200
    assert time.process_time() - begin < 4


def test_headers_that_come_twice_and_addresses_that_are_no_text(client):
    twice = client.get("/v1", headers=[("host", "127.0.0.1"), ("host", "evil.example")])
    assert (twice.status_code, twice.json()["message"]) == (422, "the header host is given twice")
    assert client.get("/v1/subscriptions/%ff").status_code == 422
    assert client.get("/v1/subscriptions/%C3%A9").status_code == 404


def test_filters_are_short_and_few(tmp_path):
    with make_test_client(tmp_path / "data", Limits(filters=0)) as client:
        assert client.get("/v1/live", params={"filter": "x = 1"}).status_code == 429
        long = client.get("/v1/live", params={"filter": " OR ".join(["x = 1"] * 500)})
        assert (long.status_code, "a filter has at most 2,000 characters" in long.text) == (413, True)


def test_a_removed_key_hears_nothing_more(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.event_streams.HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr("tellwhen.service.keys.LOOK_AGAIN_SECONDS", 0.05)
    keys = Keys(tmp_path / "data" / "keys.json")
    listening, managing = keys.add("listener", ["read"]), keys.add("boss", ["read", "publish", "manage"])
    with (
        run_service(tmp_path / "data") as address,
        Client(address, managing) as boss,
        Client(address, listening) as other,
    ):
        boss.add("a", "x = 1")
        heard = []
        thread = threading.Thread(target=lambda: heard.extend(other.listen()))
        thread.start()
        wait_until(lambda: boss.get_stats()["listeners"] == 1)
        boss.publish({"x": 1})
        wait_until(lambda: len(heard) == 1)
        keys.remove("listener")
        thread.join(20)
        assert not thread.is_alive()  # the service has ended it
        boss.publish({"x": 1})
        assert len(heard) == 1


def _ended(address, *parts, within=3.0, pause=0.0):
    """Does the service end a connection over which these parts are sent?"""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=within) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while connection.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True


@pytest.mark.slow
def test_heads_of_requests_are_short_and_come_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.protocol.HEAD_SECONDS", 0.3)
    whole = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    with run_service(tmp_path / "data") as address:
        assert _ended(address)
        assert _ended(address, b"GET /healthz HT")
        assert _ended(address, whole)
        assert _ended(address, whole + b"\r\n" + whole)  # the second of two
        assert not _ended(address, whole + b"\r\n", within=1.0)  # it may go on
        monkeypatch.setattr("tellwhen.service.protocol.HEAD_SECONDS", 30.0)
        assert _ended(address, whole, *[b"x-y: " + b"z" * 8_000 + b"\r\n"] * 20)
        assert _ended(address, b"GET /" + b"z" * 100_000)
        with Client(address) as client:  # a large body beside a short head
            client.add("a", "x = 1", payload={"long": "z" * 500_000})


def test_what_is_no_request_does_not_keep_a_connection_open(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.protocol.HEAD_SECONDS", 0.4)
    whole = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    with run_service(tmp_path / "data") as address:
        assert _ended(address, whole + b"\r\n", b"\r\n", pause=0.1)
        assert _ended(address, whole + b"content-length: 1000\r\n\r\n", b"x", pause=0.1)


def _answers(connection, count):
    """So many answers of a connection."""
    found = b""
    while found.count(b"HTTP/1.1 200") < count:
        piece = connection.recv(1 << 16)
        assert piece, f"only {found.count(b'HTTP/1.1 200')} answers"
        found += piece
    return count


def test_many_requests_at_once_over_one_connection(tmp_path):
    one = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: " + b"y" * 900 + b"\r\n\r\n"
    with run_service(tmp_path / "data") as address, _connected(address, one * 300) as connection:
        assert _answers(connection, 300) == 300


def test_nothing_follows_on_a_connection_that_listens(tmp_path):
    live = b"GET /v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with run_service(tmp_path / "data") as address, Client(address) as client:
        with _connected(address, live):
            wait_until(lambda: client.get_stats()["listeners"] == 1)
        for _ in range(5):
            with _connected(address, live + live):
                pass
        wait_until(lambda: client.get_stats()["listeners"] == 0, 8)  # and not when the next sign of life is due


def test_a_million_errors_are_as_quick_as_one(client):
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
        answer = client.post(path, content=content)
        assert (answer.status_code, answer.json()["error"]) == (422, "MalformedRequest")
        assert len(answer.text) < 1_000
        assert time.process_time() - begin < 2


def test_a_tenant_that_cannot_be_opened_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.keys.LOOK_AGAIN_SECONDS", 0.0)
    folder = tmp_path / "data"
    keys = Keys(folder / "keys.json")
    keys.add("acme", ["read"], "acme")
    with run_service(folder, engine="counting"):
        pass
    keys.remove("acme")
    keys.add("other", ["read"])
    with run_service(folder, engine="atree") as address:
        late = keys.add("late", ["read"], "acme")
        before = None
        for number in range(30):
            answer = httpx2.get(f"{address}/v1", headers={"authorization": f"Bearer {late}"})
            assert (answer.status_code, answer.json()["error"]) == (503, "Unavailable")
            before = _open_files() if number == 5 else before
        assert _open_files() <= before + 2


def _open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_lengths_of_bodies_that_are_no_numbers(tmp_path):
    with run_service(tmp_path / "data") as address:
        for length, status in ((b"0" * 5_000 + b"17", b"200"), (b"9" * 5_000, b"4"), (b"0" * 5_000, b"200")):
            sent = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: " + length + b"\r\n\r\n"
            with _connected(address, sent) as connection:
                told = connection.recv(1 << 16)
            assert told.startswith(b"HTTP/1.1 " + status), told


def _connected(address, sent):
    """A connection whose system keeps little of what comes, and over which this is sent."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(20)
    connection.connect((host, int(port)))
    connection.sendall(sent)
    return connection


def _rest(connection, slow=0.0):
    """How much comes, until the end; for so many seconds, it is read slowly."""
    count, ends = 0, time.monotonic() + slow
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 18):
            count += len(piece)
            if time.monotonic() < ends:
                time.sleep(0.01)
    return count


LARGE = b'{"event": {"x": 1}, "payload": true}'
ASKING = b"POST /v1/match HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(LARGE)


@pytest.mark.slow
def test_an_answer_may_take_longer_than_an_idle_connection_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.serving.KEEP_ALIVE_SECONDS", 0.5)
    with run_service(tmp_path / "data") as address, Client(address) as client:
        for number in range(12):
            client.add(number, "x = 1", payload={"long": "z" * 900_000})
        with _connected(address, ASKING.replace(b"connection: close\r\n", b"") + LARGE) as steady:
            assert _rest(steady, slow=3.0) > 12 * 900_000  # and then it is ended: it is idle


@pytest.mark.slow
def test_who_does_not_read_an_answer_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.protocol.UNREAD_SECONDS", 0.4)
    with run_service(tmp_path / "data") as address, Client(address) as client:
        for number in range(12):
            client.add(number, "x = 1", payload={"long": "z" * 900_000})
        whole = 12 * 900_000
        with _connected(address, ASKING + LARGE) as steady:
            assert _rest(steady, slow=1.5) > whole
        with _connected(address, ASKING + LARGE) as idle:
            time.sleep(1.5)
            assert _rest(idle) < whole
        kept = HTTPConnection(address.removeprefix("http://"))  # which would not connect once more
        for _ in range(2):
            kept.request("POST", "/v1/match", LARGE)
            time.sleep(0.2)
            assert len(kept.getresponse().read()) > whole
            time.sleep(1.2)  # all is read: it may wait
        kept.close()


def test_a_listener_that_does_not_read_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.service.protocol.UNREAD_SECONDS", 0.4)
    with run_service(tmp_path / "data") as address, Client(address) as client:
        client.add("a", "x = 1")
        with _connected(address, b"GET /v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"):
            wait_until(lambda: client.get_stats()["listeners"] == 1)
            for _ in range(40):
                client.publish({"x": 1, "long": "z" * 900_000})
            wait_until(lambda: client.get_stats()["listeners"] == 0)


def _add_key(folder, number):
    Keys(folder / "keys.json").add(f"key{number}", ["read"])


def test_keys_that_are_made_at_once_are_all_kept(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_add_key, args=(tmp_path, number)) for number in range(8)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    assert len(json.loads((tmp_path / "keys.json").read_text())["keys"]) == 8


def test_events_of_any_size_are_not_kept(client):
    """A sample of events is kept in memory: of large ones, little."""
    index = client.app._tenants.get("default").index
    for large in ([[]] * 50_000, "x" * 500_000, {str(n): n for n in range(30_000)}, ["y" * 5_000] * 100):
        assert client.post("/v1/match", json={"event": {"a": large, "b": 1}}).status_code == 200
        assert client.post("/v1/publish/many", json={"events": [{"a": large}] * 3}).status_code == 200
    kept = index._recent._kept
    assert len(kept) == 16
    assert sum(len(json.dumps(one)) for one in kept) < 16 * 100_000
    assert not any(isinstance(one["a"], dict) and len(one["a"]) > 1_000 for one in kept)


def test_what_takes_long_to_explain_is_given_up(client):
    like = " AND ".join(f"s LIKE '%{'a' * 900}b{n}'" for n in range(100))
    begin = time.thread_time()
    answer = client.post("/v1/explain", json={"expression": like, "event": {"s": "a" * 900_000}})
    assert (answer.status_code, answer.json()["value"]) == (200, False)
    assert time.thread_time() - begin < 3


def test_explaining_ends_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr("tellwhen.language.explanation.evaluate_flat", lambda *_: time.sleep(0.05))
    ended = []
    was = asking.explained
    monkeypatch.setattr(asking, "explained", lambda *given: _noting(was, given, ended))
    with make_test_client(tmp_path / "data", Limits(seconds=0.5)) as client:
        many = " AND ".join(f"x = {n}" for n in range(1_000))
        assert client.post("/v1/explain", json={"expression": many, "event": {}}).status_code == 504
        wait_until(lambda: ended == ["TooSlow"], 5)


def _noting(run, given, ended):
    try:
        return run(*given)
    except Exception as error:
        ended.append(type(error).__name__)
        raise


def test_slow_matching_and_slow_filters_hold_nobody_up(tmp_path, monkeypatch):
    slow = threading.Event()
    was = Live.satisfied

    def satisfied(live, event):
        end = time.thread_time() + (0.5 if slow.is_set() else 0)
        while time.thread_time() < end:
            pass
        return was(live, event)

    monkeypatch.setattr(Live, "satisfied", satisfied)
    with run_service(tmp_path / "data") as address, Client(address) as client:
        client.add("a", "x = 1")
        heard = []
        listening = threading.Thread(
            target=lambda: heard.append(next(iter(client.listen(filter="x = 1")))), daemon=True
        )
        listening.start()
        wait_until(lambda: client.get_stats()["listeners"] == 1)
        slow.set()
        client.publish({"x": 1})  # it was not known yet that this takes long
        publishing = threading.Thread(target=lambda: client.publish({"x": 1}))
        publishing.start()
        time.sleep(0.1)
        begin = time.perf_counter()
        httpx2.get(f"{address}/healthz")
        assert time.perf_counter() - begin < 0.3
        publishing.join()
        listening.join(5)
        assert heard


def test_large_payloads_are_read_beside_and_not_without_end(tmp_path):
    with make_test_client(tmp_path / "data", Limits(payload_bytes=2_500)) as client:
        rows = [{"id": n, "expression": "x = 1", "payload": {"text": "y" * 1_000}} for n in range(10)]
        assert client.post("/v1/subscriptions", json={"subscriptions": rows}).status_code == 200
        for path in ("match", "publish"):
            answer = client.post(f"/v1/{path}", json={"event": {"x": 1}, "payload": True}).json()
            assert (answer["count"], len(answer["matches"]), answer["truncated"]) == (10, 2, True)


def test_an_id_fits_into_an_address(client):
    for id_, status in (("\U0001f600" * 4_000, 200), ("x" * 4_001, 422)):
        rows = [{"id": id_, "expression": "x = 1"}]
        assert client.post("/v1/subscriptions", json={"subscriptions": rows}).status_code == status
    page = client.get("/v1/subscriptions", params={"limit": 1}).json()
    assert client.get("/v1/subscriptions", params={"start": page["subscriptions"][0]["id"]}).status_code == 200


def test_names_in_where_forge_no_log(client, caplog):
    client.put("/v1/subscriptions/a", json={"expression": "x = 1", "payload": {"n": 1}})
    for n in range(200):
        where = {f"n{n}\nFAKE" + "x" * 1_000: 1}
        assert client.post("/v1/match", json={"event": {"x": 1}, "where": where}).status_code == 200
    said = [record.getMessage() for record in caplog.records if "where=" in record.getMessage()]
    assert len(said) == 100
    assert all(len(one) < 300 and "\n" not in one for one in said)
