"""How are the numbers, or the times, of an attribute distributed?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.language.schema import value_from_text
from tellwhen.language.values import Family
from tellwhen.profile.values import FAMILIES, number_of, text_of

ORDERED: tuple[Family, ...] = ("number", "time")


class HistogramBucket(NamedTuple):
    """The number of values from `low` to `high`, both included. Times are microseconds since 1970 in UTC."""

    low: float
    high: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name


def histogram(weights: dict[str, float], buckets: int) -> list[HistogramBucket]:
    """Buckets of about equal counts, of the numbers among weighted texts or of the times, whichever weigh more."""
    points = max((_points(weights, family) for family in ORDERED), key=lambda found: sum(found.values()))
    if not points and all([FAMILIES[text[0]] == "string" for text in weights]):
        points = next(filter(None, (_read(weights, family) for family in ORDERED)), {})
    if not points:
        return []
    values = sorted(points)
    sums = np.cumsum([points[value] for value in values])
    ends = np.searchsorted(sums, sums[-1] * np.arange(1, buckets + 1) / buckets - 1e-6)
    found, begin, before = [], 0, 0
    for end in np.unique(np.minimum(ends, len(values) - 1)).tolist():
        upto = round(float(sums[end]))
        found.append(HistogramBucket(values[begin], values[end], upto - before))
        begin, before = end + 1, upto
    return found


def _points(weights: dict[str, float], family: Family) -> dict[float, float]:
    return {number_of(text): weight for text, weight in weights.items() if FAMILIES[text[0]] == family}


def _read(weights: dict[str, float], family: Family) -> dict[float, float]:
    """Strings read as numbers or times; empty unless all of them are."""
    points: dict[float, float] = {}
    for text, weight in weights.items():
        read = text_of(value_from_text(text[1:], family))
        if read is None:
            return {}
        number = number_of(read)
        points[number] = points.get(number, 0) + weight
    return points
