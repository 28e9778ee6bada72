"""Connections of both clients: services that do not answer, keys, rates and threads."""

import socket
import threading

import pytest

import tellwhen as tw
from service_support import run_service
from tellwhen.client import Client, ServiceError
from tellwhen.service import Keys, Limits


def test_the_error_of_too_many_requests_says_when_to_try_again(tmp_path):
    with run_service(tmp_path / "data", limits=Limits(rate=0.5)) as address, Client(address) as client:
        client.get_service_info()
        with pytest.raises(ServiceError, match="requests per second are allowed") as refused:
            client.get_service_info()
        assert (refused.value.status, refused.value.kind, refused.value.retry_after) == (429, "TooMany", 2)


def test_nobody_answers(kind):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # but does not listen
        with kind(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout=5) as client:
            for call in (client.get_service_info, lambda: client.publish({}), lambda: next(client.listen())):
                with pytest.raises(ServiceError, match="does not answer") as caught:
                    call()
                assert caught.value.status == 0


def test_a_service_that_does_not_answer_in_time(kind):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        kind(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2) as client,
        pytest.raises(ServiceError, match="does not answer"),
    ):
        client.get_service_info()


@pytest.mark.parametrize("url", ["nonsense", "", "ftp://127.0.0.1", "http://", "http://127.0.0.1:99999", "http://\0"])
def test_invalid_addresses(kind, url):
    with pytest.raises(tw.TellwhenError), kind(url, timeout=5) as client:
        client.get_service_info()


def test_an_address_of_something_else(kind, address):
    with kind(f"{address}/elsewhere") as client:
        with pytest.raises(ServiceError) as caught:
            client.get_service_info()
        assert caught.value.status == 404


def test_keys(kind, tmp_path):
    keys = Keys(tmp_path / "data" / "keys.json")
    reader = keys.add("reader", ["read"])
    with run_service(tmp_path / "data") as address:
        with kind(address, reader) as client:
            assert client.match({}) == []
            with pytest.raises(ServiceError, match="publish") as caught:
                client.publish({})
            assert (caught.value.status, caught.value.kind) == (403, "RoleMissing")
        for key in (None, "wrong"):
            with kind(address, key) as client, pytest.raises(ServiceError, match="key") as caught:
                client.get_service_info()
            assert (caught.value.status, caught.value.kind) == (401, "KeyRefused")


def test_threads_share_a_client(address):
    with Client(address) as client:
        client.remove_many([subscription.id for subscription in client.iter_subscriptions()])

        def change(first):
            for number in range(first, first + 20):
                client.add(number, f"x > {number}")
                assert number in client.publish({"x": number + 1})

        threads = [threading.Thread(target=change, args=(first,)) for first in range(0, 80, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.match({"x": 1_000}) == [subscription.id for subscription in client.iter_subscriptions()]
        assert sorted(client.match({"x": 1_000})) == list(range(80))
