"""The files that every engine reads: subscriptions, events and true matches, one per line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tellwhen as tw
from bench.peers.positive_form import make_positive
from tellwhen.workloads import Workload, take_events, take_subscriptions


def write_files(folder: Path, work: Workload, subscriptions: int, events: int) -> None:
    """Write the first subscriptions and events of a workload, and the ids that each event matches.

    A subscription has its `expression` in tellwhen's JSON form, and a `positive` form that every peer can express. The
    true matches are what `scan` finds; the conformance suite compares `scan` with the oracle.
    """
    texts, event_rows = take_subscriptions(work, subscriptions), take_events(work, events)
    if not all(type(value) is int for event in event_rows for value in event.values()):
        raise ValueError("peers are measured on events of integers only")
    forms = [tw.parse(text).to_json() for text in texts]
    truth = tw.Index("scan").add_many(enumerate(forms))
    folder.mkdir(parents=True, exist_ok=True)
    rows = ({"id": id, "expression": form, "positive": make_positive(form)} for id, form in enumerate(forms))
    _write_lines(folder / "subscriptions.jsonl", rows)
    _write_lines(folder / "events.jsonl", event_rows)
    _write_lines(folder / "truth.jsonl", (sorted(truth.match(event)) for event in event_rows))


def _write_lines(file: Path, rows: Iterable[Any]) -> None:
    with file.open("w") as out:
        out.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def read_truth(folder: Path) -> list[list[int]]:
    """Read the ids that each event matches."""
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
