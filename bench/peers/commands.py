"""`python -m bench.peers`: measure other people's engines and tellwhen on the same files, in one run."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import machine
from bench.peers.measurement import Limits, Row, measure_peer
from bench.peers.registry import PEERS, TELLWHEN_PEERS, Peer
from bench.peers.workload import write_files
from tellwhen.workloads import ABEGen, BEGen, Groups, Workload

WIDTH = 150
RESULTS = Path(__file__).parents[1] / "out" / "peers"


class WorkloadName(StrEnum):
    begen = "begen"
    abegen = "abegen"
    trees = "trees"


SIZES = {WorkloadName.begen: (10_000, 50), WorkloadName.abegen: (2_000, 25), WorkloadName.trees: (10_000, 25)}
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Only this peer, and tellwhen.")] = "",
    workload: Annotated[WorkloadName | None, typer.Option(help="One workload; default: all.")] = None,
    subscriptions: Annotated[int | None, typer.Option(help="Default: 10,000, or 2,000 of abegen.", min=1)] = None,
    events: Annotated[int | None, typer.Option(help="Default: 50 of begen, else 25.", min=1)] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of one process.")] = 300,
    megabytes: Annotated[float, typer.Option(help="Memory limit of one process.")] = 6_000,
    folder: Annotated[Path, typer.Option(help="Folder for the results, as JSON.")] = RESULTS,
) -> None:
    """Measure other people's engines and tellwhen on the same files. A peer whose tools are missing is skipped."""
    chosen_peers = [peer for peer in PEERS if not only or only in (peer.name, peer.folder)]
    if not chosen_peers:
        raise typer.BadParameter(f"there is no peer {only}; there are {', '.join(peer.folder for peer in PEERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exits by an exception, which ends the running peer too
    console = Console(width=WIDTH)
    for name in [workload] if workload else list(WorkloadName):
        subscription_count, event_count = subscriptions or SIZES[name][0], events or SIZES[name][1]
        rows = measure_peers(name, chosen_peers, subscription_count, event_count, Limits(seconds, megabytes), console)
        facts = {
            "workload": name,
            "subscriptions": subscription_count,
            "events": event_count,
            "machine": machine.describe_machine(),
            "rows": rows,
        }
        save(folder, f"{name}-{only}" if only else name, facts)
        console.print(
            make_table(f"{name}: {subscription_count:,} subscriptions, {event_count:,} events, one at a time", rows)
        )


def measure_peers(
    name: WorkloadName, peers: list[Peer], subscription_count: int, event_count: int, limits: Limits, console: Console
) -> list[Row]:
    """Measure tellwhen and the peers on a workload; return a row for each engine."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as work:
        write_files(Path(work), make_workload(name, subscription_count), subscription_count, event_count)
        for peer in [*TELLWHEN_PEERS, *peers]:
            with console.status(f"{name}: {peer.name}"):
                rows.append(measure_peer(peer, Path(work), subscription_count, limits))
    return rows


def make_workload(name: WorkloadName, subscription_count: int) -> Workload:
    return {
        WorkloadName.begen: BEGen(),
        WorkloadName.abegen: ABEGen(total=subscription_count),
        WorkloadName.trees: Groups(),
    }[name]


def save(folder: Path, name: str, facts: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")


def make_table(title: str, rows: list[Row]) -> Table:
    """Return a table with a row for each engine. An engine has times only if its matches are right."""
    columns = ("engine", "version", "us/event", "noise", "build s", "bytes/subscription", "correct?", "note")
    table = Table(title=title)
    for column in columns:
        table.add_column(column, no_wrap=column not in ("correct?", "note"))
    for row in rows:
        if row["status"] == "ok":
            size = "?" if row["bytes"] is None else f"{row['bytes']:,.0f}"
            times = f"{row['micros']:,.1f}", f"{row['noise']:.0%}", f"{row['build_seconds']:.2f}", size
        else:
            times = "", "", "", ""
        verdict = "yes" if row["status"] == "ok" else row["status"]
        table.add_row(row["engine"], row["version"], *times, escape(verdict), escape(row["note"]))
    return table
