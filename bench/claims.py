"""What a paper claims of a figure, as checks on measured rows: holds, does not hold, or not comparable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Row = dict[str, Any]
Verdict = Literal["holds", "does not hold", "not comparable"]


class Finding(NamedTuple):
    """What came out, in a sentence."""

    verdict: Verdict
    text: str


class Claim(ABC):
    """One sentence of a paper, about one engine."""

    engine: str

    @abstractmethod
    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        """What the rows of an experiment say of it."""


def judged(claims: Sequence[Claim], rows: Sequence[Row], metric: str) -> Finding:
    """All claims together: one that does not hold decides."""
    if not claims:
        return Finding("not comparable", "the paper claims nothing of it that could be checked")
    found = [claim.judge(rows, metric) for claim in claims]
    for verdict in ("does not hold", "not comparable"):
        if any(finding.verdict == verdict for finding in found):
            return Finding(verdict, "; ".join(finding.text for finding in found))
    return Finding("holds", "; ".join(finding.text for finding in found))


def series(rows: Sequence[Row], engine: str, metric: str) -> dict[tuple[str, Any], float]:
    """By variant and place on the axis, what an engine has measured; failures left out."""
    return {
        (row["variant"], row["x"]): row[metric]
        for row in rows
        if row["engine"] == engine and row["status"] == "ok" and row.get(metric) is not None
    }


@dataclass(frozen=True)
class Leads(Claim):
    """An engine is at least `factor` times as good as each of the others, at a share of the points.

    A rival that could not be measured for its time or memory has lost that point.
    """

    engine: str
    over: tuple[str, ...]
    factor: float = 1.0
    share: float = 0.9
    where: str = ""  # only variants that contain this

    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        rows = [row for row in rows if self.where in row["variant"]]
        mine = series(rows, self.engine, metric)
        won, ratios, met = 0, [], 0
        for rival in self.over:
            theirs = series(rows, rival, metric)
            gave_up = {(row["variant"], row["x"]) for row in rows if row["engine"] == rival and is_over(row)}
            for key, value in mine.items():
                if key in theirs:
                    ratios.append(theirs[key] / max(value, 1e-12))
                    won += ratios[-1] >= self.factor
                    met += 1
                elif key in gave_up:
                    won += 1
                    met += 1
        if not met:
            return Finding("not comparable", f"{self.engine} and {', '.join(self.over)} were not measured together")
        place = f" ({self.where})" if self.where else ""
        ratios.sort()
        spread = f", {ratios[0]:.2g} to {ratios[-1]:.2g} times as good" if ratios else ""
        asked = f" by {self.factor:g}x" if self.factor != 1 else ""
        text = f"{self.engine} leads {', '.join(self.over)}{asked} at {won} of {met} points{place}{spread}"
        return Finding("holds" if won >= self.share * met else "does not hold", text)


@dataclass(frozen=True)
class Grows(Claim):
    """Along the axis, from its first to its last point, an engine's figure changes by a factor in these bounds."""

    engine: str
    at_least: float = 0.0
    at_most: float = float("inf")
    where: str = ""

    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        mine = series([row for row in rows if self.where in row["variant"]], self.engine, metric)
        parts, good = [], True
        for variant in dict.fromkeys(variant for variant, _ in mine):
            values = [value for (of, _), value in mine.items() if of == variant]
            if len(values) > 1:
                factor = values[-1] / max(values[0], 1e-12)
                good &= self.at_least <= factor <= self.at_most
                parts.append(f"{factor:.2g}x in {variant}" if variant else f"{factor:.2g}x")
        if not parts:
            return Finding("not comparable", f"{self.engine} was not measured along the axis")
        text = f"{self.engine} changes by {', '.join(parts)}"
        return Finding("holds" if good else "does not hold", text)


@dataclass(frozen=True)
class Near(Claim):
    """At one place of the axis an engine's figure is, within a share, what the paper says."""

    engine: str
    x: Any
    value: float
    within: float = 0.3

    def judge(self, rows: Sequence[Row], metric: str) -> Finding:
        found = [value for (_, x), value in series(rows, self.engine, metric).items() if x == self.x]
        if not found:
            return Finding("not comparable", f"{self.engine} was not measured at {self.x}")
        text = f"at {self.x} {self.engine}: {found[0]:.4g}, in the paper {self.value:g}"
        return Finding("holds" if abs(found[0] / self.value - 1) <= self.within else "does not hold", text)


def is_over(row: Row) -> bool:
    """Did it exceed a cap?"""
    return str(row["status"]).startswith("over")
