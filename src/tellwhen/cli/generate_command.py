"""`tellwhen generate`: subscriptions and events to try things with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tellwhen.cli.console_output import command, fail, progress, told
from tellwhen.errors import pluralize
from tellwhen.workloads import WORKLOADS, taken, taken_events


@command
def generate(
    workload: Annotated[str, typer.Argument(help=f"One of {', '.join(WORKLOADS)}.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A directory for subscriptions.jsonl and events.jsonl.")
    ],
    subscriptions: Annotated[int, typer.Option(min=0, help="How many subscriptions.")] = 10_000,
    events: Annotated[int, typer.Option(min=0, help="How many events.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Another seed, other data.")] = 1,
) -> None:
    """Make subscriptions and events of a known workload, the same on every machine.

    Example: tellwhen generate ads -o data
    """
    if workload not in WORKLOADS:
        fail(f"there is no workload {workload}; there are {', '.join(WORKLOADS)}")
    work = WORKLOADS[workload](seed=seed)  # type: ignore[call-arg]
    output.mkdir(parents=True, exist_ok=True)
    with progress("subscriptions") as doing, (output / "subscriptions.jsonl").open("w") as file:
        for number, text in enumerate(taken(work, subscriptions)):
            file.write(json.dumps({"id": number, "expression": text}) + "\n")
            doing.advance(1)
    with progress("events") as doing, (output / "events.jsonl").open("w") as file:
        for event in taken_events(work, events):
            file.write(json.dumps(event, default=str) + "\n")
            doing.advance(1)
    told.print(
        f"{pluralize(subscriptions, 'subscription')} and {pluralize(events, 'event')} in {output}", soft_wrap=True
    )
