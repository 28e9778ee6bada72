"""`python -m bench.top_k`: how fast are the best 10 found, beside matching all and sorting? How fast do scores change?

Every line has its rivals in the same run, timed in turn, one event at a time, from a dict to ids with scores:

- `top_k` itself
- all, sorted: the slots of all matches, sorted by score in NumPy, the ids of the first 10
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
from bench.loading import stored
from bench.measure import interleaved
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
SECONDS = 1.0
"""For how long scores are changed."""

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
    found = Table(*columns, title=f"The best {K}: microseconds per event")
    changed = Table("", "set_scores / s (goal 100,000)", "set_score / s", "top_k meanwhile, us", title="Scores change")
    for case in CASES:
        count = max(2_000, round(case.subscriptions * scale))
        scores = np.random.default_rng(1).lognormal(size=count)
        index, plain = indexed(case.work, count, scores), indexed(case.work, count)
        events = take_events(case.work, EVENTS)
        title = f"{count:,} {case.title}"
        found.add_row(title, *_ranked(index, plain, scores, events))
        changed.add_row(title, *_changed(index, scores, events))
    Console(width=130).print(found, changed)


def indexed(work: Workload, count: int, scores: np.ndarray | None = None) -> tw.Index:
    """An index of the first subscriptions, by number. Those that are arrays already are not parsed."""
    store, slots = stored(work, count)
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


def _ranked(index: tw.Index, plain: tw.Index, scores: np.ndarray, events: list[Any]) -> list[str]:
    by_id: dict[Any, float] = dict(enumerate(scores.tolist()))

    def all_sorted(event: Any) -> list[Any]:
        state = plain._contents.state
        slots = state.reader.match(plain._encode_and_record(event, state)).slot
        best = slots[np.lexsort((slots, -scores[slots]))[:K]]
        return list(zip(state.ids.to_list(best, state.id_type), scores[best].tolist(), strict=True))

    def match_sorted(event: Any) -> list[Any]:
        ids = sorted(plain.match(event), key=lambda id_: -by_id[id_])[:K]
        return [(id_, by_id[id_]) for id_ in ids]

    rivals: dict[str, Callable[[Any], Any]] = {
        "top_k": partial(index.top_k, k=K),
        "all": all_sorted,
        "match": match_sorted,
        "relaxed": partial(index.top_k, k=K, relaxed=True),
    }
    for event in events:
        answers = [rivals[name](event) for name in ("top_k", "all", "match")]
        if answers[0] != answers[1] or answers[0] != answers[2]:
            raise AssertionError("they rank differently")
    times = interleaved({name: partial(_each, run, events) for name, run in rivals.items()}, 5)
    shown = {name: f"{one.median / len(events) * 1e6:,.0f}" for name, one in times.items()}
    noise = max(one.noise for one in times.values())
    matches = sum(plain.count(event) for event in events) / len(events)
    gain = times["all"].median / times["top_k"].median
    return [
        f"{matches:,.0f}", shown["top_k"], shown["all"], shown["match"], f"{noise:.0%}", f"{gain:.0f}", shown["relaxed"]
    ]  # fmt: skip


def _each(run: Callable[[Any], object], events: list[Any]) -> None:
    for event in events:
        run(event)


def _changed(index: tw.Index, scores: np.ndarray, events: list[Any]) -> list[str]:
    """Scores move by up to 5 percent, as those of ads do whose budgets are paced."""
    rng = np.random.default_rng(2)
    ids = rng.integers(0, len(scores), 10_000)
    batch = dict(zip(ids.tolist(), (scores[ids] * rng.uniform(0.95, 1.05, len(ids))).tolist(), strict=True))
    together = len(batch) * _rate(lambda n: index.set_scores(batch))
    some = list(batch.items())
    singly = _rate(lambda n: index.set_score(*some[n % len(some)]))
    is_over, times = threading.Event(), []

    def rank() -> None:
        while not is_over.is_set():
            for event in events:
                begin = time.perf_counter()
                index.top_k(event, K)
                times.append(time.perf_counter() - begin)

    thread = threading.Thread(target=rank)
    thread.start()
    _rate(lambda n: index.set_scores(dict(some[n % 90 * 100 : n % 90 * 100 + 100])))
    is_over.set()
    thread.join()
    return [f"{together:,.0f}", f"{singly:,.0f}", f"{np.median(times) * 1e6:,.0f}"]


def _rate(change: Callable[[int], object]) -> float:
    """Changes per second."""
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        change(count)
        count += 1
    return count / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
