"""Claims of the papers, each a check on the rows of an experiment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

Row = dict[str, Any]
Verdict = Literal["holds", "draw", "fails", "not comparable"]
VERDICTS: tuple[Verdict, ...] = ("holds", "draw", "fails", "not comparable")
LIMIT_STATUSES = ("over time", "over memory")
"""Statuses of an engine that exceeded its time or memory. It has lost the point to its rivals."""

ABSENT_STATUSES = ("unsteady", "excluded")
"""Statuses of an engine that did not take part in a point, or whose times were discarded."""


class Finding(NamedTuple):
    """A verdict, what it is about (an engine, or `engine > rival`), and the measured facts in a sentence."""

    verdict: Verdict
    text: str
    subject: str = ""


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

    def judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        """Check the claim on the rows of an experiment; return a finding for each pair of engines that it compares.

        Points at which scaling changed what the paper holds fixed are left out, and so are unsteady times and engines
        that the paper excludes.
        """
        rows = [row for row in rows if self.where in row["variant"] and self._covers(row["x"])]
        rows = [row for row in rows if row.get("comparable", True) and row["status"] not in ABSENT_STATUSES]
        if self.at_end:
            last = {row["variant"]: row["x"] for row in sorted(rows, key=lambda row: row["x"])}
            rows = [row for row in rows if row["x"] == last[row["variant"]]]
        place = f" ({self.where.strip(': ')})" if self.where else ""
        return [finding._replace(text=f"{finding.text}{place}") for finding in self._judge(rows, self.metric or metric)]

    def _covers(self, x: Any) -> bool:
        return not isinstance(x, int | float) or self.x_from <= x < self.x_below

    @abstractmethod
    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]: ...


Key = tuple[str, Any]


def find_rows_by_point(rows: Sequence[Row], engine: str) -> dict[Key, Row]:
    """Return the rows of an engine by variant and x, in the order of the axis."""
    own_rows = [row for row in rows if row["engine"] == engine]
    is_numeric = all(isinstance(row["x"], int | float) for row in own_rows)
    return {(row["variant"], row["x"]): row for row in sorted(own_rows, key=lambda row: row["x"] if is_numeric else 0)}


def get_value(row: Row | None, metric: str) -> float | None:
    """Return the measured value; None if there is no row, or its status is not ok."""
    return None if row is None or row["status"] != "ok" else row.get(metric)


ONE_POINT_SHARE = 0.01
"""`share` of a lead "by up to" a factor: the engine must lead by this factor at one point at least."""

DRAW_DIFFERENCE_MAX = 0.3
"""A larger difference, as a share, is never a draw, however noisy the point is."""

DRAW_DIFFERENCE_MIN = 0.02
"""A smaller difference, as a share, is always a draw: code moves by as much when unrelated code changes."""


def compute_noise(rows: Sequence[Row], metric: str) -> float:
    """Return up to which difference, as a share, values of these rows count as equal: the sum of their noises."""
    noise = sum(row.get(f"{metric}_noise") or 0 for row in rows)
    return min(DRAW_DIFFERENCE_MAX, max(DRAW_DIFFERENCE_MIN, noise))


@dataclass(frozen=True)
class Leads(Claim):
    """An engine beats each of its rivals by `factor`, at a `share` of the points where both were run.

    The engine wins a point if its rival exceeded its time or memory there, and loses the point if it has no value
    itself. If the factor is 1, a difference within the noise, but at most 30 %, is a draw. The claim is a draw if the
    engine does not win enough points, but loses few enough.
    """

    engine: str
    rivals: tuple[str, ...]
    factor: float = 1.0
    share: float = 0.9

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, *self.rivals

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        own_rows = find_rows_by_point(rows, self.engine)
        return [self._judge_rival(own_rows, rival, find_rows_by_point(rows, rival), metric) for rival in self.rivals]

    def _judge_rival(self, own_rows: dict[Key, Row], rival: str, rival_rows: dict[Key, Row], metric: str) -> Finding:
        subject = f"{self.engine} > {rival}"
        points = [key for key in own_rows if key in rival_rows]
        if not points:
            return Finding("not comparable", f"{self.engine} and {rival} were not measured together", subject)
        comparisons = [self._compare(own_rows[key], rival_rows[key], metric) for key in points]
        won, drawn = (sum(result == wanted for result, _ in comparisons) for wanted in ("won", "drawn"))
        verdict: Verdict = "fails"
        if won >= self.share * len(points):
            verdict = "holds"
        elif won + drawn >= self.share * len(points):
            verdict = "draw"
        ratios = sorted(ratio for _, ratio in comparisons if ratio is not None)
        spread = f": {ratios[0]:.3g} to {ratios[-1]:.3g} times" if len(ratios) > 1 else ""
        spread = f": {ratios[0]:.3g} times" if len(ratios) == 1 else spread
        margin = f" by {self.factor:.3g}x" if self.factor != 1 else ""
        text = f"{self.engine} leads {rival}{margin} at {won} of {len(points)} points{spread}"
        if verdict == "fails" and metric == "match":
            text += _compare_candidates(own_rows[points[-1]], rival_rows[points[-1]])
        return Finding(verdict, text, subject)

    def _compare(self, own_row: Row, rival_row: Row, metric: str) -> tuple[str, float | None]:
        """Return whether the engine has won, drawn or lost a point, and the ratio of the values if there are both."""
        own, other = get_value(own_row, metric), get_value(rival_row, metric)
        if own is None:
            return "lost", None
        if other is None:
            return "won" if rival_row["status"] in LIMIT_STATUSES else "lost", None
        ratio = other / max(own, 1e-12)
        if self.factor != 1:
            return "won" if ratio >= self.factor else "lost", ratio
        noise = compute_noise((own_row, rival_row), metric)
        if abs(ratio - 1) <= noise:
            return "drawn", ratio
        return "won" if ratio > 1 else "lost", ratio


def _compare_candidates(own_row: Row, rival_row: Row) -> str:
    """Return as text how many candidates both engines find, and the time for each candidate.

    A slow engine either has many candidates, because its index excludes few subscriptions, or spends long on each.
    """
    facts = []
    for row in (own_row, rival_row):
        time, candidates = get_value(row, "match"), get_value(row, "candidates")
        if not time or not candidates:
            return ""
        facts.append((f"{candidates:,.0f}", f"{time * 1000 / candidates:,.0f}"))
    (own, own_time), (other, other_time) = facts
    return f"; at the last point {own} against {other} candidates, {own_time} against {other_time} ns each"


@dataclass(frozen=True)
class Grows(Claim):
    """From the first to the last point of the axis, the value of an engine changes by a factor within the bounds.

    A factor beyond a bound by no more than the noise is a draw.
    """

    engine: str
    at_least: float = 0.0
    at_most: float = float("inf")

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        own_rows = find_rows_by_point(rows, self.engine)
        parts: list[str] = []
        verdicts: set[Verdict] = set()
        for variant in dict.fromkeys(variant for variant, _ in own_rows):
            points = [row for (name, _), row in own_rows.items() if name == variant]
            first, last = get_value(points[0], metric), get_value(points[-1], metric)
            if len(points) < 2 or first is None:
                continue
            if last is None:
                # A normal form may outgrow its budget along the axis.
                if points[-1]["status"] not in (*LIMIT_STATUSES, "over budget"):
                    continue
                verdicts.add("holds" if self.at_most == float("inf") else "fails")
                parts.append(f"more than was allowed in {variant}")
                continue
            factor = last / max(first, 1e-12)
            verdicts.add(self._judge_factor(factor, compute_noise((points[0], points[-1]), metric)))
            parts.append(f"{factor:.3g}x in {variant}" if variant else f"{factor:.3g}x")
        if not parts:
            return [Finding("not comparable", f"{self.engine} was not measured along the axis", self.engine)]
        verdict = next(verdict for verdict in ("fails", "draw", "holds") if verdict in verdicts)
        return [Finding(verdict, f"{self.engine} changes by {', '.join(parts)}{self._describe_bounds()}", self.engine)]

    def _judge_factor(self, factor: float, noise: float) -> Verdict:
        if self.at_least <= factor <= self.at_most:
            return "holds"
        return "draw" if self.at_least * (1 - noise) <= factor <= self.at_most * (1 + noise) else "fails"

    def _describe_bounds(self) -> str:
        bounds = [f"at least {self.at_least:.3g}x"] if self.at_least else []
        bounds += [f"at most {self.at_most:.3g}x"] if self.at_most != float("inf") else []
        return f", claimed {' and '.join(bounds)}" if bounds else ""


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

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        known = [row for row in find_rows_by_point(rows, self.engine).values() if get_value(row, metric) is not None]
        if len(known) < 2:
            return [Finding("not comparable", f"{self.engine} was not measured along the axis", self.engine)]
        first, last = known[0], known[-1]
        factor, growth = last[metric] / max(first[metric], 1e-12), last["x"] / first["x"]
        is_linear = growth / self.within <= factor <= growth * self.within
        text = f"{self.engine} changes by {factor:.3g}x while x changes by {growth:g}x"
        return [Finding("holds" if is_linear else "fails", text, self.engine)]


@dataclass(frozen=True)
class IncludesShare(Claim):
    """The metric `part` is at least a share `at_least` of the engine's value in the same row."""

    engine: str
    part: str
    at_least: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        own_rows = find_rows_by_point(rows, self.engine).values()
        pairs = [(get_value(row, self.part), get_value(row, metric)) for row in own_rows]
        shares = [part / max(whole, 1e-12) for part, whole in pairs if part is not None and whole is not None]
        if not shares:
            return [Finding("not comparable", f"{self.engine} was not measured", self.engine)]
        text = f"{self.part} is {min(shares):.0%} of the {metric} of {self.engine}, in the paper {self.at_least:.0%}"
        return [Finding("holds" if min(shares) >= self.at_least else "fails", text, self.engine)]


@dataclass(frozen=True)
class StaysBelow(Claim):
    """The value of an engine is at most `bound` at every point. Only points of full size are checked."""

    engine: str
    bound: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        own_rows = [row for row in find_rows_by_point(rows, self.engine).values() if row.get("scale", 1) >= 1]
        values = [get_value(row, metric) for row in own_rows]
        known = [value for value in values if value is not None]
        if not known:
            return [Finding("not comparable", f"{self.engine} was not measured at full size", self.engine)]
        text = f"{self.engine} is at most {max(known):.4g}, in the paper {self.bound:g}"
        is_below = len(known) == len(values) and max(known) <= self.bound
        return [Finding("holds" if is_below else "fails", text, self.engine)]


@dataclass(frozen=True)
class GrowsLess(Claim):
    """From the first to the last point of the axis, the value of an engine changes by less than that of another.

    `variant` and `rival_variant` are parts of the names of the variants that are compared. A difference within the
    noise is a draw.
    """

    engine: str
    variant: str
    rival: str
    rival_variant: str

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, self.rival

    def _judge(self, rows: Sequence[Row], metric: str) -> list[Finding]:
        own = _compute_change(rows, self.engine, self.variant, metric)
        other = _compute_change(rows, self.rival, self.rival_variant, metric)
        subject = f"{self.engine} > {self.rival}"
        if own is None or other is None:
            text = f"{self.engine} and {self.rival} were not measured along the axis"
            return [Finding("not comparable", text, subject)]
        text = f"{self.engine} changes by {own[0]:.3g}x, {self.rival} by {other[0]:.3g}x"
        if abs(own[0] / other[0] - 1) <= min(DRAW_DIFFERENCE_MAX, own[1] + other[1]):
            return [Finding("draw", text, subject)]
        return [Finding("holds" if own[0] < other[0] else "fails", text, subject)]


def _compute_change(rows: Sequence[Row], engine: str, variant: str, metric: str) -> tuple[float, float] | None:
    """Return the factor from the first to the last point of the axis with its noise, if both were measured."""
    points = [row for (name, _), row in find_rows_by_point(rows, engine).items() if variant in name]
    values = [get_value(row, metric) for row in points]
    if len(values) < 2 or values[0] is None or values[-1] is None:
        return None
    return values[-1] / max(values[0], 1e-12), compute_noise((points[0], points[-1]), metric)


def claim_ranking(*engines: str, **options: Any) -> tuple[Claim, ...]:
    """Claim that each of the engines beats the next one."""
    return tuple(Leads(first, (second,), **options) for first, second in pairwise(engines))


def claim_similar(engine: str, other: str, within: float = 1.5, **options: Any) -> tuple[Claim, ...]:
    """Claim that neither of two engines beats the other by more than a factor of `within`."""
    return Leads(engine, (other,), 1 / within, **options), Leads(other, (engine,), 1 / within, **options)


def compute_lead(percent: float) -> float:
    """Convert "needs `percent` % less than its rival" to a factor: the rival needs this many times as much."""
    return 1 / (1 - percent / 100)
