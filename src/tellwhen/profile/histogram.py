"""Histograms of the numbers, or of the times, of an attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.language.schema import parse_value
from tellwhen.language.values import Family
from tellwhen.profile.values import FAMILIES, encode_value, parse_number

ORDERED: tuple[Family, ...] = ("number", "time")


class HistogramBucket(NamedTuple):
    """The number of values from `low` to `high`, both included. Times are microseconds since 1970 in UTC."""

    low: float
    high: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name


def build_histogram(weights: dict[str, float], buckets: int) -> list[HistogramBucket]:
    """Build buckets of about equal counts of the numbers among weighted texts, or of the times if they weigh more."""
    points = max((_select_points(weights, family) for family in ORDERED), key=lambda points: sum(points.values()))
    if not points and all([FAMILIES[text[0]] == "string" for text in weights]):
        points = next(filter(None, (_parse_strings(weights, family) for family in ORDERED)), {})
    if not points:
        return []
    values = sorted(points)
    sums = np.cumsum([points[value] for value in values])
    ends = np.searchsorted(sums, sums[-1] * np.arange(1, buckets + 1) / buckets - 1e-6)
    histogram, begin, before = [], 0, 0
    for end in np.unique(np.minimum(ends, len(values) - 1)).tolist():
        upto = round(float(sums[end]))
        histogram.append(HistogramBucket(values[begin], values[end], upto - before))
        begin, before = end + 1, upto
    return histogram


def _select_points(weights: dict[str, float], family: Family) -> dict[float, float]:
    return {parse_number(text): weight for text, weight in weights.items() if FAMILIES[text[0]] == family}


def _parse_strings(weights: dict[str, float], family: Family) -> dict[float, float]:
    """Parse strings as numbers or times; return nothing unless all can be parsed."""
    points: dict[float, float] = {}
    for text, weight in weights.items():
        parsed = encode_value(parse_value(text[1:], family))
        if parsed is None:
            return {}
        number = parse_number(parsed)
        points[number] = points.get(number, 0) + weight
    return points
