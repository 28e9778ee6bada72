"""The figures of the demo: how long does one listing take, beside other engines, and beside the SQL one would write?"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.demo import market
from tellwhen.demo.story import listings
from tellwhen.language.ast import And, Expr, Predicate

ONE_BY_ONE = 3_000
"""Listings that are matched one by one, to see how long each takes."""

RIVALS = ("counting", "scan")
ENGINES = ("auto:layout=1", *RIVALS)
COMPARED_SUBSCRIPTIONS, COMPARED_LISTINGS = 15_000, 200
JOINED_SUBSCRIPTIONS, JOINED_LISTINGS, ROUNDS = 5_000, 300, 3

QUERY = """\
SELECT event_id, id AS subscription_id
FROM entries JOIN predicates USING (attribute)
WHERE array_contains(texts, text) OR number BETWEEN low AND high
GROUP BY event_id, id, needed
HAVING count(*) = needed"""
"""What one would write without tellwhen: a row for every predicate, a row for every value, a join, and a count."""


class Latency(NamedTuple):
    """Microseconds of single matches, ascending; listings per second in one batch; matches of all listings."""

    single: list[float]
    per_second: float
    matches: int

    def at(self, share: float) -> float:
        return self.single[min(len(self.single) - 1, int(share * len(self.single)))]


class Rival(NamedTuple):
    """Seconds of every round, for the same matches."""

    join: list[float]
    match: list[float]
    subscriptions: int
    listings: int
    matches: int

    @property
    def factor(self) -> float:
        return statistics.median(self.join) / statistics.median(self.match)


class Timed(NamedTuple):
    """Microseconds per event of an engine: the median, the least and the most of several rounds."""

    engine: str
    median: float
    least: float
    most: float


def latencies(index: tw.Index, folder: Path, console: Console) -> Latency:
    """Match listings one by one, from dict to ids, and then all of them at once."""
    events = listings(folder)
    for event in events[:200]:
        index.match(event)
    single = []
    for event in events[:ONE_BY_ONE]:
        start = time.perf_counter()
        index.match(event)
        single.append((time.perf_counter() - start) * 1e6)
    matches = index.match_many(events[:500]).num_rows
    start = time.perf_counter()
    matches = index.match_many(events).num_rows
    per_second = len(events) / (time.perf_counter() - start)
    found = Latency(sorted(single), per_second, matches)
    console.print(
        f"\n[bold]How long does it take?[/bold] From a dict to ids {found.at(0.5):.0f} us (median; 99 in 100 at "
        f"most {found.at(0.99):.0f} us). In one batch, {found.per_second:,.0f} listings a second with "
        f"{matches / len(events):.0f} matches each.",
        highlight=False,
    )
    return found


def engines(index: tw.Index, folder: Path, console: Console) -> list[Timed]:
    """The default engine beside two plain ones, on some of the subscriptions; in turn, so that noise hits all alike."""
    some = [(id_, index[id_]) for id_ in list(index)[:COMPARED_SUBSCRIPTIONS]]
    events = listings(folder)[:COMPARED_LISTINGS]
    with console.status("Comparing engines ..."):
        made = {name: tw.Index(name, schema=market.SCHEMA).add_many(some).rebuild() for name in ENGINES}
        seconds = _in_turn({name: _each(one, events) for name, one in made.items()}, 5)
    found = []
    for name, taken in seconds.items():
        each = sorted(one / len(events) * 1e6 for one in taken)
        found.append(Timed(name.partition(":")[0], statistics.median(each), each[0], each[-1]))
    said = ", ".join(f"{one.engine} {one.median:,.0f} ({one.least:,.0f} to {one.most:,.0f})" for one in found)
    console.print(f"  Engines on {len(some):,} subscriptions, us per listing: {said}", highlight=False)
    return found


def _each(index: tw.Index, events: list[dict[str, Any]]) -> Callable[[], object]:
    return lambda: [index.match(event) for event in events]


def _in_turn(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    for run in rivals.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def against_a_join(spark: SparkSession, folder: Path, console: Console) -> Rival:
    """Both on Spark, on the subscriptions that the query can express: ANDs of comparisons and lists."""
    some = list(_joinable())
    events = listings(folder)[:JOINED_LISTINGS]
    lines = [(number, json.dumps(event)) for number, event in enumerate(events)]
    given = spark.createDataFrame(lines, "event_id long, attributes string").repartition(2).cache()
    raw = spark.createDataFrame([(id_, text) for id_, text, _ in some], "id string, expression string")
    predicates = [(id_, *one, len(parts)) for id_, _, parts in some for one in parts]
    named = "id string, attribute string, texts array<string>, low double, high double, needed int"
    spark.createDataFrame(predicates, named).repartition(2).cache().createOrReplaceTempView("predicates")
    entries = [(number, *entry) for number, event in enumerate(events) for entry in _entries(event)]
    view = spark.createDataFrame(entries, "event_id long, attribute string, text string, number double")
    view.repartition(2).cache().createOrReplaceTempView("entries")
    with console.status("The query that one would write in SQL, beside the index, on a small part ..."):
        tws.build(raw, folder / "joined", schema=market.SCHEMA)
        matched = tws.match(given, folder / "joined")
        joined = spark.sql(QUERY)
        found = set(matched.collect())
        if found != set(joined.collect()):
            raise AssertionError("the index and the query disagree")
        seconds = _in_turn({"join": lambda: _drain(joined), "match": lambda: _drain(matched)}, ROUNDS)
    rival = Rival(seconds["join"], seconds["match"], len(some), len(events), len(found))
    console.print(
        f"  The query in SQL, {len(some):,} saved searches x {len(events)} listings: "
        f"{statistics.median(rival.join):.1f} s; tws.match: {statistics.median(rival.match):.2f} s, the same "
        f"{len(found):,} matches, {rival.factor:.0f} times as fast (medians of {ROUNDS} rounds).",
        highlight=False,
    )
    return rival


def _drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


Part = tuple[str, list[str] | None, float | None, float | None]
"""A predicate as a row: its attribute, its strings, or a lowest and a highest number."""


def _joinable() -> list[tuple[str, str, list[Part]]]:
    found: list[tuple[str, str, list[Part]]] = []
    number = 0
    while len(found) < JOINED_SUBSCRIPTIONS:
        row = market.subscription(number)
        number += 1
        parts = _parts(tw.parse(row["expression"])) if row["id"].startswith("search/") and number % 400 != 18 else None
        if parts is not None:
            found.append((row["id"], row["expression"], parts))
    return found


def _parts(expression: Expr) -> list[Part] | None:
    """The predicates as rows, or None if the query does not know one of them."""
    found: list[Part] = []
    for part in expression.args if isinstance(expression, And) else [expression]:
        if not isinstance(part, Predicate):
            return None
        operand = part.operand
        if part.operator in ("=", "IN") and all(isinstance(one, str) for one in part.constants):
            found.append((part.attribute, list(map(str, part.constants)), None, None))
        elif part.operator in ("<=", ">=") and isinstance(operand, int):
            bounds = (-1e300, float(operand)) if part.operator == "<=" else (float(operand), 1e300)
            found.append((part.attribute, None, *bounds))
        else:
            return None
    return found


def _entries(event: dict[str, Any]) -> list[tuple[str, str | None, float | None]]:
    found: list[tuple[str, str | None, float | None]] = []
    for name, value in event.items():
        if isinstance(value, str):
            found.append((name, value, None))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((name, None, float(value)))
    return found
