"""Formatting of predicates as text: the way back from points to values.

The text is equivalent to what the user wrote, but not always the same: `x BETWEEN 1 AND 5` and `x >= 1 AND x <= 5` are
the same interval.
"""

from __future__ import annotations

import datetime as dt
import struct
from itertools import pairwise
from typing import NamedTuple

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes
from tellwhen.compile.domains import complement
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.language.literals import format_constant, format_name
from tellwhen.language.terms import is_condition, is_lacks_call
from tellwhen.language.values import find_successor

Intervals = list[tuple[int, int]]

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


class IntervalEnd(NamedTuple):
    """An end of an interval as users write it: a constant, and whether the constant itself is inside."""

    constant: str
    is_inside: bool


class PredicateFormatter:
    """Formatter of predicates and points, with the attributes of a store."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._keys = attributes.list_domain_keys()

    def format_predicate(self, predicates: Predicates, number: int) -> str:
        """Return predicate `number` as text."""
        domain, intervals = int(predicates.domain[number]), get_intervals(predicates, number)
        if predicates.every[number]:  # all values must be inside: the negation of the rest of the domain
            return f"NOT {self.format_intervals(domain, complement(intervals))}"
        return self.format_intervals(domain, intervals)

    def format_value(self, domain: int, point: int) -> str:
        """Return the value at a point as text. The point must be that of a constant or of a single number."""
        end = self._format_end(domain, point, -1)
        assert end.is_inside, f"the point {point} of {self._format_name(domain)} is between two values"
        return end.constant

    def format_intervals(self, domain: int, intervals: Intervals) -> str:
        """Return intervals on a domain as text."""
        name, kind = self._format_name(domain), self._keys[domain].kind
        if kind in ("bool", "presence", "pattern"):
            return self._format_flag(domain, intervals)
        if len(intervals) == 1:
            return self._format_interval(domain, *intervals[0])
        if all(low == high for low, high in intervals):
            return f"{name} IN ({', '.join(self.format_value(domain, low) for low, _ in intervals)})"
        gaps = [(before[1] + 1, after[0] - 1) for before, after in pairwise(intervals)]
        is_complement = bool(intervals) and intervals[0][0] == LOWEST and intervals[-1][1] == HIGHEST
        if is_complement and all(low == high for low, high in gaps):
            values = [self.format_value(domain, low) for low, _ in gaps]
            return f"{name} <> {values[0]}" if len(values) == 1 else f"{name} NOT IN ({', '.join(values)})"
        return " OR ".join(self._format_interval(domain, *interval) for interval in intervals)

    def _format_name(self, domain: int) -> str:
        return format_name(self._keys[domain].attribute)

    def _format_flag(self, domain: int, intervals: Intervals) -> str:
        """Return intervals on a domain of two points, 0 and 1, as text."""
        name, key = self._format_name(domain), self._keys[domain]
        points = {point for point in (0, 1) if any(low <= point <= high for low, high in intervals)}
        if len(points) != 1:
            return f"{name}: anything" if points else f"{name}: nothing"
        (is_true,) = points
        if key.kind == "presence":
            return f"{name} IS {'NOT ' if is_true else ''}NULL"
        if key.kind == "pattern":
            return f"{'' if is_true else 'NOT '}{name} MATCHES {format_constant(key.pattern)}"
        if is_condition(key.attribute) or is_lacks_call(key.attribute):
            return name if is_true else f"NOT {name}"
        return f"{name} = {format_constant(bool(is_true))}"

    def _format_interval(self, domain: int, low: int, high: int) -> str:
        name = self._format_name(domain)
        if self._keys[domain].kind in LABELLED_KINDS and (affix := self._format_affix(domain, low, high)) is not None:
            return affix
        first = None if low == LOWEST else self._format_end(domain, low, -1)
        last = None if high == HIGHEST else self._format_end(domain, high, 1)
        if first is None and last is None:
            return f"any {name}"
        if first is None:
            assert last is not None
            return f"{name} {'<=' if last.is_inside else '<'} {last.constant}"
        if last is None:
            return f"{name} {'>=' if first.is_inside else '>'} {first.constant}"
        if first == last:
            return f"{name} = {first.constant}"
        return self.format_range(name, first, last)

    def format_range(self, name: str, first: IntervalEnd, last: IntervalEnd) -> str:
        """Return an interval with two different ends as text."""
        if first.is_inside and last.is_inside:
            return f"{name} BETWEEN {first.constant} AND {last.constant}"
        left, right = ">=" if first.is_inside else ">", "<=" if last.is_inside else "<"
        return f"{name} {left} {first.constant} AND {name} {right} {last.constant}"

    def _format_affix(self, domain: int, low: int, high: int) -> str | None:
        """Return an interval of all strings with a prefix as STARTS WITH, of reversed strings as ENDS WITH.

        Return None for any other interval.
        """
        dictionary = self._attributes.get_dictionary(domain)
        first = dictionary.find_text(low)
        if first is None or low == high or high == HIGHEST or find_successor(first) != dictionary.find_text(high + 1):
            return None
        if self._keys[domain].kind == "reversed":
            return f"{self._format_name(domain)} ENDS WITH {format_constant(first[::-1])}"
        return f"{self._format_name(domain)} STARTS WITH {format_constant(first)}"

    def _format_end(self, domain: int, point: int, outwards: int) -> IntervalEnd:
        """Return the end of an interval whose last point inside is `point`.

        The point is that of the constant, or next to it; `outwards` is -1 for a low and 1 for a high end.
        """
        kind = self._keys[domain].kind
        if kind == "float":  # a double next to 1.5 has many digits: then the constant was 1.5
            at_point, outside = _format_double(point), _format_double(point + outwards)
            return IntervalEnd(at_point, True) if len(at_point) <= len(outside) else IntervalEnd(outside, False)
        if kind in ("int", "time"):
            is_inside = point % 2 == 0
            whole = (point if is_inside else point + outwards) // 2
            return IntervalEnd(str(whole) if kind == "int" else _format_time(whole), is_inside)
        dictionary = self._attributes.get_dictionary(domain)
        text = dictionary.find_text(point)
        constant = dictionary.find_text(point + outwards) if text is None else text
        assert constant is not None, f"{point} is not the end of an interval on {self._format_name(domain)}"
        return IntervalEnd(format_constant(constant[::-1] if kind == "reversed" else constant), text is not None)


def get_intervals(predicates: Predicates, number: int) -> Intervals:
    """Return the intervals of predicate `number`."""
    run = slice(predicates.start[number], predicates.start[number + 1])
    return list(zip(predicates.low[run].tolist(), predicates.high[run].tolist(), strict=True))


def _format_double(point: int) -> str:
    """Return the double at a point of a float domain as text."""
    bits = point if point >= 0 else LOWEST - point
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return repr(value).removesuffix(".0")


def _format_time(microseconds: int) -> str:
    """Return a time as text, or as its number of microseconds if it is out of the range of datetime."""
    try:
        time = EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds} us"
    return format_constant(time.date() if (time - EPOCH) % DAY == dt.timedelta(0) else time)
