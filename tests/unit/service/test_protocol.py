"""Timeouts of slow clients, over sockets."""

import socket
import time
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from service_support import run_service, wait_until
from tellwhen.client import Client
from tellwhen.service import Timeouts


def is_disconnected(address, *parts, within=3.0, pause=0.0):
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
def test_heads_of_requests_are_short_and_come_in_time(tmp_path):
    whole = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    with run_service(tmp_path / "data", timeouts=Timeouts(head_seconds=0.3)) as address:
        assert is_disconnected(address)
        assert is_disconnected(address, b"GET /healthz HT")
        assert is_disconnected(address, whole)
        assert is_disconnected(address, whole + b"\r\n" + whole)  # the second of two
        assert not is_disconnected(address, whole + b"\r\n", within=1.0)  # it may go on
    with run_service(tmp_path / "data") as address:
        assert is_disconnected(address, whole, *[b"x-y: " + b"z" * 8_000 + b"\r\n"] * 20)
        assert is_disconnected(address, b"GET /" + b"z" * 100_000)
        with Client(address) as client:  # a large body beside a short head
            client.add("a", "x = 1", payload={"long": "z" * 500_000})


def test_what_is_no_request_does_not_keep_a_connection_open(tmp_path):
    whole = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    with run_service(tmp_path / "data", timeouts=Timeouts(head_seconds=0.4)) as address:
        assert is_disconnected(address, whole + b"\r\n", b"\r\n", pause=0.1)
        assert is_disconnected(address, whole + b"content-length: 1000\r\n\r\n", b"x", pause=0.1)


def read_responses(connection, count):
    """So many answers of a connection."""
    found = b""
    while found.count(b"HTTP/1.1 200") < count:
        piece = connection.recv(1 << 16)
        assert piece, f"only {found.count(b'HTTP/1.1 200')} answers"
        found += piece
    return count


def test_many_requests_at_once_over_one_connection(tmp_path):
    one = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: " + b"y" * 900 + b"\r\n\r\n"
    with run_service(tmp_path / "data") as address, connect(address, one * 300) as connection:
        assert read_responses(connection, 300) == 300


def test_nothing_follows_on_a_connection_that_listens(tmp_path):
    live = b"GET /v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with run_service(tmp_path / "data") as address, Client(address) as client:
        with connect(address, live):
            wait_until(lambda: client.get_stats()["listeners"] == 1)
        for _ in range(5):
            with connect(address, live + live):
                pass
        wait_until(lambda: client.get_stats()["listeners"] == 0, 8)  # and not when the next sign of life is due


def test_lengths_of_bodies_that_are_no_numbers(tmp_path):
    with run_service(tmp_path / "data") as address:
        for length, status in ((b"0" * 5_000 + b"17", b"200"), (b"9" * 5_000, b"4"), (b"0" * 5_000, b"200")):
            sent = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: " + length + b"\r\n\r\n"
            with connect(address, sent) as connection:
                told = connection.recv(1 << 16)
            assert told.startswith(b"HTTP/1.1 " + status), told


def connect(address, sent):
    """A connection whose system keeps little of what comes, and over which this is sent."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(20)
    connection.connect((host, int(port)))
    connection.sendall(sent)
    return connection


def read_to_end(connection, slow=0.0):
    """How much comes, until the end; for so many seconds, it is read slowly."""
    count, ends = 0, time.monotonic() + slow
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 18):
            count += len(piece)
            if time.monotonic() < ends:
                time.sleep(0.01)
    return count


MATCH_BODY = b'{"event": {"x": 1}, "payload": true}'


MATCH_HEAD = b"POST /v1/match HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
    MATCH_BODY
)


@pytest.mark.slow
def test_an_answer_may_take_longer_than_an_idle_connection_stays(tmp_path):
    with run_service(tmp_path / "data", timeouts=Timeouts(keep_alive_seconds=1)) as address, Client(address) as client:
        for number in range(12):
            client.add(number, "x = 1", payload={"long": "z" * 900_000})
        with connect(address, MATCH_HEAD.replace(b"connection: close\r\n", b"") + MATCH_BODY) as steady:
            assert read_to_end(steady, slow=3.0) > 12 * 900_000  # and then it is ended: it is idle


@pytest.mark.slow
def test_who_does_not_read_an_answer_is_cut_off(tmp_path):
    with run_service(tmp_path / "data", timeouts=Timeouts(send_seconds=0.4)) as address, Client(address) as client:
        for number in range(12):
            client.add(number, "x = 1", payload={"long": "z" * 900_000})
        whole = 12 * 900_000
        with connect(address, MATCH_HEAD + MATCH_BODY) as steady:
            assert read_to_end(steady, slow=1.5) > whole
        with connect(address, MATCH_HEAD + MATCH_BODY) as idle:
            time.sleep(1.5)
            assert read_to_end(idle) < whole
        kept = HTTPConnection(address.removeprefix("http://"))  # which would not connect once more
        for _ in range(2):
            kept.request("POST", "/v1/match", MATCH_BODY)
            time.sleep(0.2)
            assert len(kept.getresponse().read()) > whole
            time.sleep(1.2)  # all is read: it may wait
        kept.close()


def test_a_listener_that_does_not_read_is_cut_off(tmp_path):
    with run_service(tmp_path / "data", timeouts=Timeouts(send_seconds=0.4)) as address, Client(address) as client:
        client.add("a", "x = 1")
        with connect(address, b"GET /v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"):
            wait_until(lambda: client.get_stats()["listeners"] == 1)
            for _ in range(40):
                client.publish({"x": 1, "long": "z" * 900_000})
            wait_until(lambda: client.get_stats()["listeners"] == 0)
