"""`python -m bench.computed`: what does a computed attribute cost, however many subscriptions ask for it?

Each line has a rival in the same run, timed in turn: the same subscriptions on an attribute that the event brings.
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
from bench.measure import interleaved

COUNTS = 1_000, 100_000
EVENTS, ROWS = 500, 100_000


def main() -> None:
    shown = Table("", "subscriptions", "computed", "brought", "noise", title="Microseconds per event")
    for count in COUNTS:
        sums = [f"= {n} AND kind = {n % 9}" for n in range(count)]
        event = {"price": 20, "qty": 30, "total": 600, "kind": 6}
        shown.add_row("price * qty", f"{count:,}", *_measured("price * qty", "total", sums, event))
        names = [f"= 'c{n}'" for n in range(count)]
        shown.add_row(
            "lower(city)", f"{count:,}", *_measured("lower(city)", "small", names, {"city": "C7", "small": "c7"})
        )
        rows = np.arange(ROWS)
        table = pa.table({"price": rows % 50, "qty": rows % 30, "total": rows % 50 * (rows % 30), "kind": rows % 9})
        shown.add_row("price * qty, in a table", f"{count:,}", *_measured("price * qty", "total", sums, table))
    Console(width=110).print(shown)


def _measured(term: str, plain: str, conditions: list[str], events: Any) -> list[str]:
    indexes = {
        side: tw.Index().add_many((n, f"{side} {condition}") for n, condition in enumerate(conditions)).rebuild()
        for side in (term, plain)
    }
    is_table = isinstance(events, pa.Table)
    runs: dict[str, Callable[[], object]] = {
        side: partial(index.match_many if is_table else partial(_each, index), events)
        for side, index in indexes.items()
    }
    times = interleaved(runs, 7)
    per = ROWS if is_table else EVENTS
    noise = max(one.noise for one in times.values())
    return [*(f"{times[side].median / per * 1e6:.2f}" for side in (term, plain)), f"{noise:.0%}"]


def _each(index: tw.Index, event: dict[str, Any]) -> None:
    for _ in range(EVENTS):
        index.match(event)


if __name__ == "__main__":
    main()
