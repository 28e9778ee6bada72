"""`python -m bench.service`: events per second and response times of the service.

The service runs in a process of its own. This process sends requests over open connections; each connection sends a
request as soon as the previous one is answered. Three measurements alternate: `POST /v1/publish`; `GET /healthz`, which
shows the cost of HTTP alone; and `Index.match` in this process, which shows the cost of matching alone. Publishing is
also measured while subscriptions change and with idle listeners, and starts of the service are timed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench.machine import read_resident_bytes
from tellwhen.client import Client
from tellwhen.demo import market
from tellwhen.workloads import BEGen

CONNECTIONS, SECONDS, ROUNDS, CHANGES_PER_SECOND, CHANGING_CONNECTIONS = 16, 8.0, 3, 100, 8


class Load(NamedTuple):
    """Rate and latencies, in seconds, of requests that were sent for some time."""

    per_second: float
    p50: float
    p99: float


@contextmanager
def run_service(folder: Path, console: Console) -> Iterator[tuple[str, int, int]]:
    """Run a service on a free port; yield its address, its port and its process id."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tellwhen", "serve", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "listens on" in line:
                break
        else:
            raise RuntimeError("the service did not start")
        address = line.split()[3].rstrip(";")
        console.print(f"started in {time.perf_counter() - begin:.1f} s")
        yield address, int(address.rsplit(":", 1)[1]), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)


def make_request(method: str, path: str, body: Any = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    at = head.lower().index(b"content-length:") + 15
    return await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))


async def _send(port: int, requests: list[bytes], seconds: float) -> Load:
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def send_on_connection(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = first
        while (begin := time.perf_counter()) < end:
            writer.write(requests[number % len(requests)])
            await _read_answer(reader)
            times.append(time.perf_counter() - begin)
            number += CONNECTIONS
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(send_on_connection(first) for first in range(CONNECTIONS)))
    times.sort()
    return Load(len(times) / (time.perf_counter() - begin), median(times), times[int(0.99 * len(times))])


def send(port: int, requests: list[bytes], seconds: float = SECONDS) -> Load:
    return asyncio.run(_send(port, requests, seconds))


async def _change_subscriptions(port: int, seconds: float) -> int:
    """Add and replace subscriptions at a rate of CHANGES_PER_SECOND; return how many changes were made in time."""
    rows = [
        {**market.draw_subscription(10_000_000 + n), "id": f"new-{n % 500}"}
        for n in range(int(seconds * CHANGES_PER_SECOND))
    ]
    changes = [
        make_request("POST", "/v1/subscriptions", {"subscriptions": [row], "replace": True, "errors": "quarantine"})
        for row in rows
    ]
    begin, changed = time.perf_counter(), 0

    async def change_on_connection(first: int) -> None:
        nonlocal changed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(first, len(changes), CHANGING_CONNECTIONS):
            await asyncio.sleep(max(0.0, begin + number / CHANGES_PER_SECOND - time.perf_counter()))
            writer.write(changes[number])
            await _read_answer(reader)
            changed += time.perf_counter() - begin < seconds
        writer.close()

    await asyncio.gather(*(change_on_connection(first) for first in range(CHANGING_CONNECTIONS)))
    return changed


async def _send_while_changing(port: int, requests: list[bytes], seconds: float) -> tuple[Load, float]:
    load, changed = await asyncio.gather(_send(port, requests, seconds), _change_subscriptions(port, seconds))
    return load, changed / seconds


def match_in_process(index: tw.Index, events: list[dict[str, Any]], seconds: float) -> Load:
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for event in events[:500]:
            begin = time.perf_counter()
            index.match(event)
            times.append(time.perf_counter() - begin)
    times.sort()
    return Load(len(times) / sum(times), median(times), times[int(0.99 * len(times))])


async def _open_listeners(port: int, count: int, process: int, console: Console) -> list[Any]:
    """Open connections that listen for live matches, and print the memory that they cost."""
    before = read_resident_bytes(process)
    connections = []  # referenced, because asyncio closes connections that are collected as garbage
    for number in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(make_request("GET", f"/v1/live?subscriber=user-{number}"))
        await reader.readuntil(b"connected\n\n")
        connections.append((reader, writer))
    after = read_resident_bytes(process)
    console.print(
        f"{count:,} idle listeners: {(after - before) / 1e6:.0f} MB, {(after - before) / count / 1000:.1f} kB each"
    )
    return connections


async def _send_with_listeners(port: int, count: int, process: int, requests: list[bytes], console: Console) -> None:
    listeners = await _open_listeners(port, count, process, console)
    console.print(f"publish with idle listeners: {_format_load(await _send(port, requests, SECONDS))}")
    for _, writer in listeners:
        writer.close()


def _format_load(load: Load) -> str:
    return f"{load.per_second:,.0f} per second, p50 {load.p50 * 1e3:.2f} ms, p99 {load.p99 * 1e3:.2f} ms"


def _format_loads(loads: list[Load]) -> tuple[str, str, str]:
    rates = sorted(load.per_second for load in loads)
    return (
        f"{median(rates):,.0f} ({rates[0]:,.0f} to {rates[-1]:,.0f})",
        f"{median(load.p50 for load in loads) * 1e3:.2f}",
        f"{median(load.p99 for load in loads) * 1e3:.2f}",
    )


def measure_load(folder: Path, subscriptions: int, rounds: int, listeners: int, console: Console) -> None:
    index = tw.Index()
    rows = [(row["id"], row["expression"], row.get("score")) for row in market.generate_subscriptions(subscriptions)]
    index.add_valid(rows)
    events = [market.draw_listing(number) for number in range(4_000)]
    index.optimize_for(events[:1_000])
    index.save(folder / "index")
    console.print(f"{len(index):,} subscriptions; {sum(map(index.count, events[:200])) / 200:.1f} matches per event")
    publishing = [make_request("POST", "/v1/publish", {"event": event}) for event in events]
    health = [make_request("GET", "/healthz")]
    with run_service(folder / "index", console) as (_, port, process):
        send(port, publishing, 3.0)
        loads: dict[str, list[Load]] = {
            "publish": [],
            "publish, 100 changes/s": [],
            "GET /healthz": [],
            "in process": [],
        }
        for _ in range(rounds):
            loads["publish"].append(send(port, publishing))
            load, rate = asyncio.run(_send_while_changing(port, publishing, SECONDS))
            loads["publish, 100 changes/s"].append(load)
            loads["GET /healthz"].append(send(port, health))
            loads["in process"].append(match_in_process(index, events, SECONDS / 2))
        table = Table("", "per second (least to most)", "p50 ms", "p99 ms")
        for name, loads_of_name in loads.items():
            table.add_row(name, *_format_loads(loads_of_name))
        console.print(table)
        console.print(f"changes were made at {rate:.0f} per second; {CONNECTIONS} connections, {rounds} rounds")
        console.print(f"the service takes {read_resident_bytes(process) / 1e6:.0f} MB")
        if listeners:
            asyncio.run(_send_with_listeners(port, listeners, process, publishing, console))


def measure_restart(folder: Path, subscriptions: int, console: Console) -> None:
    """Time the start after a kill, with a snapshot and a journal that is nearly as long as it can get."""
    work = BEGen()
    index = tw.Index()
    per_block = len(work.generate_subscriptions(0))
    for block in range(-(-subscriptions // per_block)):
        index.add_many((block * per_block + n, text) for n, text in enumerate(work.generate_subscriptions(block)))
    index.save(folder / "large")
    del index
    with run_service(folder / "large", console) as (address, _, process), Client(address, timeout=120) as client:
        console.print(f"{len(client):,} subscriptions, first start: they are copied")
        for part in range(19):
            client.add_many((f"{part}-{n}", text) for n, text in enumerate(work.generate_subscriptions(99)[:1_000]))
        os.kill(process, signal.SIGKILL)
    with run_service(folder / "large", console) as (address, _, _), Client(address, timeout=120) as client:
        console.print(f"{len(client):,} subscriptions after a kill, 19,000 of them from the journal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--listeners", type=int, default=10_000)
    parser.add_argument("--restart", type=int, default=0, help="also time a start with this many subscriptions")
    options = parser.parse_args()
    console, folder = Console(), Path(tempfile.mkdtemp())
    try:
        if options.subscriptions:
            measure_load(folder, options.subscriptions, options.rounds, options.listeners, console)
        if options.restart:
            measure_restart(folder, options.restart, console)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
