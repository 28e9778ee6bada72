"""What is an experiment? Points on an axis, the engines to measure at each point, and what a paper claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.claims import Claim, Row
from bench.engines import exists
from tellwhen.workloads import Workload

Metric = Literal["match", "build", "index", "beyond", "relative", "candidates", "predicates", "sharing"]
METRICS: dict[Metric, str] = {
    "match": "microseconds per event",
    "build": "seconds to build",
    "index": "bytes of the index per subscription",
    "beyond": "bytes of the index per subscription, beyond copies of its ends and scores",
    "relative": "times as long as the first engine",
    "candidates": "candidates per event",
    "predicates": "predicates tested per event",
    "sharing": "occurrences",
}
COUNT_MIN = 1_000
"""Subscriptions of a point, at least, whatever the scale."""


@dataclass(frozen=True)
class Point:
    """A point on the axis of a sub-figure: a workload, and the number of its subscriptions."""

    variant: str
    x: float | str
    work: Workload
    count: int

    @property
    def key(self) -> str:
        return f"{self.variant}|{self.x}"


Points = Callable[[float], list[Point]]
"""From a scale to the points of an experiment."""

Measure = Callable[[Any, list[str], int], Iterator[dict[str, Any]]]
"""From a point, engines and rounds to the steps as they begin, and at last a row for each engine; see `point.py`."""


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper.

    `says` is the paper's finding in one sentence, `claims` the same as checks. `engines` are those that the figure
    shows, by our names; `labels` says what some of them stand for; `also` names what is missing besides engines. A
    figure that does not compare engines has `rows` instead of points; one that compares other structures has its own
    `measure`. `more` are the metrics of further sub-figures.
    With a `note` there is no verdict: it says why. `differs` says why some claims do not hold here.
    """

    name: str
    title: str
    says: str
    axis: str
    metric: Metric
    engines: tuple[str, ...]
    points: Points = lambda scale: []
    rows: Callable[[float], list[Row]] | None = None
    measure: Measure | None = None
    claims: tuple[Claim, ...] = ()
    log_x: bool = False
    more: tuple[Metric, ...] = ()
    also: str = ""
    note: str = ""
    differs: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, engine: str) -> str:
        """What an engine is called where it is shown."""
        return self.labels.get(engine, engine)

    @property
    def missing(self) -> list[str]:
        """The engines that do not exist yet."""
        return [engine for engine in self.engines if not exists(engine)]

    @property
    def present(self) -> list[str]:
        """The engines that can be measured."""
        return [engine for engine in self.engines if exists(engine)]

    @property
    def waits(self) -> str:
        """What is missing for the whole figure; empty if nothing is."""
        return ", ".join([*self.missing, *([self.also] if self.also else [])])


def vary(
    make: Callable[..., Workload],
    name: str,
    values: Sequence[Any],
    variants: Mapping[str, Mapping[str, Any]],
    count: int,
    **fixed: Any,
) -> Points:
    """Points where one parameter takes several values, in each variant; the name `count` varies the subscriptions."""

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
    """A number of subscriptions, scaled."""
    return max(COUNT_MIN, round(count * scale))
