"""Comparison of two sets of results: which values changed by more than the noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench.claims import Row
from bench.registry import EXPERIMENTS
from bench.results import Results, load_all

CHANGE_MIN = 0.05
"""A smaller change, as a share, counts as none, however small the noise is."""


class Change(NamedTuple):
    """A value in both sets.

    `delta` is the change as a share of the value in the first set; `noise` is the sum of both noises.
    """

    experiment: str
    metric: str
    variant: str
    x: Any
    engine: str
    before: float | None
    after: float | None
    delta: float | None
    noise: float | None
    verdict: Literal["same", "faster", "slower", "only in A", "only in B", "broken", "mended", "not comparable"]


def compare(first: Path, second: Path) -> Iterator[Change]:
    """Compare every matching time, and every value of the experiment's own metric, of both sets."""
    before = {result.experiment: result for result in load_all(first)}
    after = {result.experiment: result for result in load_all(second)}
    for name in sorted(before.keys() | after.keys()):
        yield from _compare_experiment(name, before.get(name), after.get(name))


def _compare_experiment(name: str, before: Results | None, after: Results | None) -> Iterator[Change]:
    old, new = _index_rows(before), _index_rows(after)
    is_same_scale = before is None or after is None or before.scale == after.scale
    own_metric = EXPERIMENTS[name].metric if name in EXPERIMENTS else "match"
    for metric in dict.fromkeys(("match", own_metric)):
        for key in [*old, *(key for key in new if key not in old)]:
            yield _compare_rows(name, metric, key, old.get(key), new.get(key), is_same_scale)


def describe_processor_difference(first: Path, second: Path) -> str:
    """Return the processors of both sets as text; empty if they are the same."""
    known = [{found.machine.get("processor", "unknown") for found in load_all(folder)} for folder in (first, second)]
    return "" if known[0] == known[1] else f"A: {', '.join(sorted(known[0]))}; B: {', '.join(sorted(known[1]))}"


def _index_rows(results: Results | None) -> dict[tuple[str, Any, str], Row]:
    return {(row["variant"], row["x"], row["engine"]): row for row in (results.rows if results else [])}


def _compare_rows(
    name: str, metric: str, key: tuple[str, Any, str], old: Row | None, new: Row | None, is_same_scale: bool
) -> Change:
    a, b = (None if row is None else row.get(metric) for row in (old, new))
    if old is None or new is None:
        return Change(name, metric, *key, a, b, None, None, "only in B" if old is None else "only in A")
    if not is_same_scale:
        return Change(name, metric, *key, a, b, None, None, "not comparable")
    if a is None or b is None:
        verdict: Any = "same" if a is None and b is None else "broken" if b is None else "mended"
        return Change(name, metric, *key, a, b, None, None, verdict)
    # Two runs differ by more than the rounds of one run: add both noises.
    delta, noise = b / a - 1, sum(row.get(f"{metric}_noise") or 0 for row in (old, new))
    return Change(name, metric, *key, a, b, delta, noise, judge_change(delta, noise))


def judge_change(delta: float, noise: float) -> Literal["same", "faster", "slower"]:
    """Return whether a time changed by more than twice the noise, and in which direction."""
    if abs(delta) <= max(CHANGE_MIN, 2 * noise):
        return "same"
    return "slower" if delta > 0 else "faster"
