"""Running requests in the event loop or in threads, and ids in addresses."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from service_support import expect_error, expect_success, make_test_client, run_service, wait_until
from tellwhen.client import Client
from tellwhen.service import Limits, Timeouts
from tellwhen.service.listeners import ListenerRegistry
from tellwhen.service.match_timing import MatchTiming
from tellwhen.service.requests import RequestRunner

MATCH_IN_THREADS = Timeouts(inline_match_seconds=0.0)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_id_that_is_no_integer(client, method):
    body = {"expression": "a = 1"} if method == "PUT" else None
    assert "'x'" in expect_error(
        client.request(method, "/v1/subscriptions/x?id_type=int", json=body), 422, "MalformedRequest"
    )
    expect_error(client.request(method, f"/v1/subscriptions/{2**63}?id_type=int", json=body), 422, "IdError")
    expect_error(client.request(method, "/v1/subscriptions/5?id_type=float", json=body), 422, "MalformedRequest")


def test_matching_goes_on_beside_the_loop_where_it_takes_long(tmp_path, twins, monkeypatch):
    _, index, rows, events = twins
    run_in_thread = RequestRunner.run_in_thread
    asked = []

    async def count_call(runner, run, *pool):
        asked.append(run)
        return await run_in_thread(runner, run, *pool)

    monkeypatch.setattr(RequestRunner, "run_in_thread", count_call)
    with (
        make_test_client(tmp_path / "data", timeouts=MATCH_IN_THREADS) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        expect_success(client.post("/v1/subscriptions", json={"subscriptions": rows}))
        asked.clear()
        answers = list(pool.map(lambda event: client.post("/v1/publish", json={"event": event}).json(), events))
    assert [answer["matches"] for answer in answers] == [index.match(event) for event in events]
    assert len(asked) == len(events)


def test_matching_that_takes_long_is_done_in_a_thread_until_it_is_quick_again():
    runner, timing, here, threads = RequestRunner(Limits()), MatchTiming(), threading.current_thread(), []

    def match(seconds):
        threads.append(threading.current_thread())
        ends = time.thread_time() + seconds
        while time.thread_time() < ends:
            pass

    async def run():
        for seconds, count in ((0.0, 100), (4 * Timeouts().inline_match_seconds, 40), (0.0, 200)):
            for _ in range(count):
                await runner.match_inline_or_in_thread(timing, 100, lambda: match(seconds))  # noqa: B023
        await runner.match_inline_or_in_thread(timing, 100_000, lambda: match(0.0))

    asyncio.run(run())
    runner.close()
    assert all(one is here for one in threads[:100])
    assert all(one is not here for one in threads[102:140])
    assert all(one is here for one in threads[-51:-1])
    assert threads[-1] is not here  # a large event


def test_publishing_goes_on_beside_requests_that_take_long(tmp_path, monkeypatch):
    """More of them than there are threads."""
    released = threading.Event()
    monkeypatch.setattr("tellwhen.service.answers.explain", lambda *_: {"value": released.wait(20)})
    with run_service(tmp_path / "data", timeouts=MATCH_IN_THREADS) as address, Client(address) as client:
        client.add("a", "x = 1")
        waiting = [threading.Thread(target=explain_in_client, args=(address,)) for _ in range(8)]
        for one in waiting:
            one.start()
        time.sleep(0.3)
        begin = time.perf_counter()
        assert client.publish({"x": 1}) == ["a"]
        assert time.perf_counter() - begin < 5
        released.set()
        for one in waiting:
            one.join()


def explain_in_client(address):
    with Client(address) as client:
        assert client.explain("a", {"x": 1}) == {"value": True}


def test_slow_matching_and_slow_filters_hold_nobody_up(tmp_path, monkeypatch):
    slow = threading.Event()
    match_filters = ListenerRegistry.match_filters

    def match_slowly(registry, event):
        end = time.thread_time() + (0.5 if slow.is_set() else 0)
        while time.thread_time() < end:
            pass
        return match_filters(registry, event)

    monkeypatch.setattr(ListenerRegistry, "match_filters", match_slowly)
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
