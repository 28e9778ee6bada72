"""The page of the demo: the story, how fast it was, and what is inside the index. For a colleague."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import tellwhen as tw
from tellwhen.demo.pipeline import CHECKED, Piped
from tellwhen.demo.speed import COMPARED_SUBSCRIPTIONS, QUERY, ROUNDS, Latency, Rival, Timed
from tellwhen.demo.story import KINDS, Made, Told, kinds, shown
from tellwhen.report import Page, bars
from tellwhen.spark.matcher import described

HEAVIEST = 6


def write(
    file: Path, made: Made, told: Told, latency: Latency, piped: Piped, rival: Rival, engines: list[Timed]
) -> Path:
    """Write the page; returns its file."""
    count, found = len(made.market), sum(map(len, told.matched.values()))
    page = Page(f"One listing, {count:,} subscriptions")
    page.text(
        "People leave saved searches on a marketplace, advertisers leave ads with bids, and its staff leaves fraud "
        "rules: all are Boolean expressions that wait. A new listing arrives. Which of them does it satisfy? This page "
        "was made by the demo of tellwhen, with figures of the machine that it ran on, and opens without a network."
    )
    page.tiles({
        "subscriptions that wait": f"{count:,}",
        "are true of the listing": f"{found:,}",
        "from dict to ids, median": f"{latency.at(0.5):,.0f} us",
        "times as fast as a SQL join": f"{rival.factor:,.0f}",
    })  # fmt: skip
    _story(page, made.market, told)
    _speed(page, made, latency, rival, engines)
    _spark(page, piped)
    _anatomy(page, made.market)
    return page.save(file)


def _story(page: Page, index: tw.Index, told: Told) -> None:
    page.heading("The listing")
    page.code(json.dumps(told.event))
    page.heading("What it matched")
    waiting = kinds(index)
    page.table(
        ["kind", "waiting", "true of it"],
        [[KINDS[kind][1], waiting[kind], len(ids)] for kind, ids in told.matched.items()],
    )
    page.text("Some of them:")
    page.table(["kind", "id", "expression"], [list(row) for row in shown(told, index)])
    page.heading("Why")
    page.text("Every match can be explained, down to the values that decided.")
    for explanation in told.why:
        page.tree(explanation)
    page.heading("The five ads that pay most")
    page.text("Ads have bids. The best k are found without matching all, here with a filter on what is kept with them.")
    page.code("index.top_k(listing, k=5, where={'kind': 'ad'})")
    page.table(["bid", "id", "expression"], [[bid, id_, str(index[id_])] for id_, bid in told.best])
    page.heading("Why not")
    page.text("Ben waits for such a bike, too. The listing is 40 more than he wants to spend.")
    page.tree(told.why_not)


def _speed(page: Page, made: Made, latency: Latency, rival: Rival, engines: list[Timed]) -> None:
    page.heading("How fast")
    page.text(
        f"{len(latency.single):,} listings were matched one by one, from a dict to a list of ids, in one thread. Half "
        f"of them took at most {latency.at(0.5):.0f} us, 99 in 100 at most {latency.at(0.99):.0f} us. In one batch it "
        f"was {latency.per_second:,.0f} listings a second. {len(made.market):,} subscriptions were parsed and indexed "
        f"in {made.seconds:.1f} seconds, with compiling, if it was the first time."
    )
    page.chart(bars(_histogram(latency), "microseconds", "listings"), "Listings by the time that one match took.")
    page.text(
        f"Without tellwhen, one would write a row for every predicate, a row for every value of an event, a join and a "
        f"count. It can say only ANDs of comparisons. On Spark, for {rival.subscriptions:,} such saved searches and "
        f"{rival.listings} listings, with the same {rival.matches:,} matches:"
    )
    page.code(QUERY)
    page.table(
        ["on Spark", "seconds, median", "least", "most"],
        [[name, statistics.median(times), min(times), max(times)]
         for name, times in (("the join", rival.join), ("tellwhen", rival.match))],
    )  # fmt: skip
    page.text(
        f"Each ran {ROUNDS} times, in turn. Most of tellwhen's time is Spark's own: starting tasks and handing over "
        "rows."
    )
    rows = [{"engine": one.engine, "microseconds per listing": round(one.median, 1)} for one in engines]
    page.chart(
        bars(rows, "microseconds per listing", "engine"),
        f"Engines on {COMPARED_SUBSCRIPTIONS:,} of the subscriptions: the default, a counting index, and a tight scan. "
        "From dict to ids, one by one.",
    )
    page.table(
        ["engine", "microseconds, median", "least", "most"],
        [[one.engine, round(one.median, 1), round(one.least, 1), round(one.most, 1)] for one in engines],
    )


def _histogram(latency: Latency, buckets: int = 14) -> list[dict[str, Any]]:
    """The slowest 1 in 100 share the last bar, and so does all that takes three times the median."""
    most = min(latency.at(0.99), 3 * latency.at(0.5))
    width = max(1, round(most / buckets, -1) if most > 100 else round(most / buckets))
    last = int(most // width)
    counts = [0] * (last + 1)
    for one in latency.single:
        counts[min(last, int(one // width))] += 1
    labels = [f"{n * width:.0f}" for n in range(last)] + [f"{last * width:.0f}+"]
    used = next(n for n, count in enumerate(counts) if count)
    return [{"microseconds": labels[n], "listings": counts[n]} for n in range(used, last + 1)]


def _spark(page: Page, piped: Piped) -> None:
    page.heading("The same on Spark")
    page.text(
        f"The same two files of JSON lines went through the pipeline: text was parsed and checked, profiled, built "
        f"into an index of shards, and {piped.listings:,} listings were matched, with {piped.matches:,} matches. "
        f"These are the same as in one process, all of them; those of {CHECKED} listings were also compared, in part, "
        f"with the oracle, which evaluates expressions in plain Python. The index: {described(piped.version)}."
    )
    stages = [{"stage": name, "seconds": round(value, 2)} for name, value in piped.seconds.items()]
    page.chart(bars(stages, "seconds", "stage"), "Seconds per stage, on this machine, with the start of workers.")
    page.chart(
        bars([{"matches": name, "listings": count} for name, count in piped.reach], "matches", "listings"),
        "Listings by the number of subscriptions that they satisfy.",
    )
    page.text(
        f"Nothing is dropped silently: {piped.quarantined:,} subscriptions are in quarantine, each with the reason, "
        f"and {piped.undefined:,} values of listings were of a wrong type ('make an offer' as a price)."
    )
    page.table(["id", "expression", "reason"], [list(row) for row in piped.faulty])


def _anatomy(page: Page, index: tw.Index) -> None:
    page.heading("Inside the index")
    plan, stats = index.inspect.describe_engine(), index.inspect.get_stats()
    observed = (
        ""
        if plan.observed_candidates is None
        else f" {plan.observed_candidates:,.0f} candidates were looked at per listing."
    )
    page.text(
        "A subscription waits for the rarest thing that must be true of an event, and nobody else's event looks at it."
        f"{observed}"
    )
    parts = [{"they": part.lookup, "subscriptions": part.subscriptions} for part in plan.parts]
    page.chart(bars(parts, "subscriptions", "they"), "What subscriptions wait for.")
    sizes = [{"part": name, "MB": round(size / 1e6, 2)} for name, size in stats["bytes"].items() if size > 1e4]
    page.chart(bars(sizes, "MB", "part"), "The memory of its parts.")
    page.table(
        ["what", "how many"],
        [["attributes", stats["attributes"]], ["different predicates", stats["predicates"]],
         ["values computed of an event", plan.computed_values]],
    )  # fmt: skip
    page.text("Equal predicates are one, however many ask for them. Those that make the most work:")
    page.table(
        ["predicate", "subscriptions"],
        [[one.predicate, one.subscriptions] for one in index.inspect.find_costly_predicates(HEAVIEST)],
    )
