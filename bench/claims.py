"""Does what a paper claims hold here? A claim is a check on the rows of an experiment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

Row = dict[str, Any]
Verdict = Literal["holds", "does not hold", "not comparable"]
OVER = ("over time", "over memory")
"""The status of an engine that exceeded its time or memory: it has lost the point."""


class Finding(NamedTuple):
    """A verdict, and the measured facts in a sentence."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """One statement of a paper.

    It may be about another metric than the figure's, about variants whose name contains `where`, or about part of the
    axis; with `at_end` only about the last point of each variant that was measured.
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
        mine = [row for row in rows if self.where in row["variant"] and self._reaches(row["x"])]
        if self.at_end:
            last = {row["variant"]: row["x"] for row in sorted(mine, key=lambda row: row["x"])}
            mine = [row for row in mine if row["x"] == last[row["variant"]]]
        found = self._judge(mine, self.metric or metric)
        return found._replace(text=f"{found.text} ({self.where.strip(': ')})" if self.where else found.text)

    def _reaches(self, x: Any) -> bool:
        return not isinstance(x, int | float) or self.x_from <= x < self.x_below

    @abstractmethod
    def _judge(self, rows: Sequence[Row], metric: str) -> Finding: ...


def judged(claims: Sequence[Claim], rows: Sequence[Row], metric: str) -> Finding:
    """All claims together: if one does not hold, the figure does not; else if one is not comparable, it is not."""
    if not claims:
        return Finding("not comparable", "there is no claim to check")
    found = [claim.judge(rows, metric) for claim in claims]
    text = "; ".join(one.text if one.verdict == "holds" else f"{one.text}: {one.verdict}" for one in found)
    verdicts = {finding.verdict for finding in found}
    order: tuple[Verdict, ...] = ("does not hold", "not comparable", "holds")
    return Finding(next(verdict for verdict in order if verdict in verdicts), text)


Key = tuple[str, Any]


def by_engine(rows: Sequence[Row], engine: str) -> dict[Key, Row]:
    """The rows of an engine by variant and x, in the order of the axis."""
    mine = [row for row in rows if row["engine"] == engine]
    numeric = all(isinstance(row["x"], int | float) for row in mine)
    return {(row["variant"], row["x"]): row for row in sorted(mine, key=lambda row: row["x"] if numeric else 0)}


def value(row: Row | None, metric: str) -> float | None:
    """The measured value, if there is one."""
    return None if row is None or row["status"] != "ok" else row.get(metric)


DRAW_MAX = 0.3
"""However noisy a point is, a larger difference is no draw."""


@dataclass(frozen=True)
class Leads(Claim):
    """An engine beats each of its rivals by `factor`, at a `share` of the points where both were run.

    A rival that exceeded its time or memory has lost the point. The engine has lost it if it has no value there. A
    difference within the noise, but at most 30 %, is a draw, which counts as won only if the factor is 1.
    """

    engine: str
    over: tuple[str, ...]
    factor: float = 1.0
    share: float = 0.9

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, *self.over

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        mine = by_engine(rows, self.engine)
        texts: list[str] = []
        verdict: Verdict = "holds"
        for rival in self.over:
            theirs = by_engine(rows, rival)
            points = [key for key in mine if key in theirs]
            if not points:
                return Finding("not comparable", f"{self.engine} and {rival} were not measured together")
            compared = [self._compare(mine[key], theirs[key], metric) for key in points]
            won = sum(is_won for is_won, _ in compared)
            if won < self.share * len(points):
                verdict = "does not hold"
            ratios = sorted(ratio for _, ratio in compared if ratio is not None)
            spread = f", {ratios[0]:.2g} to {ratios[-1]:.2g} times" if ratios else ""
            texts.append(f"{rival} at {won} of {len(points)} points{spread}")
        asked = f" by {self.factor:.3g}x" if self.factor != 1 else ""
        return Finding(verdict, f"{self.engine} leads{asked} " + ", ".join(texts))

    def _compare(self, mine: Row, theirs: Row, metric: str) -> tuple[bool, float | None]:
        """Is the point won, and what is the ratio, if both were measured?"""
        own, other = value(mine, metric), value(theirs, metric)
        if own is None:
            return False, None
        if other is None:
            return theirs["status"] in OVER, None
        ratio = other / max(own, 1e-12)
        noise = min(DRAW_MAX, max(row.get(f"{metric}_noise") or 0 for row in (mine, theirs)))
        return ratio >= self.factor * (1 - noise if self.factor == 1 else 1), ratio


@dataclass(frozen=True)
class Grows(Claim):
    """From the first to the last point of the axis, the value of an engine changes by a factor within these bounds."""

    engine: str
    at_least: float = 0.0
    at_most: float = float("inf")

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        mine = by_engine(rows, self.engine)
        parts, good = [], True
        for variant in dict.fromkeys(variant for variant, _ in mine):
            points = [row for (of, _), row in mine.items() if of == variant]
            first, last = value(points[0], metric), value(points[-1], metric)
            if len(points) < 2 or first is None:
                continue
            if last is None:
                if points[-1]["status"] not in (*OVER, "over budget"):  # a normal form may have grown beyond it
                    continue
                good &= self.at_most == float("inf")
                parts.append(f"more than was allowed in {variant}")
                continue
            factor = last / max(first, 1e-12)
            good &= self.at_least <= factor <= self.at_most
            parts.append(f"{factor:.2g}x in {variant}" if variant else f"{factor:.2g}x")
        if not parts:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        return Finding("holds" if good else "does not hold", f"{self.engine} changes by {', '.join(parts)}")


@dataclass(frozen=True)
class Linear(Claim):
    """From the first to the last point of the axis, the value of an engine changes by as much as x, or by up to
    `within` times more or less."""

    engine: str
    within: float = 2.0

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        known = [row for row in by_engine(rows, self.engine).values() if value(row, metric) is not None]
        if len(known) < 2:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        first, last = known[0], known[-1]
        factor, asked = last[metric] / max(first[metric], 1e-12), last["x"] / first["x"]
        is_linear = asked / self.within <= factor <= asked * self.within
        return Finding(
            "holds" if is_linear else "does not hold", f"{self.engine} changes by {factor:.2g}x of {asked:g}x"
        )


@dataclass(frozen=True)
class Part(Claim):
    """Of an engine's value, `part` is at least a share: another metric of the same rows."""

    engine: str
    part: str
    at_least: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        mine = by_engine(rows, self.engine).values()
        pairs = [(value(row, self.part), value(row, metric)) for row in mine]
        shares = [part / max(whole, 1e-12) for part, whole in pairs if part is not None and whole is not None]
        if not shares:
            return Finding("not comparable", f"{self.engine} was not measured")
        text = f"{self.part} is {min(shares):.0%} of the {metric} of {self.engine}, in the paper {self.at_least:.0%}"
        return Finding("holds" if min(shares) >= self.at_least else "does not hold", text)


@dataclass(frozen=True)
class Below(Claim):
    """The value of an engine is at most `bound` at every point. With scaled sizes this is a hint, not a proof."""

    engine: str
    bound: float

    @property
    def engines(self) -> tuple[str, ...]:
        return (self.engine,)

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        found = [value(row, metric) for row in by_engine(rows, self.engine).values()]
        known = [one for one in found if one is not None]
        if not known:
            return Finding("not comparable", f"{self.engine} was not measured")
        text = f"{self.engine} is at most {max(known):.4g}, in the paper {self.bound:g}"
        return Finding("holds" if len(known) == len(found) and max(known) <= self.bound else "does not hold", text)


@dataclass(frozen=True)
class Scales(Claim):
    """From the first to the last point of the axis, the value of an engine changes by less than that of another.

    `within` and `over_within` select the variants of each, by a part of their names.
    """

    engine: str
    within: str
    over: str
    over_within: str

    @property
    def engines(self) -> tuple[str, ...]:
        return self.engine, self.over

    def _judge(self, rows: Sequence[Row], metric: str) -> Finding:
        own, other = _change(rows, self.engine, self.within, metric), _change(rows, self.over, self.over_within, metric)
        if own is None or other is None:
            return Finding("not comparable", f"{self.engine} and {self.over} were not measured along the axis")
        text = f"{self.engine} changes by {own:.2g}x, {self.over} by {other:.2g}x"
        return Finding("holds" if own < other else "does not hold", text)


def _change(rows: Sequence[Row], engine: str, variant: str, metric: str) -> float | None:
    """The factor from the first to the last point of the axis, if both were measured."""
    found = [value(row, metric) for (name, _), row in by_engine(rows, engine).items() if variant in name]
    if len(found) < 2 or found[0] is None or found[-1] is None:
        return None
    return found[-1] / max(found[0], 1e-12)


def ranking(*engines: str, **given: Any) -> tuple[Claim, ...]:
    """Each of the engines beats the next one."""
    return tuple(Leads(first, (second,), **given) for first, second in pairwise(engines))


def similar(engine: str, other: str, within: float = 1.5, **given: Any) -> tuple[Claim, ...]:
    """Neither of two engines beats the other by more than this factor."""
    return Leads(engine, (other,), 1 / within, **given), Leads(other, (engine,), 1 / within, **given)


def cut(percent: float) -> float:
    """The factor by which an engine leads that needs so many percent less."""
    return 1 / (1 - percent / 100)
