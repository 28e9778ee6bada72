"""The first part of the demo: one listing, what it matches and why, the best five ads, and why not."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import tellwhen as tw
from tellwhen.demo import market
from tellwhen.errors import pluralize
from tellwhen.index.ids import Id
from tellwhen.index.subscriptions import Rejected
from tellwhen.language.explain import Explanation

COLOURS = {"true": "green", "false": "red", "undefined": "yellow"}
KINDS = {"search": ("saved search", "saved searches"), "ad": ("ad", "ads"), "fraud": ("fraud rule", "fraud rules")}
BEST, SHOWN = 5, 2
"""How many ads are shown, and how many matches of each kind."""


class Made(NamedTuple):
    """The index, what was not accepted, and how long it took."""

    market: tw.Index
    faulty: list[Rejected]
    seconds: float


class Told(NamedTuple):
    """What the story has found."""

    event: dict[str, Any]
    matched: dict[str, list[Id]]
    """Ids by kind."""
    why: list[Explanation]
    best: list[tuple[Id, float]]
    why_not: Explanation


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """The subscriptions of the file: id, expression, score, weights, payload."""
    with (folder / "subscriptions.jsonl").open() as file:
        found = map(json.loads, file)
        return [(row["id"], row["expression"], row["score"], None, row["payload"]) for row in found]


def listings(folder: Path) -> list[dict[str, Any]]:
    with (folder / "listings.jsonl").open() as file:
        return list(map(json.loads, file))


def index(folder: Path) -> Made:
    """Index the file of subscriptions. Faulty ones are returned, each with the reason."""
    given = rows(folder)
    # The other layout would not be faster here, and to find that out takes as long as compiling it: half a minute.
    market_index = tw.Index(schema=market.SCHEMA, layout=1)
    start = time.perf_counter()
    faulty = market_index.add_valid(given)
    market_index.rebuild()
    return Made(market_index, faulty, time.perf_counter() - start)


def tell(made: Made, console: Console) -> Told:
    """Print the story."""
    index, event = made.market, market.LISTING
    console.print(f"\n[bold]A marketplace: {len(index):,} standing subscriptions[/bold], for example", highlight=False)
    examples = Table(box=None, padding=(0, 1, 0, 2), show_header=False)
    for row in market.SUBSCRIPTIONS:
        examples.add_row(row["id"], f"{row['expression']}{f'; bid {bid}' if (bid := row.get('score')) else ''}")
    console.print(examples)
    console.print("\n[bold]An event arrives: a new listing[/bold]")
    console.print(Padding(Text(json.dumps(event)), (0, 0, 0, 2)))

    found = index.match(event)
    matched: dict[str, list[Id]] = {kind: [] for kind in KINDS}
    for id_ in found:
        matched[str(id_).partition("/")[0]].append(id_)
    counts = ", ".join(pluralize(len(ids), KINDS[kind][0], KINDS[kind][1]) for kind, ids in matched.items())
    console.print(f"\n[bold]It satisfies {len(found)} of them[/bold]: {counts}. Why?", highlight=False)
    why = [index.explain(id_, event) for id_ in ("search/anna", "fraud/new-seller-half-price")]
    for id_, explanation in zip(("search/anna", "fraud/new-seller-half-price"), why, strict=True):
        console.print(Text(f"  {id_}"))
        _print_tree(explanation, console)

    best = index.top_k(event, k=BEST, where={"kind": "ad"})
    console.print(f"\n[bold]The {BEST} ads that pay most[/bold]: index.top_k(event, k={BEST}, where={{'kind': 'ad'}})")
    table = Table("bid", "ad", "shown beside listings with", box=None, padding=(0, 1, 0, 2))
    for id_, bid in best:
        table.add_row(f"{bid:.2f}", str(id_), str(index[id_]))
    console.print(table)

    console.print("\n[bold]Why does Ben not hear of it?[/bold]")
    why_not = index.explain("search/ben", event)
    _print_tree(why_not, console)
    return Told(event, matched, why, best, why_not)


def shown(told: Told, index: tw.Index) -> list[tuple[str, Id, str]]:
    """Some matches of each kind: for people to read."""
    return [(kind, id_, str(index[id_])) for kind, ids in told.matched.items() for id_ in ids[:SHOWN]]


def kinds(index: tw.Index) -> Counter[str]:
    """How many subscriptions of each kind there are."""
    return Counter(str(id_).partition("/")[0] for id_ in index)


def _print_tree(explanation: Explanation, console: Console) -> None:
    for line in str(explanation).splitlines():
        console.print(Text("    " + line, style=COLOURS[line.split(maxsplit=1)[0]]), soft_wrap=True)
