"""`python -m bench.top_k`: the time to find the best 10, compared with matching and sorting; the rate of score changes.

The rivals in a line are timed in turn in the same run, on one event at a time, from a dict to ids with scores:

- top_k: `Index.top_k`
- all, sorted: the slots of all matches are sorted by score in NumPy, and the first 10 become ids
- match, sorted: what a user would write, `sorted(index.match(event), key=scores.get)[:10]`

The rivals run on an index without scores, whose segments are not cut into bands.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench.default import Case
from bench.loading import store_subscriptions
from bench.timing import time_interleaved
from tellwhen.compile.scores import Worth
from tellwhen.containers.text_blocks import NoTexts
from tellwhen.engines import create_with_fallback
from tellwhen.index import Index
from tellwhen.index.ids import Ids
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.shard import Shard
from tellwhen.profile import Profile
from tellwhen.workloads import Ads, BEGen, Targeting, Workload
from tellwhen.workloads.base import take_events

K, EVENTS = 10, 100
CHANGING_SECONDS = 1.0
"""Scores are changed for this long."""

CASES = [
    Case("conjunctions, 1 %", BEGen(), 1_000_000),
    Case("conjunctions, 0.1 %", BEGen(match=0.001), 1_000_000),
    Case("ad rules", Targeting(), 200_000),
    Case("ad campaigns", Ads(), 200_000),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.top_k", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes in the documents, less for a try")
    scale = parser.parse_args().scale
    columns = ["", "matches", "top_k", "all, sorted", "match, sorted", "noise", "times faster (goal 10)", "relaxed"]
    ranking_table = Table(*columns, title=f"The best {K}: microseconds per event")
    changes_table = Table(
        "", "set_scores / s (goal 100,000)", "set_score / s", "top_k meanwhile, us", title="Scores change"
    )
    for case in CASES:
        count = max(2_000, round(case.subscriptions * scale))
        scores = np.random.default_rng(1).lognormal(size=count)
        index, unscored = build_index(case.work, count, scores), build_index(case.work, count)
        events = take_events(case.work, EVENTS)
        title = f"{count:,} {case.title}"
        ranking_table.add_row(title, *_measure_ranking(index, unscored, scores, events))
        changes_table.add_row(title, *_measure_changes(index, scores, events))
    Console(width=130).print(ranking_table, changes_table)


def build_index(work: Workload, count: int, scores: np.ndarray | None = None) -> tw.Index:
    """Build an index of the first subscriptions, with their numbers as ids, without parsing those that are arrays."""
    store, slots = store_subscriptions(work, count)
    if scores is not None:
        store.scores.extend(0, [Worth(score) for score in scores.tolist()])
    ids = Ids()
    ids.extend(range(count))
    engine = create_with_fallback("auto", store)
    engine.insert(slots)
    engine.run_upkeep()
    index = Index.__new__(Index)
    index._open(Shard(store, engine, ids, NoTexts(count), Profile()), MemoryLimit(None))
    return index


def _measure_ranking(index: tw.Index, unscored: tw.Index, scores: np.ndarray, events: list[Any]) -> list[str]:
    score_by_id: dict[Any, float] = dict(enumerate(scores.tolist()))

    def sort_all(event: Any) -> list[Any]:
        state = unscored._contents.state
        slots = state.reader.match(unscored._encode_and_record(event, state)).slot
        best = slots[np.lexsort((slots, -scores[slots]))[:K]]
        return list(zip(state.ids.to_list(best, state.id_type), scores[best].tolist(), strict=True))

    def sort_matches(event: Any) -> list[Any]:
        ids = sorted(unscored.match(event), key=lambda id_: -score_by_id[id_])[:K]
        return [(id_, score_by_id[id_]) for id_ in ids]

    rivals: dict[str, Callable[[Any], Any]] = {
        "top_k": partial(index.top_k, k=K),
        "all": sort_all,
        "match": sort_matches,
        "relaxed": partial(index.top_k, k=K, relaxed=True),
    }
    for event in events:
        answers = [rivals[name](event) for name in ("top_k", "all", "match")]
        if answers[0] != answers[1] or answers[0] != answers[2]:
            raise AssertionError("top_k and its rivals return different results")
    times = time_interleaved({name: partial(_run_each, run, events) for name, run in rivals.items()}, 5)
    cells = {name: f"{timing.median / len(events) * 1e6:,.0f}" for name, timing in times.items()}
    noise = max(timing.noise for timing in times.values())
    matches = sum(unscored.count(event) for event in events) / len(events)
    gain = times["all"].median / times["top_k"].median
    return [
        f"{matches:,.0f}", cells["top_k"], cells["all"], cells["match"], f"{noise:.0%}", f"{gain:.0f}", cells["relaxed"]
    ]  # fmt: skip


def _run_each(run: Callable[[Any], object], events: list[Any]) -> None:
    for event in events:
        run(event)


def _measure_changes(index: tw.Index, scores: np.ndarray, events: list[Any]) -> list[str]:
    """Change scores by up to 5 percent, as pacing of budgets changes those of ads."""
    rng = np.random.default_rng(2)
    ids = rng.integers(0, len(scores), 10_000)
    batch = dict(zip(ids.tolist(), (scores[ids] * rng.uniform(0.95, 1.05, len(ids))).tolist(), strict=True))
    batch_rate = len(batch) * _measure_rate(lambda n: index.set_scores(batch))
    pairs = list(batch.items())
    single_rate = _measure_rate(lambda n: index.set_score(*pairs[n % len(pairs)]))
    is_over, times = threading.Event(), []

    def rank() -> None:
        while not is_over.is_set():
            for event in events:
                begin = time.perf_counter()
                index.top_k(event, K)
                times.append(time.perf_counter() - begin)

    thread = threading.Thread(target=rank)
    thread.start()
    _measure_rate(lambda n: index.set_scores(dict(pairs[n % 90 * 100 : n % 90 * 100 + 100])))
    is_over.set()
    thread.join()
    return [f"{batch_rate:,.0f}", f"{single_rate:,.0f}", f"{np.median(times) * 1e6:,.0f}"]


def _measure_rate(change: Callable[[int], object]) -> float:
    """Return the changes per second."""
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < CHANGING_SECONDS:
        change(count)
        count += 1
    return count / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
