"""Claims of the papers, each a check on the rows of an experiment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

Row = dict[str, Any]
Verdict = Literal["holds", "does not hold", "not comparable"]
LIMIT_STATUSES = ("over time", "over memory")
"""Statuses of an engine that exceeded its time or memory. It has lost the point to its rivals."""


class Finding(NamedTuple):
    """A verdict, and the measured facts in a sentence."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """One statement of a paper.

    A claim is about `metric`, by default that of the figure. It is checked on the variants whose names contain `where`,
    at the points with `x_from <= x < x_below`; with `at_end` only at the last measured point of each variant.
    """

    metric: str | None = None
    where: str = ""
    x_from: float = float("-inf")
    x_below: float = float("inf")
    at_end: bool = False

    @property
    @abstractmethod
    def engines(self) -> tuple[str, ...]:
        """The engines that the claim is about."""

    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        """Check the claim on the rows of an experiment."""
        rows = [row for row in rows if self.where in row["variant"] and self._covers(row["x"])]
        if self.at_end:
            last = {row["variant"]: row["x"] for row in sorted(rows, key=lambda row: row["x"])}
            rows = [row for row in rows if row["x"] == last[row["variant"]]]
        finding = self._judge(rows, self.metric or metric)
        return finding._replace(text=f"{finding.text} ({self.where.strip(': ')})" if self.where else finding.text)

    def _covers(self, x: Any) -> bool:
        return not isinstance(x, int | float) or self.x_from <= x < self.x_below

    @abstractmethod
    def _judge(self, rows: Sequence[Row], metric: str) -> Finding: ...


def judge_all(claims: Sequence[Claim], rows: Sequence[Row], metric: str) -> Finding:
    """Check all claims; the verdict is the worst of theirs: "does not hold", then "not comparable", then "holds"."""
    if not claims:
        return Finding("not comparable", "there is no claim to check")
    findings = [claim.judge(rows, metric) for claim in claims]
    text = "; ".join(text if verdict == "holds" else f"{text}: {verdict}" for verdict, text in findings)
    verdicts = {finding.verdict for finding in findings}
    order: tuple[Verdict, ...] = ("does not hold", "not comparable", "holds")
    return Finding(next(verdict for verdict in order if verdict in verdicts), text)


Key = tuple[str, Any]


def find_rows_by_point(rows: Sequence[Row], engine: str) -> dict[Key, Row]:
    """Return the rows of an engine by variant and x, in the order of the axis."""
    own_rows = [row for row in rows if row["engine"] == engine]
    is_numeric = all(isinstance(row["x"], int | float) for row in own_rows)
    return {(row["variant"], row["x"]): row for row in sorted(own_rows, key=lambda row: row["x"] if is_numeric else 0)}


def get_value(row: Row | None, metric: str) -> float | None:
    """Return the measured value; None if there is no row, or its status is not ok."""
    return None if row is None or row["status"] != "ok" else row.get(metric)


DRAW_DIFFERENCE_MAX = 0.3
"""A larger difference, as a share, is never a draw, however noisy the point is."""


@dataclass(frozen=True)
class Leads(Claim):
    """An engine beats each of its rivals by `factor`, at a `share` of the points where both were run.

    The engine wins a point if its rival exceeded its time or memory there, and loses the point if it has no value
    itself. A difference within the noise, but at most 30 %, is a draw. If the factor is 1, a draw counts as won.
    """

    engine: str
    rivals: tuple[str, ...]
    factor: float = 1.0
    share: float = 0.9

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, *self.rivals

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        own_rows = find_rows_by_point(rows, self.engine)
        texts: list[str] = []
        verdict: Verdict = "holds"
        for rival in self.rivals:
            rival_rows = find_rows_by_point(rows, rival)
            points = [key for key in own_rows if key in rival_rows]
            if not points:
                return Finding("not comparable", f"{self.engine} and {rival} were not measured together")
            comparisons = [self._compare(own_rows[key], rival_rows[key], metric) for key in points]
            won = sum(is_won for is_won, _ in comparisons)
            if won < self.share * len(points):
                verdict = "does not hold"
            ratios = sorted(ratio for _, ratio in comparisons if ratio is not None)
            spread = f", {ratios[0]:.2g} to {ratios[-1]:.2g} times" if ratios else ""
            texts.append(f"{rival} at {won} of {len(points)} points{spread}")
        margin = f" by {self.factor:.3g}x" if self.factor != 1 else ""
        return Finding(verdict, f"{self.engine} leads{margin} " + ", ".join(texts))

    def _compare(self, own_row: Row, rival_row: Row, metric: str) -> tuple[bool, float | None]:
        """Return whether the engine wins a point, and the ratio of the values if both were measured."""
        own, other = get_value(own_row, metric), get_value(rival_row, metric)
        if own is None:
            return False, None
        if other is None:
            return rival_row["status"] in LIMIT_STATUSES, None
        ratio = other / max(own, 1e-12)
        noise = min(DRAW_DIFFERENCE_MAX, max(row.get(f"{metric}_noise") or 0 for row in (own_row, rival_row)))
        return ratio >= self.factor * (1 - noise if self.factor == 1 else 1), ratio


@dataclass(frozen=True)
class Grows(Claim):
    """From the first to the last point of the axis, the value of an engine changes by a factor within the bounds."""

    engine: str
    at_least: float = 0.0
    at_most: float = float("inf")

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        own_rows = find_rows_by_point(rows, self.engine)
        parts, is_within = [], True
        for variant in dict.fromkeys(variant for variant, _ in own_rows):
            points = [row for (name, _), row in own_rows.items() if name == variant]
            first, last = get_value(points[0], metric), get_value(points[-1], metric)
            if len(points) < 2 or first is None:
                continue
            if last is None:
                # A normal form may outgrow its budget along the axis.
                if points[-1]["status"] not in (*LIMIT_STATUSES, "over budget"):
                    continue
                is_within &= self.at_most == float("inf")
                parts.append(f"more than was allowed in {variant}")
                continue
            factor = last / max(first, 1e-12)
            is_within &= self.at_least <= factor <= self.at_most
            parts.append(f"{factor:.2g}x in {variant}" if variant else f"{factor:.2g}x")
        if not parts:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        return Finding("holds" if is_within else "does not hold", f"{self.engine} changes by {', '.join(parts)}")


@dataclass(frozen=True)
class GrowsLinearly(Claim):
    """From the first to the last point of the axis, the value of an engine changes by the same factor as x.

    The factor may be up to `within` times larger or smaller.
    """

    engine: str
    within: float = 2.0

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        known = [row for row in find_rows_by_point(rows, self.engine).values() if get_value(row, metric) is not None]
        if len(known) < 2:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        first, last = known[0], known[-1]
        factor, growth = last[metric] / max(first[metric], 1e-12), last["x"] / first["x"]
        is_linear = growth / self.within <= factor <= growth * self.within
        return Finding(
            "holds" if is_linear else "does not hold", f"{self.engine} changes by {factor:.2g}x of {growth:g}x"
        )


@dataclass(frozen=True)
class IncludesShare(Claim):
    """The metric `part` is at least a share `at_least` of the engine's value in the same row."""

    engine: str
    part: str
    at_least: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        own_rows = find_rows_by_point(rows, self.engine).values()
        pairs = [(get_value(row, self.part), get_value(row, metric)) for row in own_rows]
        shares = [part / max(whole, 1e-12) for part, whole in pairs if part is not None and whole is not None]
        if not shares:
            return Finding("not comparable", f"{self.engine} was not measured")
        text = f"{self.part} is {min(shares):.0%} of the {metric} of {self.engine}, in the paper {self.at_least:.0%}"
        return Finding("holds" if min(shares) >= self.at_least else "does not hold", text)


@dataclass(frozen=True)
class StaysBelow(Claim):
    """The value of an engine is at most `bound` at every point. With scaled sizes this is a hint, not a proof."""

    engine: str
    bound: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        values = [get_value(row, metric) for row in find_rows_by_point(rows, self.engine).values()]
        known = [value for value in values if value is not None]
        if not known:
            return Finding("not comparable", f"{self.engine} was not measured")
        text = f"{self.engine} is at most {max(known):.4g}, in the paper {self.bound:g}"
        return Finding("holds" if len(known) == len(values) and max(known) <= self.bound else "does not hold", text)


@dataclass(frozen=True)
class GrowsLess(Claim):
    """From the first to the last point of the axis, the value of an engine changes by less than that of another.

    `variant` and `rival_variant` are parts of the names of the variants that are compared.
    """

    engine: str
    variant: str
    rival: str
    rival_variant: str

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, self.rival

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        own = _compute_change(rows, self.engine, self.variant, metric)
        other = _compute_change(rows, self.rival, self.rival_variant, metric)
        if own is None or other is None:
            return Finding("not comparable", f"{self.engine} and {self.rival} were not measured along the axis")
        text = f"{self.engine} changes by {own:.2g}x, {self.rival} by {other:.2g}x"
        return Finding("holds" if own < other else "does not hold", text)


def _compute_change(rows: Sequence[Row], engine: str, variant: str, metric: str) -> float | None:
    """Return the factor from the first to the last point of the axis, if both were measured."""
    values = [get_value(row, metric) for (name, _), row in find_rows_by_point(rows, engine).items() if variant in name]
    if len(values) < 2 or values[0] is None or values[-1] is None:
        return None
    return values[-1] / max(values[0], 1e-12)


def claim_ranking(*engines: str, **options: Any) -> tuple[Claim, ...]:
    """Claim that each of the engines beats the next one."""
    return tuple(Leads(first, (second,), **options) for first, second in pairwise(engines))


def claim_similar(engine: str, other: str, within: float = 1.5, **options: Any) -> tuple[Claim, ...]:
    """Claim that neither of two engines beats the other by more than a factor of `within`."""
    return Leads(engine, (other,), 1 / within, **options), Leads(other, (engine,), 1 / within, **options)


def compute_lead(percent: float) -> float:
    """Return the factor by which an engine leads that needs `percent` percent less than its rival."""
    return 1 / (1 - percent / 100)
