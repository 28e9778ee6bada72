"""`python -m bench.peers`: measure other people's engines and ours on the same files, in one run."""

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
from bench.peers.compare import Limits, Row, row
from bench.peers.registry import OURSELVES, PEERS, Peer
from bench.peers.workload import write
from tellwhen.workloads import ABEGen, BEGen, Groups, Workload

WIDTH = 150
RESULTS = Path(__file__).parents[1] / "out" / "peers"


class Name(StrEnum):
    begen = "begen"
    abegen = "abegen"
    trees = "trees"


SIZES = {Name.begen: (10_000, 50), Name.abegen: (2_000, 25), Name.trees: (10_000, 25)}
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Only this peer, and tellwhen.")] = "",
    workload: Annotated[Name | None, typer.Option(help="One workload; default: all.")] = None,
    subscriptions: Annotated[int | None, typer.Option(help="Default: 10,000, or 2,000 of abegen.", min=1)] = None,
    events: Annotated[int | None, typer.Option(help="Default: 50 of begen, else 25.", min=1)] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of one process.")] = 300,
    megabytes: Annotated[float, typer.Option(help="Memory limit of one process.")] = 6_000,
    folder: Annotated[Path, typer.Option(help="Folder for the results, as JSON.")] = RESULTS,
) -> None:
    """Measure other people's engines and tellwhen on the same files. A peer whose tools are missing is skipped."""
    chosen = [peer for peer in PEERS if not only or only in (peer.name, peer.folder)]
    if not chosen:
        raise typer.BadParameter(f"there is no peer {only}; there are {', '.join(peer.folder for peer in PEERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the running peer is ended too
    console = Console(width=WIDTH)
    for name in [workload] if workload else list(Name):
        count, many = subscriptions or SIZES[name][0], events or SIZES[name][1]
        rows = measured(name, chosen, count, many, Limits(seconds, megabytes), console)
        facts = {"workload": name, "subscriptions": count, "events": many, "machine": machine.facts(), "rows": rows}
        save(folder, f"{name}-{only}" if only else name, facts)
        console.print(table(f"{name}: {count:,} subscriptions, {many:,} events, one at a time", rows))


def measured(name: Name, peers: list[Peer], count: int, many: int, limits: Limits, console: Console) -> list[Row]:
    """A row for tellwhen and for each peer."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as work:
        write(Path(work), made(name, count), count, many)
        for peer in [*OURSELVES, *peers]:
            with console.status(f"{name}: {peer.name}"):
                rows.append(row(peer, Path(work), count, limits))
    return rows


def made(name: Name, count: int) -> Workload:
    return {Name.begen: BEGen(), Name.abegen: ABEGen(total=count), Name.trees: Groups()}[name]


def save(folder: Path, name: str, facts: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")


def table(title: str, rows: list[Row]) -> Table:
    """A row for each engine; there are times only if its matches are right."""
    columns = ("engine", "version", "us/event", "noise", "build s", "bytes/subscription", "correct?", "note")
    shown = Table(title=title)
    for column in columns:
        shown.add_column(column, no_wrap=column not in ("correct?", "note"))
    for one in rows:
        if one["status"] == "ok":
            size = "?" if one["bytes"] is None else f"{one['bytes']:,.0f}"
            times = f"{one['micros']:,.1f}", f"{one['noise']:.0%}", f"{one['build_seconds']:.2f}", size
        else:
            times = "", "", "", ""
        verdict = "yes" if one["status"] == "ok" else one["status"]
        shown.add_row(one["engine"], one["version"], *times, escape(verdict), escape(one["note"]))
    return shown
