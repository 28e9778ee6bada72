"""First part of the demo: the matches of one listing, their explanations, and the five best ads."""

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
from tellwhen.language.explanation import Explanation

COLOURS = {"true": "green", "false": "red", "undefined": "yellow"}
KINDS = {"search": ("saved search", "saved searches"), "ad": ("ad", "ads"), "fraud": ("fraud rule", "fraud rules")}
ADS_SHOWN, MATCHES_SHOWN = 5, 2
"""Number of ads that are shown, and of matches of each kind."""


class Build(NamedTuple):
    """Index of the marketplace, rejected subscriptions, and the seconds that building took."""

    market: tw.Index
    faulty: list[Rejected]
    seconds: float


class StoryResult(NamedTuple):
    """Matches, explanations and best ads of the listing of the story."""

    event: dict[str, Any]
    ids_by_kind: dict[str, list[Id]]
    match_explanations: list[Explanation]
    best_ads: list[tuple[Id, float]]
    mismatch_explanation: Explanation


def read_subscriptions(folder: Path) -> list[tuple[Any, ...]]:
    """Return the subscriptions of the file as tuples of id, expression, score, weights and payload."""
    with (folder / "subscriptions.jsonl").open() as file:
        rows = map(json.loads, file)
        return [(row["id"], row["expression"], row["score"], None, row["payload"]) for row in rows]


def read_listings(folder: Path) -> list[dict[str, Any]]:
    with (folder / "listings.jsonl").open() as file:
        return list(map(json.loads, file))


def build_index(folder: Path) -> Build:
    """Index the file of subscriptions; collect the faulty ones with their reasons."""
    subscriptions = read_subscriptions(folder)
    # With layout=0 the engine would compile the other layout for half a minute, only to find that it is not faster.
    market_index = tw.Index(schema=market.SCHEMA, layout=1)
    start = time.perf_counter()
    faulty = market_index.add_valid(subscriptions)
    market_index.rebuild()
    return Build(market_index, faulty, time.perf_counter() - start)


def show_story(build: Build, console: Console) -> StoryResult:
    """Match, explain and rank the listing of the story, and print what comes out."""
    index, event = build.market, market.LISTING
    console.print(f"\n[bold]A marketplace: {len(index):,} standing subscriptions[/bold], for example", highlight=False)
    examples = Table(box=None, padding=(0, 1, 0, 2), show_header=False)
    for row in market.SUBSCRIPTIONS:
        examples.add_row(row["id"], f"{row['expression']}{f'; bid {bid}' if (bid := row.get('score')) else ''}")
    console.print(examples)
    console.print("\n[bold]An event arrives: a new listing[/bold]")
    console.print(Padding(Text(json.dumps(event)), (0, 0, 0, 2)))

    matches = index.match(event)
    ids_by_kind: dict[str, list[Id]] = {kind: [] for kind in KINDS}
    for id_ in matches:
        ids_by_kind[str(id_).partition("/")[0]].append(id_)
    counts = ", ".join(pluralize(len(ids), KINDS[kind][0], KINDS[kind][1]) for kind, ids in ids_by_kind.items())
    console.print(f"\n[bold]It satisfies {len(matches)} of them[/bold]: {counts}. Why?", highlight=False)
    explanations = [index.explain(id_, event) for id_ in ("search/anna", "fraud/new-seller-half-price")]
    for id_, explanation in zip(("search/anna", "fraud/new-seller-half-price"), explanations, strict=True):
        console.print(Text(f"  {id_}"))
        _print_tree(explanation, console)

    best_ads = index.top_k(event, k=ADS_SHOWN, where={"kind": "ad"})
    console.print(
        f"\n[bold]The {ADS_SHOWN} ads that pay most[/bold]: index.top_k(event, k={ADS_SHOWN}, where={{'kind': 'ad'}})"
    )
    table = Table("bid", "ad", "shown beside listings with", box=None, padding=(0, 1, 0, 2))
    for id_, bid in best_ads:
        table.add_row(f"{bid:.2f}", str(id_), str(index[id_]))
    console.print(table)

    console.print("\n[bold]Why does it not match the search of Ben?[/bold]")
    mismatch = index.explain("search/ben", event)
    _print_tree(mismatch, console)
    return StoryResult(event, ids_by_kind, explanations, best_ads, mismatch)


def select_examples(result: StoryResult, index: tw.Index) -> list[tuple[str, Id, str]]:
    """Return the first matches of each kind as (kind, id, expression)."""
    return [(kind, id_, str(index[id_])) for kind, ids in result.ids_by_kind.items() for id_ in ids[:MATCHES_SHOWN]]


def count_kinds(index: tw.Index) -> Counter[str]:
    """Count the subscriptions of each kind."""
    return Counter(str(id_).partition("/")[0] for id_ in index)


def _print_tree(explanation: Explanation, console: Console) -> None:
    for line in str(explanation).splitlines():
        console.print(Text("    " + line, style=COLOURS[line.split(maxsplit=1)[0]]), soft_wrap=True)
