"""What is an experiment? Points on an axis, engines measured at each, and what a paper says of the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.claims import Claim, Row
from tellwhen.engines.base import REGISTRY
from tellwhen.workloads import Workload

Metric = Literal["match", "build", "index", "candidates", "predicates", "sharing"]
METRICS: dict[Metric, str] = {
    "match": "microseconds per event",
    "build": "seconds to build",
    "index": "bytes of the index per subscription",
    "candidates": "candidates per event",
    "predicates": "predicates tested per event",
    "sharing": "times that it occurs",
}
SMALLEST = 1_000
"""Subscriptions at least, whatever the scale."""


@dataclass(frozen=True)
class Point:
    """One place on the axis of one sub-figure: a workload, and how many subscriptions of it."""

    variant: str
    x: float | str
    work: Workload
    count: int

    @property
    def key(self) -> str:
        return f"{self.variant}|{self.x}"


Points = Callable[[float], list[Point]]
"""The points of an experiment, by scale."""


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper. `engines` are those it shows, by our names; `also` is what else it waits for.

    A figure that is not about engines has `rows` instead of points. `more` are metrics of further sub-figures; `note`
    says what the verdict cannot.
    """

    name: str
    title: str
    says: str
    axis: str
    metric: Metric
    engines: tuple[str, ...]
    points: Points = lambda scale: []
    rows: Callable[[float], list[Row]] | None = None
    claims: tuple[Claim, ...] = ()
    log_x: bool = False
    more: tuple[Metric, ...] = ()
    also: str = ""
    note: str = ""

    @property
    def missing(self) -> list[str]:
        """Engines that do not exist yet."""
        return [engine for engine in self.engines if not exists(engine)]

    @property
    def present(self) -> list[str]:
        """Engines that can be measured."""
        return [engine for engine in self.engines if exists(engine)]

    @property
    def waits(self) -> str:
        """What it waits for, or nothing."""
        return ", ".join([*self.missing, *([self.also] if self.also else [])])


def exists(engine: str) -> bool:
    """Is there such an engine, whatever its options?"""
    return engine.partition(":")[0] in REGISTRY


def vary(
    make: Callable[..., Workload],
    name: str,
    values: Sequence[Any],
    variants: Mapping[str, Mapping[str, Any]],
    count: int,
    **fixed: Any,
) -> Points:
    """Points where one parameter takes several values, in each variant; `count` as the name varies the size."""

    def points(scale: float) -> list[Point]:
        found = []
        for variant, given in variants.items():
            for value in values:
                size = scaled(value if name == "count" else count, scale)
                parameters = {**fixed, **given} | ({} if name == "count" else {name: value})
                found.append(Point(variant, size if name == "count" else value, make(**parameters), size))
        return found

    return points


def scaled(count: int, scale: float) -> int:
    return max(SMALLEST, round(count * scale))
