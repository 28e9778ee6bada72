"""How are structures of scored intervals measured? By the best k of many points, checked with NumPy (Ranked, 4).

One dimension: the cursor of one structure, k times. More, or `merged`: the Threshold Algorithm over all dimensions.
Times are those of the processor, since everything is in one thread: other work on the machine does not count.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bench.claims import Row
from bench.experiment import Point
from bench.machine import doing
from bench.measure import measured
from tellwhen.kernels.arrays import F64, I64
from tellwhen.papers.ranked import STRUCTURES, Boxes, ScoredIntervals
from tellwhen.workloads import BLOCK, Ranked
from tellwhen.workloads.draws import Draws

QUERIES, WARM_UP = 1_000, 100
"""Points that are measured, and points that are asked for before, as in Table 1."""

CHECKED = 24
"""Points whose results are checked."""

K, FAN_OUT = 20, 50
"""Results of a point and children of a node, as in Table 1."""

ROUND_SECONDS = 0.5
"""A slow structure is measured with fewer points, so that a round takes about this long."""

BUILDS_MAX, BUILDS_SECONDS = 3, 3.0
"""A structure is built this often, or until its builds have taken this long."""

SCALE = float(1 << 52)
"""Points of the unit cube become integers by this factor, which keeps their order."""

Ask = Callable[[I64], tuple[I64, Any]]


@dataclass(frozen=True)
class Asked(Point):
    """A point of a figure, the number of results that are asked for, and whether dimensions are merged."""

    k: int = K
    merged: bool = True


def measure(point: Asked, names: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """Yield the steps as they begin, and at the end a row for each structure."""
    yield doing("the workload")
    work = point.work
    assert isinstance(work, Ranked)
    low, high, score = _boxes(work, point.count)
    points = _scaled(work.draw_points(Draws(work.seed, "events", 0), WARM_UP + QUERIES))
    yield doing("the truth")
    wanted = [_best(low, high, score, one, point.k) for one in points[:CHECKED]]
    rows: dict[str, Row] = {}
    asks: dict[str, Ask] = {}
    counts: dict[str, int] = {}
    for name in names:
        if name not in STRUCTURES:
            rows[name] = {"status": "failed", "detail": "it is no structure of scored intervals"}
            continue
        yield doing("build", name)
        rows[name], asks[name] = _built(point, STRUCTURES[name], low, high, score)
        yield doing("check", name)
        start, number = asks[name](points[:CHECKED])
        found = [number[a:b].tolist() for a, b in pairwise(start.tolist())]
        if found != wanted:
            rows[name] = {"status": "wrong", "detail": "the best are others"}
            del asks[name]
            continue
        counts[name] = _affordable(asks[name], points)
    # The same points for all, but for those that are slower by orders of magnitude.
    most = max(counts.values(), default=0)
    alike = min((count for count in counts.values() if 10 * count >= most), default=0)
    some = {name: points[: min(count, alike)] for name, count in counts.items()}
    times: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(repeat):
        for name, ask in asks.items():
            yield doing("match", name)
            mine = some[name]
            ask(mine[: len(mine) // 10])
            begin = time.thread_time()
            ask(mine)
            times[name].append((time.thread_time() - begin) / len(mine))
    for name, found_times in times.items():
        figure = measured(found_times)
        rows[name] |= {"match": figure.median * 1e6, "match_noise": figure.noise, "queries": len(some[name])}
    best = rows[names[0]].get("match")
    for name in names:
        if best is not None and "match" in rows[name]:
            rows[name]["relative"] = rows[name]["match"] / best
        yield {"row": {"engine": name, **rows[name]}}


def _boxes(work: Ranked, count: int) -> tuple[I64, I64, F64]:
    """Lower ends, upper ends and scores, by subscription and dimension."""
    parts = [work.draw_boxes(block) for block in range(-(-count // BLOCK))]
    low, high, score = (np.concatenate([part[n] for part in parts])[:count] for n in range(3))
    return _scaled(low), _scaled(high), score


def _scaled(points: F64) -> I64:
    return np.rint(points * SCALE).astype(np.int64)


def _best(low: I64, high: I64, score: F64, point: I64, k: int) -> list[int]:
    """The best k by testing all of them."""
    inside = (low <= point) & (point <= high)
    value = np.where(inside, score, 0.0)
    total = value[:, 0].copy()
    for i in range(1, value.shape[1]):
        total += value[:, i]
    found = np.flatnonzero(inside.any(axis=1))
    if len(found) > k:
        mine = total[found]
        found = found[mine >= np.partition(mine, len(mine) - k)[len(mine) - k]]
    return found[np.lexsort((found, -total[found]))][:k].tolist()


def _built(point: Asked, structure: type[ScoredIntervals], low: I64, high: I64, score: F64) -> tuple[Row, Ask]:
    """A row with the time to build, of all dimensions, and the memory; and how to ask for the best."""

    def build(count: int) -> Boxes | ScoredIntervals:
        if point.merged:
            return Boxes(low[:count], high[:count], score[:count], structure, FAN_OUT)
        return structure(low[:count, 0].copy(), high[:count, 0].copy(), score[:count, 0].copy(), FAN_OUT)

    build(100)  # compiles the kernels, if they are not in the cache
    made: Boxes | ScoredIntervals | None = None
    times: list[float] = []
    while not times or (len(times) < BUILDS_MAX and sum(times) < BUILDS_SECONDS):
        made = None
        gc.collect()
        begin = time.thread_time()
        made = build(point.count)
        times.append(time.thread_time() - begin)
    assert made is not None
    dimensions = made.dimensions if isinstance(made, Boxes) else [made]
    beyond = sum(one.nbytes - one.copied_nbytes for one in dimensions)
    row: Row = {"status": "ok", "build": float(np.median(times)), "bytes": made.nbytes / point.count}
    row |= {"index": made.nbytes / point.count, "beyond": beyond / point.count}
    if isinstance(made, Boxes):
        boxes = made
        found = boxes.top_k(_scaled(np.full((1, len(dimensions)), 0.5)), point.k)
        row |= {"candidates": float(boxes.pulls), "matches": float(len(found.number))}
        return row, lambda points: boxes.top_k(points, point.k)[:2]
    one = made
    return row | {"candidates": float(point.k), "matches": float(point.k)}, lambda points: one.top_k(
        points[:, 0], point.k
    )


def _affordable(ask: Ask, points: I64) -> int:
    """The number of points that can be asked for in one round."""
    ask(points[:1])
    begin = time.thread_time()
    ask(points[1:4])
    return int(min(QUERIES, max(4, 3 * ROUND_SECONDS / (time.thread_time() - begin))))
