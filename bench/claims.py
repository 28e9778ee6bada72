"""What a paper claims of a figure, as checks on measured rows: holds, does not hold, or not comparable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Row = dict[str, Any]
Verdict = Literal["holds", "does not hold", "not comparable"]
OVER = ("over time", "over memory")
"""What an engine is recorded as that took too much: it has lost the point."""


class Finding(NamedTuple):
    """What came out, in a sentence."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """One sentence of a paper; it may be of another metric than the figure's, of some variants, of part of the axis."""

    metric: str | None = None
    where: str = ""
    x_from: float = float("-inf")
    x_below: float = float("inf")

    @property
    @abstractmethod
    def engines(self) -> tuple[str, ...]:
        """The engines that it is about."""

    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        """What the rows of an experiment say of it."""
        mine = [row for row in rows if self.where in row["variant"] and self._reaches(row["x"])]
        found = self._judge(mine, self.metric or metric)
        return found._replace(text=f"{found.text} ({self.where.strip(': ')})" if self.where else found.text)

    def _reaches(self, x: Any) -> bool:
        return not isinstance(x, int | float) or self.x_from <= x < self.x_below

    @abstractmethod
    def _judge(self, rows: Sequence[Row], metric: str) -> Finding: ...


def judged(claims: Sequence[Claim], rows: Sequence[Row], metric: str) -> Finding:
    """All claims together: one that does not hold decides, then one that cannot be told."""
    if not claims:
        return Finding("not comparable", "nothing is claimed of it that could be checked")
    found = [claim.judge(rows, metric) for claim in claims]
    text = "; ".join(finding.text for finding in found)
    verdicts = {finding.verdict for finding in found}
    order: tuple[Verdict, ...] = ("does not hold", "not comparable", "holds")
    return Finding(next(verdict for verdict in order if verdict in verdicts), text)


Key = tuple[str, Any]


def by_engine(rows: Sequence[Row], engine: str) -> dict[Key, Row]:
    """An engine's rows by variant and place, in the order of the axis."""
    mine = [row for row in rows if row["engine"] == engine]
    numeric = all(isinstance(row["x"], int | float) for row in mine)
    return {(row["variant"], row["x"]): row for row in sorted(mine, key=lambda row: row["x"] if numeric else 0)}


def value(row: Row | None, metric: str) -> float | None:
    """What was measured, if it was."""
    return None if row is None or row["status"] != "ok" else row.get(metric)


@dataclass(frozen=True)
class Leads(Claim):
    """An engine is at least `factor` times as good as each of the others, at a share of the points they were run at.

    Whoever took too much time or memory has lost a point; so has the engine itself if it has nothing to show. What
    lies within the noise is a draw, and counts for it only where it need not be better by a factor.
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
            ratios = []
            won = 0
            for key in points:
                own, other = value(mine[key], metric), value(theirs[key], metric)
                if own is not None and other is not None:
                    ratios.append(other / max(own, 1e-12))
                    noise = max(mine[key].get(f"{metric}_noise") or 0, theirs[key].get(f"{metric}_noise") or 0)
                    won += ratios[-1] >= self.factor * (1 - noise if self.factor == 1 else 1)
                elif own is not None:
                    won += theirs[key]["status"] in OVER
            if won < self.share * len(points):
                verdict = "does not hold"
            ratios.sort()
            spread = f", {ratios[0]:.2g} to {ratios[-1]:.2g} times" if ratios else ""
            texts.append(f"{rival} at {won} of {len(points)} points{spread}")
        asked = f" by {self.factor:g}x" if self.factor != 1 else ""
        return Finding(verdict, f"{self.engine} leads{asked} " + ", ".join(texts))


@dataclass(frozen=True)
class Grows(Claim):
    """Along the axis, from its first to its last point, an engine's figure changes by a factor in these bounds."""

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
                if points[-1]["status"] not in OVER:
                    continue
                good &= self.at_most == float("inf")
                parts.append(f"beyond the cap in {variant}")
                continue
            factor = last / max(first, 1e-12)
            good &= self.at_least <= factor <= self.at_most
            parts.append(f"{factor:.2g}x in {variant}" if variant else f"{factor:.2g}x")
        if not parts:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        return Finding("holds" if good else "does not hold", f"{self.engine} changes by {', '.join(parts)}")


@dataclass(frozen=True)
class Below(Claim):
    """An engine's figure stays below a bound everywhere. Sizes are scaled, so that this is a hint, not a proof."""

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
    """Along the axis, from its first to its last point, an engine's figure changes by less than another's.

    Each in the variants whose names have a part of its own.
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
    """From the first to the last point of the axis, by which factor?"""
    found = [value(row, metric) for (name, _), row in by_engine(rows, engine).items() if variant in name]
    if len(found) < 2 or found[0] is None or found[-1] is None:
        return None
    return found[-1] / max(found[0], 1e-12)
