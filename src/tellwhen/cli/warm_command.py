"""Compiling kernels ahead of time, by using a small index in every way that a user can.

`tellwhen warm` is for images and first installations: a later process loads the compiled kernels from the cache.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numba.core import event as numba_event

from tellwhen.compile.store import Store
from tellwhen.engines import list_engines_supporting
from tellwhen.engines.cover.build import build_index
from tellwhen.engines.cover.reader import make_readers
from tellwhen.engines.shared.calls import Packed
from tellwhen.index import Index
from tellwhen.language import Interval

SUBSCRIPTIONS_PER_FORM = 200
"""Enough for an engine to build its index and to merge later subscriptions into it."""


class WarmResult(NamedTuple):
    """Duration and number of compiled functions of an engine."""

    engine: str
    seconds: float
    compiled: int
    """Kernels and functions inside of kernels that were compiled. The others were in the cache."""


class _CompilationCounter(numba_event.Listener):
    """Counter of the functions that Numba compiles, without those that it loads from the cache."""

    def __init__(self) -> None:
        self.compiled = 0

    def on_start(self, event: numba_event.Event) -> None:
        self.compiled += 1

    def on_end(self, event: numba_event.Event) -> None:
        pass


def compile_kernels(engine: str = "auto") -> WarmResult:
    """Compile all kernels that an index with this engine calls, unless they are in the cache."""
    begin = time.perf_counter()
    counter = _CompilationCounter()
    with numba_event.install_listener("numba:compile", counter):
        _exercise(engine)
    return WarmResult(engine, time.perf_counter() - begin, counter.compiled)


def _exercise(engine: str) -> None:
    """Match and rank with pending subscriptions, after a build, after removals, and after a load."""
    if engine == "auto":
        for layout in 1, 2:  # the layouts of large segments
            _exercise(f"auto:pending=64,layout={layout}")
        _compile_batches()
    # Every engine takes the normal form of few groups of alternatives. That of many groups is too large, so engines of
    # normal forms reject it and engines of expressions use their kernels for trees.
    few, many = 3, 9 if engine.partition(":")[0] in list_engines_supporting("expressions") else 3
    index = Index(engine)
    _match_all_forms(index.add_many(_generate_subscriptions(0, 5, few)))
    _match_all_forms(index.add_many(_generate_subscriptions(5, SUBSCRIPTIONS_PER_FORM, many)))
    _match_all_forms(index.optimize_for(_make_events()))
    _match_all_forms(index.add_many(_generate_subscriptions(SUBSCRIPTIONS_PER_FORM, SUBSCRIPTIONS_PER_FORM + 5, few)))
    _match_all_forms(index.remove_many(list(index)[: len(index) // 2]))
    # Of conjunctions, some engines remove a third one by one. Of longer normal forms they build everything again.
    conjunctions = {i: f"a = {i % 7} AND b <= {i} AND c IN (1, {i % 5})" for i in range(3 * SUBSCRIPTIONS_PER_FORM)}
    _match_all_forms(Index(engine).add_many(conjunctions).rebuild().remove_many(range(SUBSCRIPTIONS_PER_FORM)))
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder, "index"))
        index = Index.load(Path(folder, "index"))  # mapped into memory: its arrays are read-only
        _match_all_forms(index)
        _match_all_forms(
            index.add_many(_generate_subscriptions(SUBSCRIPTIONS_PER_FORM + 5, SUBSCRIPTIONS_PER_FORM + 10, few))
        )
        _match_all_forms(
            index.add_many(_generate_subscriptions(SUBSCRIPTIONS_PER_FORM + 10, 2 * SUBSCRIPTIONS_PER_FORM, many))
        )
        _match_all_forms(index.remove_many(list(index)[: len(index) // 2]))
        _match_all_forms(index.rebuild())


def _compile_batches() -> None:
    """Compile the kernels that large batches on a large index call."""
    snapshot, no_slots = Store().snapshot(), np.zeros(0, dtype=np.int32)
    for reader in make_readers([Packed(build_index(snapshot, no_slots, None))], Packed(snapshot)):
        reader.compile()


def _generate_subscriptions(first: int, last: int, groups: int) -> Iterator[tuple[str, str, int]]:
    """Yield subscriptions of every form with scores."""
    return ((*pair, number % 7) for number, pair in enumerate(_generate_expressions(first, last, groups)))


def _generate_expressions(first: int, last: int, groups: int) -> Iterator[tuple[str, str]]:
    """Yield ids and expressions: conjunctions, ORs, negations, and every family of values."""
    for i in range(first, last):
        yield f"number {i}", f"a = {i} AND b BETWEEN {i} AND {i + 9} AND c <> {i % 7}"
        yield f"float {i}", f"x > {i}.5 AND a IN ({i}, {i + 1}, {i + 2}) AND b NOT IN ({i}, {i + 2})"
        yield f"or {i}", f"(a < {i} OR x >= {i}.25) AND (s = 'text {i}' OR NOT b > {i})"
        yield f"text {i}", f"s STARTS WITH 'te{i}' OR s LIKE '%{i}_x%' OR s CONTAINS 'xt {i}' OR s IN ('p', 'q{i}')"
        yield f"other {i}", f"day >= DATE '2026-01-{i % 28 + 1:02}' AND is_new AND c IS NULL AND s IS NOT NULL"
        yield f"groups {i}", " AND ".join(f"(d{k} = {i % 5} OR d{k} > {i % 11 + 5})" for k in range(groups))


def _make_events() -> list[dict[str, Any]]:
    day = dt.date(2026, 1, 20)
    single = {"a": 7, "b": 12, "x": 8.5, "s": "text 7", "day": day, "is_new": True, "d0": 2, "d1": 30, "d2": 2}
    several = {**single, "a": [7, 8, 9], "s": ["text 7", "te7 3_x"], "c": 3}
    between = {**single, "b": Interval(5, 25), "x": Interval(1.5, None)}
    return [single, several, between, {"s": "unknown", "q": 1}, {}]


def _match_all_forms(index: Index) -> None:
    for values in _make_events():
        index.match(values)
    index.match_many(_make_events())
    index.match_many(_make_events()[:1] * 3)
    for table in _make_event_tables():
        index.match_many(table)
        index.match_many(table.slice(1))
    _rank(index)


def _rank(index: Index) -> None:
    first, *_ = index
    index.set_score(first, 3).set_scores({first: 2})
    for relaxed in False, True:
        index.top_k(_make_events()[0], relaxed=relaxed)
        index.top_k_many(_make_events(), relaxed=relaxed)
    for relaxed in False, True:
        index.top_k(_make_events()[0], relaxed=relaxed, weights={"a": 2})


def _make_event_tables() -> Iterator[pa.Table]:
    """Yield tables of events for the warm-up: one column per attribute, or maps, with and without nulls.

    Arrow's own buffers are read-only and copies of them are not, which Numba compiles separately.
    """
    days = [dt.date(2026, 1, day) for day in (5, 20, 28)]
    for missing in ([], [None]):
        yield pa.table(
            {
                "a": [7, 8, 9, *missing],
                "b": pa.array([12, 5, 0, *missing], pa.int32()),
                "c": pa.array([1, 2, 3, *missing], pa.uint64()),
                "x": [8.5, 0.25, 1e20, *missing],
                "s": ["text 7", "te7", "q7", *missing],
                "day": [*days, *missing],
                "is_new": [True, False, True, *missing],
                "d0": pa.array([2.0, 3.0, 0.5, *missing], pa.float32()),
                "d1": [[1, 2], [3], [], *missing],
                "d2": pa.array([2, 30, 4, *missing], pa.int8()),
            }
        )
    words = pa.array(["p", "q7", "p"]).dictionary_encode()
    yield pa.table({"day": pa.array(days).cast(pa.timestamp("ms")), "s": words})
    yield pa.table({"s": [["p", "q7"], ["text 7"], []], "a": [7, 8, 9]})
    for kind in (pa.int64(), pa.int32(), pa.uint64(), pa.string()):
        yield pa.table({"x": pa.array([7, 8, 9]).cast(kind)})
    for values, kind in ((["7", "x"], pa.string()), ([7, 12], pa.int64()), ([7.0, 1.5], pa.float64())):
        entries = [list(zip("as", values, strict=True)), [("b", values[0])], [], None]
        yield pa.table({"attributes": pa.array(entries, pa.map_(pa.string(), kind))})
