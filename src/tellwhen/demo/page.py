"""Page of the demo: the story, the measurements, and the parts of the index."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import tellwhen as tw
from tellwhen.demo.pipeline import CHECKED_LISTINGS, PipelineResult
from tellwhen.demo.speed import COMPARED_SUBSCRIPTIONS, QUERY, ROUNDS, EngineTime, JoinComparison, Latency
from tellwhen.demo.story import KINDS, Build, StoryResult, count_kinds, select_examples
from tellwhen.report import Page, bars
from tellwhen.spark.matches import describe_version

PREDICATES_SHOWN = 6


def write_page(
    file: Path,
    build: Build,
    story: StoryResult,
    latency: Latency,
    pipeline: PipelineResult,
    join: JoinComparison,
    engines: list[EngineTime],
) -> Path:
    """Write the page; return its file."""
    count, matches = len(build.market), sum(map(len, story.ids_by_kind.values()))
    page = Page(f"One listing, {count:,} subscriptions")
    page.text(
        "People save searches on a marketplace, advertisers place ads with bids, and the staff writes fraud rules. All "
        "of them are standing Boolean expressions. A new listing arrives: which expressions does it satisfy? The demo "
        "of tellwhen has written this page with figures of this machine. The page opens without a network."
    )
    page.tiles({
        "standing subscriptions": f"{count:,}",
        "matches of the listing": f"{matches:,}",
        "from dict to ids, median": f"{latency.get_quantile(0.5):,.0f} us",
        "times as fast as a SQL join": f"{join.speedup:,.0f}",
    })  # fmt: skip
    _add_story(page, build.market, story)
    _add_speed(page, build, latency, join, engines)
    _add_spark(page, pipeline)
    _add_index_internals(page, build.market)
    return page.save(file)


def _add_story(page: Page, index: tw.Index, story: StoryResult) -> None:
    page.heading("The listing")
    page.code(json.dumps(story.event))
    page.heading("What it matched")
    counts = count_kinds(index)
    page.table(
        ["kind", "subscriptions", "matches"],
        [[KINDS[kind][1], counts[kind], len(ids)] for kind, ids in story.ids_by_kind.items()],
    )
    page.text("Some of them:")
    page.table(["kind", "id", "expression"], [list(row) for row in select_examples(story, index)])
    page.heading("Why")
    page.text("Every match can be explained, down to the values that decide it.")
    for explanation in story.match_explanations:
        page.tree(explanation)
    page.heading("The five ads that pay most")
    page.text("Ads have bids. The best k are found without matching all ads, here with a filter on their payload.")
    page.code("index.top_k(listing, k=5, where={'kind': 'ad'})")
    page.table(["bid", "id", "expression"], [[bid, id_, str(index[id_])] for id_, bid in story.best_ads])
    page.heading("Why not")
    page.text("Ben searches for such a bike, too. The listing costs 40 more than his limit.")
    page.tree(story.mismatch_explanation)


def _add_speed(page: Page, build: Build, latency: Latency, join: JoinComparison, engines: list[EngineTime]) -> None:
    page.heading("How fast")
    page.text(
        f"{len(latency.single):,} listings were matched one by one, from a dict to a list of ids, in one thread. Half "
        f"of them took at most {latency.get_quantile(0.5):.0f} us, 99 in 100 at most "
        f"{latency.get_quantile(0.99):.0f} us. In one batch it was {latency.per_second:,.0f} listings a second. "
        f"{len(build.market):,} subscriptions were parsed and indexed in {build.seconds:.1f} seconds, including "
        "compilation if this was the first run."
    )
    page.chart(bars(_build_histogram(latency), "microseconds", "listings"), "Listings by the time that one match took.")
    page.text(
        f"Without tellwhen, a user would store a row for every predicate and a row for every value of an event, and "
        f"write a join and a count. The query can express only ANDs of comparisons. On Spark, "
        f"for {join.subscriptions:,} such saved searches and {join.listings} listings, with the same "
        f"{join.matches:,} matches:"
    )
    page.code(QUERY)
    page.table(
        ["on Spark", "seconds, median", "minimum", "maximum"],
        [[name, statistics.median(times), min(times), max(times)]
         for name, times in (("the join", join.join), ("tellwhen", join.match))],
    )  # fmt: skip
    page.text(
        f"Each ran {ROUNDS} times, in turn. Most of tellwhen's time is Spark's own: starting tasks and handing over "
        "rows."
    )
    rows = [{"engine": time.engine, "microseconds per listing": round(time.median, 1)} for time in engines]
    page.chart(
        bars(rows, "microseconds per listing", "engine"),
        f"Engines on {COMPARED_SUBSCRIPTIONS:,} of the subscriptions: the default, a counting index, and a tight scan. "
        "From dict to ids, one by one.",
    )
    page.table(
        ["engine", "microseconds, median", "minimum", "maximum"],
        [[time.engine, round(time.median, 1), round(time.minimum, 1), round(time.maximum, 1)] for time in engines],
    )


def _build_histogram(latency: Latency, buckets: int = 14) -> list[dict[str, Any]]:
    """Count matches by time; the last bar has the slowest 1 % and all above three times the median."""
    limit = min(latency.get_quantile(0.99), 3 * latency.get_quantile(0.5))
    width = max(1, round(limit / buckets, -1) if limit > 100 else round(limit / buckets))
    last = int(limit // width)
    counts = [0] * (last + 1)
    for micros in latency.single:
        counts[min(last, int(micros // width))] += 1
    labels = [f"{n * width:.0f}" for n in range(last)] + [f"{last * width:.0f}+"]
    first = next(n for n, count in enumerate(counts) if count)
    return [{"microseconds": labels[n], "listings": counts[n]} for n in range(first, last + 1)]


def _add_spark(page: Page, pipeline: PipelineResult) -> None:
    page.heading("The same on Spark")
    page.text(
        f"The same two files of JSON lines went through the pipeline: text was parsed and checked, profiled, built "
        f"into an index of shards, and {pipeline.listings:,} listings were matched, with {pipeline.matches:,} matches. "
        f"All of them equal the matches in one process. For {CHECKED_LISTINGS} listings, a sample was also compared "
        f"with the oracle, which evaluates expressions in plain Python. The index: "
        f"{describe_version(pipeline.version)}."
    )
    stages = [{"stage": name, "seconds": round(value, 2)} for name, value in pipeline.seconds.items()]
    page.chart(bars(stages, "seconds", "stage"), "Seconds per stage, on this machine, including the start of workers.")
    page.chart(
        bars(
            [{"matches": name, "listings": count} for name, count in pipeline.matches_histogram], "matches", "listings"
        ),
        "Listings by the number of subscriptions that they satisfy.",
    )
    page.text(
        f"Nothing is dropped silently: {pipeline.quarantined:,} subscriptions are in quarantine, each with the reason, "
        f"and {pipeline.undefined:,} values of listings were of a wrong type ('make an offer' as a price)."
    )
    page.table(["id", "expression", "reason"], [list(row) for row in pipeline.quarantine_examples])


def _add_index_internals(page: Page, index: tw.Index) -> None:
    page.heading("Inside the index")
    plan, stats = index.inspect.describe_engine(), index.inspect.get_stats()
    observed = (
        ""
        if plan.observed_candidates is None
        else f" {plan.observed_candidates:,.0f} candidates were tested per listing."
    )
    page.text(
        "A subscription is indexed by its rarest predicates, so an event that satisfies none of them never reaches it."
        f"{observed}"
    )
    parts = [{"lookup": part.lookup, "subscriptions": part.subscriptions} for part in plan.parts]
    page.chart(bars(parts, "subscriptions", "lookup"), "How subscriptions are found.")
    sizes = [{"part": name, "MB": round(size / 1e6, 2)} for name, size in stats["bytes"].items() if size > 1e4]
    page.chart(bars(sizes, "MB", "part"), "The memory of its parts.")
    page.table(
        ["", "count"],
        [["attributes", stats["attributes"]], ["different predicates", stats["predicates"]],
         ["computed values of an event", plan.computed_values]],
    )  # fmt: skip
    page.text("Equal predicates are stored once. The predicates that cause the most work:")
    page.table(
        ["predicate", "subscriptions"],
        [[cost.predicate, cost.subscriptions] for cost in index.inspect.find_costly_predicates(PREDICATES_SHOWN)],
    )
