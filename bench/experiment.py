"""Experiments: points on an axis, the engines to measure at each point, and the claims of a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bench.claims import Claim, Row
from bench.engines import is_known
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
SUBSCRIPTIONS_MIN = 1_000
"""A point has at least this many subscriptions at any scale."""


@dataclass(frozen=True)
class Point:
    """A point on the axis of a sub-figure: a workload and the number of subscriptions.

    `comparable` is False if scaling changed what the paper holds fixed; claims are then not checked at this point.
    `scale` is the share of the paper's size, set by `Experiment.list_points`.
    """

    variant: str
    x: float | str
    work: Workload
    count: int
    comparable: bool = True
    scale: float = 1.0

    @property
    def key(self) -> str:
        return f"{self.variant}|{self.x}"


Points = Callable[[float], list[Point]]
"""Function from a scale to the points of an experiment."""

Measure = Callable[[Any, list[str], int, bool], Iterator[dict[str, Any]]]
"""Function that measures engines at a point; parameters and messages are those of `point.measure_engines`."""


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper.

    `paper_finding` is one sentence; `claims` has the same as checks. `engines` are those in the figure, by our names;
    `labels` has other names to show for some of them. A figure that does not compare engines has a function `rows`
    instead of points, and a figure that compares other structures has its own `measure`. `more_metrics` are those of
    further sub-figures.

    `scale` is the share of the paper's sizes at which results are kept; `full_size_variants` are kept at full size.
    `paper_values` has the paper's own numbers for the metric, by variant, x and engine, where its text gives them.
    `no_verdict_reason` is set if the claims cannot be judged. `reasons.py` explains the claims that fail.
    """

    name: str
    title: str
    paper_finding: str
    axis: str
    metric: Metric
    engines: tuple[str, ...]
    points: Points = lambda scale: []
    rows: Callable[[float], list[Row]] | None = None
    measure: Measure | None = None
    claims: tuple[Claim, ...] = ()
    log_x: bool = False
    more_metrics: tuple[Metric, ...] = ()
    no_verdict_reason: str = ""
    paper_values: Mapping[tuple[str, Any, str], float] = field(default_factory=dict)
    scale: float = 0.1
    full_size_variants: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def list_points(self, scale: float | None = None) -> list[Point]:
        """Return the points at a scale, by default at the scale of the kept results."""
        if scale is not None:
            return [replace(point, scale=scale) for point in self.points(scale)]
        full = [point for point in self.list_points(1.0) if point.variant in self.full_size_variants]
        rest = [point for point in self.list_points(self.scale) if point.variant not in self.full_size_variants]
        return full + rest

    def get_label(self, engine: str) -> str:
        """Return the name of an engine in tables and plots."""
        return self.labels.get(engine, engine)

    @property
    def needs_build_times(self) -> bool:
        """Whether the figure or one of its claims is about the time to build."""
        metrics = (self.metric, *self.more_metrics, *(claim.metric for claim in self.claims))
        return "build" in metrics

    @property
    def missing_engines(self) -> list[str]:
        """The engines that do not exist yet."""
        return [engine for engine in self.engines if not is_known(engine)]

    @property
    def available_engines(self) -> list[str]:
        """The engines that can be measured."""
        return [engine for engine in self.engines if is_known(engine)]

    @property
    def missing_names(self) -> str:
        """The names of the missing engines as text; empty if all engines exist."""
        return ", ".join(self.missing_engines)


def vary(
    make: Callable[..., Workload],
    name: str,
    values: Sequence[Any],
    variants: Mapping[str, Mapping[str, Any]],
    count: int,
    **fixed: Any,
) -> Points:
    """Return points at which one parameter takes several values, in each variant.

    The name `count` varies the number of subscriptions.
    """

    def points(scale: float) -> list[Point]:
        result = []
        for variant, variant_parameters in variants.items():
            for value in values:
                size = scale_count(value if name == "count" else count, scale)
                parameters = {**fixed, **variant_parameters} | ({} if name == "count" else {name: value})
                result.append(Point(variant, size if name == "count" else value, make(**parameters), size))
        return result

    return points


def scale_count(count: int, scale: float) -> int:
    return max(SUBSCRIPTIONS_MIN, round(count * scale))
