"""How the experiments of BE-Tree and PS-Tree measure a point: leaf capacity, excluded engines, historical events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from bench.experiment import Point, Points
from tellwhen.papers.be_tree.betree.engine import suggest_capacity

NO_INEQUALITY = ("counting", "kindex", "propagation")
"""Engines that BE-Tree does not measure with <> and NOT IN (section 7.2)."""

HISTORICAL_EVENTS = 1_000
"""Events of the past, from which engines estimate selectivity (PS-Tree, section 3.3). The paper gives no number."""


def mark_comparable(points: Points, is_comparable: Callable[[Point], bool]) -> Points:
    """Return a function that makes the same points, with `comparable` set by `is_comparable`."""
    return lambda scale: [replace(point, comparable=is_comparable(point)) for point in points(scale)]


def measure_like_betree(
    point: Point, engines: list[str], *options: Any, excluded: Collection[str] = (), **more: Any
) -> Iterator[dict[str, Any]]:
    """Measure a point as in BE-Tree, section 7; return the messages of `measure_engines`.

    `betree` gets the leaf capacity for the match probability of the workload (Table 4). Real data has no such
    parameter, and an event matches far fewer than 1 % of the subscriptions: it gets the capacity for low probabilities.

    The rows of excluded engines say that the paper does not measure these engines here.
    """
    from bench.point import measure_engines  # imported here, because that module imports this one

    if getattr(point.work, "operators", "") == "high":
        excluded = {*excluded, *NO_INEQUALITY}
    capacity = suggest_capacity(getattr(point.work, "match", 0.0))
    name_by_spec = {
        f"{name}:max_cap={capacity}" if name in ("betree", "betree-batch") else name: name
        for name in engines
        if name not in excluded
    }
    for message in measure_engines(point, list(name_by_spec), *options, **more):
        content = message.get("row", message)
        if content.get("engine"):
            content["engine"] = name_by_spec[content["engine"]]
        yield message
    for name in engines:
        if name in excluded:
            yield {"row": {"engine": name, "status": "excluded", "detail": "the paper does not measure it here"}}


def measure_like_pstree(
    point: Point, engines: list[str], *options: Any, excluded: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Measure a point as `measure_like_betree` does; engines know historical events (PS-Tree, section 3.3)."""
    return measure_like_betree(point, engines, *options, excluded=excluded, historical_events=HISTORICAL_EVENTS)
