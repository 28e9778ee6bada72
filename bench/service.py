"""`python -m bench.service`: how many events per second does the service take, and how soon does it answer?

The service runs in a process of its own; this one sends requests, over connections that stay open, each as soon as the
one before is answered. Beside `publish`, in turns: the same service asked for its health, which is what HTTP costs by
itself, and `Index.match` in this process, which is what matching costs by itself. Then the same while subscriptions
change, what idle listeners cost, and how long a start takes.
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
from bench.machine import resident
from tellwhen.client import Client
from tellwhen.demo import market
from tellwhen.workloads import BEGen

CONNECTIONS, SECONDS, ROUNDS, CHANGES_PER_SECOND, CHANGERS = 16, 8.0, 3, 100, 8


class Load(NamedTuple):
    """What came of sending for a while."""

    per_second: float
    p50: float
    p99: float


@contextmanager
def serving(folder: Path, console: Console) -> Iterator[tuple[str, int, int]]:
    """A service on any port: its address, its port and its process."""
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


def request(method: str, path: str, body: Any = None) -> bytes:
    """The bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    at = head.lower().index(b"content-length:") + 15
    return await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))


async def _sent(port: int, requests: list[bytes], seconds: float) -> Load:
    taken: list[float] = []
    ends = time.perf_counter() + seconds

    async def one(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = first
        while (begin := time.perf_counter()) < ends:
            writer.write(requests[number % len(requests)])
            await _answer(reader)
            taken.append(time.perf_counter() - begin)
            number += CONNECTIONS
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(one(first) for first in range(CONNECTIONS)))
    taken.sort()
    return Load(len(taken) / (time.perf_counter() - begin), median(taken), taken[int(0.99 * len(taken))])


def sent(port: int, requests: list[bytes], seconds: float = SECONDS) -> Load:
    return asyncio.run(_sent(port, requests, seconds))


async def _changed(port: int, seconds: float) -> int:
    """Meanwhile, subscriptions come and are replaced, so many per second; returns how many."""
    rows = [
        {**market.draw_subscription(10_000_000 + n), "id": f"new-{n % 500}"}
        for n in range(int(seconds * CHANGES_PER_SECOND))
    ]
    changes = [
        request("POST", "/v1/subscriptions", {"subscriptions": [row], "replace": True, "errors": "quarantine"})
        for row in rows
    ]
    begin, made = time.perf_counter(), 0

    async def one(first: int) -> None:
        nonlocal made
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(first, len(changes), CHANGERS):
            await asyncio.sleep(max(0.0, begin + number / CHANGES_PER_SECOND - time.perf_counter()))
            writer.write(changes[number])
            await _answer(reader)
            made += time.perf_counter() - begin < seconds
        writer.close()

    await asyncio.gather(*(one(first) for first in range(CHANGERS)))
    return made


async def _sent_while_changing(port: int, requests: list[bytes], seconds: float) -> tuple[Load, float]:
    load, made = await asyncio.gather(_sent(port, requests, seconds), _changed(port, seconds))
    return load, made / seconds


def in_process(index: tw.Index, events: list[dict[str, Any]], seconds: float) -> Load:
    taken = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for event in events[:500]:
            begin = time.perf_counter()
            index.match(event)
            taken.append(time.perf_counter() - begin)
    taken.sort()
    return Load(len(taken) / sum(taken), median(taken), taken[int(0.99 * len(taken))])


async def _listened(port: int, count: int, process: int, console: Console) -> list[Any]:
    """Open connections that listen, and say what they cost."""
    before = resident(process)
    open_ones = []  # which would be closed if nobody had them
    for number in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("GET", f"/v1/live?subscriber=user-{number}"))
        await reader.readuntil(b"connected\n\n")
        open_ones.append((reader, writer))
    after = resident(process)
    console.print(
        f"{count:,} idle listeners: {(after - before) / 1e6:.0f} MB, {(after - before) / count / 1000:.1f} kB each"
    )
    return open_ones


async def _with_listeners(port: int, count: int, process: int, requests: list[bytes], console: Console) -> None:
    listening = await _listened(port, count, process, console)
    console.print(f"publish beside them: {_shown(await _sent(port, requests, SECONDS))}")
    for _, writer in listening:
        writer.close()


def _shown(load: Load) -> str:
    return f"{load.per_second:,.0f} per second, p50 {load.p50 * 1e3:.2f} ms, p99 {load.p99 * 1e3:.2f} ms"


def _spread(loads: list[Load]) -> tuple[str, str, str]:
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
    publishing = [request("POST", "/v1/publish", {"event": event}) for event in events]
    health = [request("GET", "/healthz")]
    with serving(folder / "index", console) as (_, port, process):
        sent(port, publishing, 3.0)
        loads: dict[str, list[Load]] = {
            "publish": [],
            "publish, 100 changes/s": [],
            "GET /healthz": [],
            "in process": [],
        }
        for _ in range(rounds):
            loads["publish"].append(sent(port, publishing))
            load, rate = asyncio.run(_sent_while_changing(port, publishing, SECONDS))
            loads["publish, 100 changes/s"].append(load)
            loads["GET /healthz"].append(sent(port, health))
            loads["in process"].append(in_process(index, events, SECONDS / 2))
        table = Table("", "per second (least to most)", "p50 ms", "p99 ms")
        for name, some in loads.items():
            table.add_row(name, *_spread(some))
        console.print(table)
        console.print(f"changes were made at {rate:.0f} per second; {CONNECTIONS} connections, {rounds} rounds")
        console.print(f"the service takes {resident(process) / 1e6:.0f} MB")
        if listeners:
            asyncio.run(_with_listeners(port, listeners, process, publishing, console))


def measure_restart(folder: Path, subscriptions: int, console: Console) -> None:
    """Start on so many, after a kill: a snapshot, and a journal that is nearly as long as it gets."""
    work = BEGen()
    index = tw.Index()
    per_block = len(work.generate_subscriptions(0))
    for block in range(-(-subscriptions // per_block)):
        index.add_many((block * per_block + n, text) for n, text in enumerate(work.generate_subscriptions(block)))
    index.save(folder / "large")
    del index
    with serving(folder / "large", console) as (address, _, process), Client(address, timeout=120) as client:
        console.print(f"{len(client):,} subscriptions, first start: they are copied")
        for part in range(19):
            client.add_many((f"{part}-{n}", text) for n, text in enumerate(work.generate_subscriptions(99)[:1_000]))
        os.kill(process, signal.SIGKILL)
    with serving(folder / "large", console) as (address, _, _), Client(address, timeout=120) as client:
        console.print(f"{len(client):,} subscriptions after a kill, 19,000 of them from the journal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--listeners", type=int, default=10_000)
    parser.add_argument("--restart", type=int, default=0, help="also start with so many subscriptions")
    given = parser.parse_args()
    console, folder = Console(), Path(tempfile.mkdtemp())
    try:
        if given.subscriptions:
            measure_load(folder, given.subscriptions, given.rounds, given.listeners, console)
        if given.restart:
            measure_restart(folder, given.restart, console)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
