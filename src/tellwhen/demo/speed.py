"""Measurements of the demo: the time of one listing, other engines, and an equivalent SQL query."""

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
from tellwhen.demo.story import read_listings
from tellwhen.language.ast import And, Expr, Predicate

TIMED_LISTINGS = 3_000
"""Listings that are timed one by one."""

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
"""Query of a user without tellwhen: a row for every predicate, a row for every value, a join, and a count."""


class Latency(NamedTuple):
    """Times of single matches and the throughput of a batch."""

    single: list[float]
    """Microseconds, ascending."""
    per_second: float
    """Listings per second in one batch."""
    matches: int

    def get_quantile(self, share: float) -> float:
        """Return the microseconds within which this share of the single matches ended."""
        return self.single[min(len(self.single) - 1, int(share * len(self.single)))]


class JoinComparison(NamedTuple):
    """Seconds of every round of the SQL query and of tellwhen, for the same matches."""

    join: list[float]
    match: list[float]
    subscriptions: int
    listings: int
    matches: int

    @property
    def speedup(self) -> float:
        return statistics.median(self.join) / statistics.median(self.match)


class EngineTime(NamedTuple):
    """Microseconds per event of an engine in several rounds."""

    engine: str
    median: float
    minimum: float
    maximum: float


def measure_latency(index: tw.Index, folder: Path, console: Console) -> Latency:
    """Time listings one by one, from dict to ids, and then all of them in one batch."""
    events = read_listings(folder)
    for event in events[:200]:
        index.match(event)
    single = []
    for event in events[:TIMED_LISTINGS]:
        start = time.perf_counter()
        index.match(event)
        single.append((time.perf_counter() - start) * 1e6)
    matches = index.match_many(events[:500]).num_rows
    start = time.perf_counter()
    matches = index.match_many(events).num_rows
    per_second = len(events) / (time.perf_counter() - start)
    latency = Latency(sorted(single), per_second, matches)
    console.print(
        f"\n[bold]How long does it take?[/bold] From a dict to ids {latency.get_quantile(0.5):.0f} us (median; 99 in "
        f"100 at most {latency.get_quantile(0.99):.0f} us). In one batch, "
        f"{latency.per_second:,.0f} listings a second with {matches / len(events):.0f} matches each.",
        highlight=False,
    )
    return latency


def compare_engines(index: tw.Index, folder: Path, console: Console) -> list[EngineTime]:
    """Time the default engine and two plain ones in turns, so that noise hits all alike."""
    subscriptions = [(id_, index[id_]) for id_ in list(index)[:COMPARED_SUBSCRIPTIONS]]
    events = read_listings(folder)[:COMPARED_LISTINGS]
    with console.status("Comparing engines ..."):
        indexes = {name: tw.Index(name, schema=market.SCHEMA).add_many(subscriptions).rebuild() for name in ENGINES}
        seconds = _time_in_turns({name: _match_each(rival, events) for name, rival in indexes.items()}, 5)
    times = []
    for name, rounds in seconds.items():
        micros = sorted(total / len(events) * 1e6 for total in rounds)
        times.append(EngineTime(name.partition(":")[0], statistics.median(micros), micros[0], micros[-1]))
    summary = ", ".join(
        f"{time.engine} {time.median:,.0f} ({time.minimum:,.0f} to {time.maximum:,.0f})" for time in times
    )
    console.print(f"  Engines on {len(subscriptions):,} subscriptions, us per listing: {summary}", highlight=False)
    return times


def _match_each(index: tw.Index, events: list[dict[str, Any]]) -> Callable[[], object]:
    return lambda: [index.match(event) for event in events]


def _time_in_turns(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    for run in rivals.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def compare_with_join(spark: SparkSession, folder: Path, console: Console) -> JoinComparison:
    """Time the SQL query and tellwhen on Spark, on ANDs of comparisons and lists, which the query can express."""
    subscriptions = _draw_joinable_subscriptions()
    events = read_listings(folder)[:JOINED_LISTINGS]
    lines = [(number, json.dumps(event)) for number, event in enumerate(events)]
    frame = spark.createDataFrame(lines, "event_id long, attributes string").repartition(2).cache()
    raw = spark.createDataFrame([(id_, text) for id_, text, _ in subscriptions], "id string, expression string")
    predicates = [(id_, *part, len(parts)) for id_, _, parts in subscriptions for part in parts]
    columns = "id string, attribute string, texts array<string>, low double, high double, needed int"
    spark.createDataFrame(predicates, columns).repartition(2).cache().createOrReplaceTempView("predicates")
    entries = [(number, *entry) for number, event in enumerate(events) for entry in _list_values(event)]
    view = spark.createDataFrame(entries, "event_id long, attribute string, text string, number double")
    view.repartition(2).cache().createOrReplaceTempView("entries")
    with console.status("Comparing with an equivalent SQL query, on a small part ..."):
        tws.build(raw, folder / "joined", schema=market.SCHEMA)
        matched = tws.match(frame, folder / "joined")
        joined = spark.sql(QUERY)
        matches = set(matched.collect())
        if matches != set(joined.collect()):
            raise AssertionError("the index and the query disagree")
        seconds = _time_in_turns({"join": lambda: _drain(joined), "match": lambda: _drain(matched)}, ROUNDS)
    comparison = JoinComparison(seconds["join"], seconds["match"], len(subscriptions), len(events), len(matches))
    console.print(
        f"  The query in SQL, {len(subscriptions):,} saved searches x {len(events)} listings: "
        f"{statistics.median(comparison.join):.1f} s; tws.match: {statistics.median(comparison.match):.2f} s, the same "
        f"{len(matches):,} matches, {comparison.speedup:.0f} times as fast (medians of {ROUNDS} rounds).",
        highlight=False,
    )
    return comparison


def _drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


Part = tuple[str, list[str] | None, float | None, float | None]
"""Row of a predicate: attribute, strings, lowest number, highest number."""


def _draw_joinable_subscriptions() -> list[tuple[str, str, list[Part]]]:
    """Draw saved searches, and return those that the SQL query can express as (id, expression, predicates)."""
    selected: list[tuple[str, str, list[Part]]] = []
    number = 0
    while len(selected) < JOINED_SUBSCRIPTIONS:
        row = market.draw_subscription(number)
        number += 1
        parts = (
            _extract_parts(tw.parse(row["expression"]))
            if row["id"].startswith("search/") and number % 400 != 18
            else None
        )
        if parts is not None:
            selected.append((row["id"], row["expression"], parts))
    return selected


def _extract_parts(expression: Expr) -> list[Part] | None:
    """Return the predicates as rows, or None if the SQL query cannot express one of them."""
    rows: list[Part] = []
    for part in expression.args if isinstance(expression, And) else [expression]:
        if not isinstance(part, Predicate):
            return None
        operand = part.operand
        if part.operator in ("=", "IN") and all(isinstance(constant, str) for constant in part.constants):
            rows.append((part.attribute, list(map(str, part.constants)), None, None))
        elif part.operator in ("<=", ">=") and isinstance(operand, int):
            bounds = (-1e300, float(operand)) if part.operator == "<=" else (float(operand), 1e300)
            rows.append((part.attribute, None, *bounds))
        else:
            return None
    return rows


def _list_values(event: dict[str, Any]) -> list[tuple[str, str | None, float | None]]:
    """Return the strings and numbers of an event as (attribute, text, number)."""
    rows: list[tuple[str, str | None, float | None]] = []
    for name, value in event.items():
        if isinstance(value, str):
            rows.append((name, value, None))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            rows.append((name, None, float(value)))
    return rows
