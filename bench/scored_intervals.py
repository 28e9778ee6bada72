"""Measurement of structures of scored intervals: the best k intervals at many points, checked with NumPy (Ranked, 4).

If dimensions are not merged, the cursor of one structure is moved k times. Otherwise the Threshold Algorithm merges the
structures of all dimensions. Times are CPU times of the only thread, so other work on the machine does not count.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bench.claims import Row
from bench.experiment import Point
from bench.messages import BEGIN_TURN, make_step
from bench.timing import summarize
from tellwhen.kernels.arrays import F64, I32, I64
from tellwhen.papers.ranked import STRUCTURES, Boxes, ScoredIntervals
from tellwhen.workloads import BLOCK, Ranked
from tellwhen.workloads.draws import Draws

QUERIES, WARM_UP_QUERIES = 1_000, 100
"""Points whose search is timed, and other points that are searched before as a warm-up (Table 1)."""

CHECKED_QUERIES = 24
"""Points whose results are checked."""

RESULTS, FAN_OUT = 20, 50
"""Results of a point and children of a node, as in Table 1."""

ROUND_SECONDS = 2.0
"""A slow structure is measured with fewer points, so that a round takes about this long."""

BUILDS_MAX, BUILDS_SECONDS = 3, 3.0
"""A structure is built again until it was built this often or its builds have taken this long."""

POINT_SCALE = float(1 << 52)
"""Coordinates in the unit cube are multiplied by this factor to become integers; the order is kept."""

FindBest = Callable[[I64], tuple[I64, I32, int]]
"""Function from points to the best intervals.

Returns the offset of each point's results, their numbers, and the calls of getnext() for all points.
"""


@dataclass(frozen=True)
class RankedPoint(Point):
    """A point of a figure, with the number k of results, and whether dimensions are merged."""

    k: int = RESULTS
    is_merged: bool = True


def measure(point: RankedPoint, names: list[str], repeat: int, _needs_build_times: bool) -> Iterator[dict[str, Any]]:
    """Yield a message when a step begins, and at the end a row for each structure."""
    yield make_step("the workload")
    work = point.work
    assert isinstance(work, Ranked)
    low, high, score = _draw_boxes(work, point.count)
    drawn = _scale_to_integers(work.draw_points(Draws(work.seed, "events", 0), WARM_UP_QUERIES + QUERIES))
    warm_up_points, points = drawn[:WARM_UP_QUERIES], drawn[WARM_UP_QUERIES:]
    yield make_step("the truth")
    checked_points = points[:CHECKED_QUERIES]
    expected = [_find_best(low, high, score, query, point.k) for query in checked_points]
    stabbed = np.mean([((low <= query) & (query <= high)).sum() for query in checked_points])
    rows: dict[str, Row] = {}
    searches: dict[str, FindBest] = {}
    counts: dict[str, int] = {}
    yield make_step("wait")
    yield BEGIN_TURN
    for name in names:
        if name not in STRUCTURES:
            rows[name] = {"status": "failed", "detail": "this is not a structure of scored intervals"}
            continue
        yield make_step("build", name)
        rows[name], searches[name] = _build(point, STRUCTURES[name], low, high, score)
        yield make_step("check", name)
        start, number, calls = searches[name](checked_points)
        found = [number[a:b].tolist() for a, b in pairwise(start.tolist())]
        if found != expected:
            rows[name] = {"status": "wrong", "detail": "the best intervals differ from those of the scan"}
            del searches[name]
            continue
        rows[name] |= {
            "candidates": calls / len(checked_points),
            "matches": len(number) / len(checked_points),
            "stabbed": float(stabbed),
        }
        counts[name] = _count_affordable(searches[name], points)
    # All structures get the same points, except structures that are slower by an order of magnitude.
    count_max = max(counts.values(), default=0)
    shared_count = min((count for count in counts.values() if 10 * count >= count_max), default=0)
    points_by_name = {name: points[: min(count, shared_count)] for name, count in counts.items()}
    times: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(repeat):
        for name, find_best in searches.items():
            yield make_step("match", name)
            own_points = points_by_name[name]
            find_best(warm_up_points[: len(own_points) * WARM_UP_QUERIES // QUERIES])
            begin = time.thread_time()
            find_best(own_points)
            times[name].append((time.thread_time() - begin) / len(own_points))
    for name, seconds in times.items():
        summary = summarize(seconds)
        rows[name] |= {
            "match": summary.median * 1e6,
            "match_noise": summary.noise,
            "queries": len(points_by_name[name]),
        }
    best = rows[names[0]].get("match")
    for name in names:
        if best is not None and "match" in rows[name]:
            rows[name]["relative"] = rows[name]["match"] / best
        yield {"row": {"engine": name, **rows[name]}}


def _draw_boxes(work: Ranked, count: int) -> tuple[I64, I64, F64]:
    """Return lower ends, upper ends and scores, by subscription and dimension."""
    parts = [work.draw_boxes(block) for block in range(-(-count // BLOCK))]
    low, high, score = (np.concatenate([part[n] for part in parts])[:count] for n in range(3))
    return _scale_to_integers(low), _scale_to_integers(high), score


def _scale_to_integers(points: F64) -> I64:
    return np.rint(points * POINT_SCALE).astype(np.int64)


def _find_best(low: I64, high: I64, score: F64, point: I64, k: int) -> list[int]:
    """Return the best k intervals by testing all of them."""
    inside = (low <= point) & (point <= high)
    value = np.where(inside, score, 0.0)
    total = value[:, 0].copy()
    for i in range(1, value.shape[1]):
        total += value[:, i]
    found = np.flatnonzero(inside.any(axis=1))
    if len(found) > k:
        scores = total[found]
        found = found[scores >= np.partition(scores, len(scores) - k)[len(scores) - k]]
    return found[np.lexsort((found, -total[found]))][:k].tolist()


def _build(
    point: RankedPoint, structure: type[ScoredIntervals], low: I64, high: I64, score: F64
) -> tuple[Row, FindBest]:
    """Build the structures of all dimensions; return a row with time and memory, and the function that searches."""

    def build(count: int) -> Boxes | ScoredIntervals:
        if point.is_merged:
            return Boxes(low[:count], high[:count], score[:count], structure, FAN_OUT)
        return structure(low[:count, 0].copy(), high[:count, 0].copy(), score[:count, 0].copy(), FAN_OUT)

    build(100)  # compiles the kernels, if they are not in the cache
    structures: Boxes | ScoredIntervals | None = None
    times: list[float] = []
    while not times or (len(times) < BUILDS_MAX and sum(times) < BUILDS_SECONDS):
        structures = None
        gc.collect()
        begin = time.thread_time()
        structures = build(point.count)
        times.append(time.thread_time() - begin)
    assert structures is not None
    dimensions = structures.dimensions if isinstance(structures, Boxes) else [structures]
    beyond = sum(structure.nbytes - structure.copied_nbytes for structure in dimensions)
    row: Row = {"status": "ok", "build": float(np.median(times)), "bytes": structures.nbytes / point.count}
    row |= {"index": structures.nbytes / point.count, "beyond": beyond / point.count}
    return row, partial(_find_with_structures, structures, point.k)


def _find_with_structures(structures: Boxes | ScoredIntervals, k: int, points: I64) -> tuple[I64, I32, int]:
    if isinstance(structures, Boxes):
        start, number, _ = structures.top_k(points, k)
        return start, number, structures.pulls
    start, number = structures.top_k(points[:, 0], k)
    return start, number, len(number)


def _count_affordable(find_best: FindBest, points: I64) -> int:
    """Return the number of points that can be searched in one round."""
    find_best(points[:1])
    begin = time.thread_time()
    find_best(points[1:4])
    return int(min(QUERIES, max(4, 3 * ROUND_SECONDS / (time.thread_time() - begin))))
