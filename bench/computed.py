"""`python -m bench.computed`: the cost of a computed attribute for few and for many subscriptions.

Each line has a rival in the same run, timed in turn: the same subscriptions on an attribute that the events have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench.timing import time_interleaved

SUBSCRIPTION_COUNTS = 1_000, 100_000
EVENTS, TABLE_ROWS = 500, 100_000


def main() -> None:
    table = Table("", "subscriptions", "computed", "in the event", "noise", title="Microseconds per event")
    for count in SUBSCRIPTION_COUNTS:
        sums = [f"= {n} AND kind = {n % 9}" for n in range(count)]
        event = {"price": 20, "qty": 30, "total": 600, "kind": 6}
        table.add_row("price * qty", f"{count:,}", *_measure("price * qty", "total", sums, event))
        names = [f"= 'c{n}'" for n in range(count)]
        table.add_row(
            "lower(city)", f"{count:,}", *_measure("lower(city)", "small", names, {"city": "C7", "small": "c7"})
        )
        rows = np.arange(TABLE_ROWS)
        rows_table = pa.table(
            {"price": rows % 50, "qty": rows % 30, "total": rows % 50 * (rows % 30), "kind": rows % 9}
        )
        table.add_row("price * qty, in a table", f"{count:,}", *_measure("price * qty", "total", sums, rows_table))
    Console(width=110).print(table)


def _measure(term: str, plain: str, conditions: list[str], events: Any) -> list[str]:
    indexes = {
        side: tw.Index().add_many((n, f"{side} {condition}") for n, condition in enumerate(conditions)).rebuild()
        for side in (term, plain)
    }
    is_table = isinstance(events, pa.Table)
    runs: dict[str, Callable[[], object]] = {
        side: partial(index.match_many if is_table else partial(_match_each, index), events)
        for side, index in indexes.items()
    }
    times = time_interleaved(runs, 7)
    event_count = TABLE_ROWS if is_table else EVENTS
    noise = max(timing.noise for timing in times.values())
    return [*(f"{times[side].median / event_count * 1e6:.2f}" for side in (term, plain)), f"{noise:.0%}"]


def _match_each(index: tw.Index, event: dict[str, Any]) -> None:
    for _ in range(EVENTS):
        index.match(event)


if __name__ == "__main__":
    main()
