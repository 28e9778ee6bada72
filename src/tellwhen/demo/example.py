"""The first part of the demo: the example of the README, explained."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

import tellwhen as tw

COLOURS = {"true": "green", "false": "red", "undefined": "yellow"}


def show(console: Console) -> None:
    """Print two subscriptions, two events, and why they match or not."""
    index = tw.Index()
    index.add(
        "mall-42",
        "genre = 'classics' AND era IN ('1920s','1940s') AND price BETWEEN 20 AND 40 "
        "AND ranking < 5 AND format NOT IN ('paperback')",
    )
    index.add("ops-7", (tw.col("source") == "mobile") & ((tw.col("type") == "error") | (tw.col("level") == "critical")))
    console.print("[bold]Two subscriptions[/bold]")
    for id_ in index:
        console.print(Text(f"  {id_}: {index[id_]}"))
    book = {"genre": "classics", "era": "1920s", "price": 26, "ranking": 2, "format": "hardcover"}
    for event in (book, {**book, "price": 45, "format": None}):
        console.print(f"\n[bold]An event[/bold] {event}")
        console.print(f"  matches {index.match(event)}")
        for line in str(index.explain("mall-42", event)).splitlines():
            console.print(Text("  " + line, style=COLOURS[line.split(maxsplit=1)[0]]))
