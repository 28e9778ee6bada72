"""The command `generate`: subscriptions and events of a workload, to try things with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tellwhen.cli.console_output import command, err, fail, show_progress
from tellwhen.errors import pluralize
from tellwhen.workloads import WORKLOADS, take_events, take_subscriptions


@command
def generate(
    workload: Annotated[str, typer.Argument(help=f"One of {', '.join(WORKLOADS)}.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A directory for subscriptions.jsonl and events.jsonl.")
    ],
    subscriptions: Annotated[int, typer.Option(min=0, help="Number of subscriptions.")] = 10_000,
    events: Annotated[int, typer.Option(min=0, help="Number of events.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.")] = 1,
) -> None:
    """Generate subscriptions and events of a workload, the same on every machine.

    Example: tellwhen generate ads -o data
    """
    if workload not in WORKLOADS:
        fail(f"unknown workload {workload}; workloads: {', '.join(WORKLOADS)}")
    work = WORKLOADS[workload](seed=seed)  # type: ignore[call-arg]
    output.mkdir(parents=True, exist_ok=True)
    with show_progress("subscriptions") as line, (output / "subscriptions.jsonl").open("w") as file:
        for number, text in enumerate(take_subscriptions(work, subscriptions)):
            file.write(json.dumps({"id": number, "expression": text}) + "\n")
            line.advance(1)
    with show_progress("events") as line, (output / "events.jsonl").open("w") as file:
        for event in take_events(work, events):
            file.write(json.dumps(event, default=str) + "\n")
            line.advance(1)
    err.print(
        f"{pluralize(subscriptions, 'subscription')} and {pluralize(events, 'event')} in {output}", soft_wrap=True
    )
