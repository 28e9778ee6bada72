"""Here is a domain, and some points on it: how would a user write that? The way back from points to values.

A predicate is written as it may have been, not as it was: `x BETWEEN 1 AND 5` and `x >= 1 AND x <= 5` are the same
interval.
"""

from __future__ import annotations

import datetime as dt
import struct
from itertools import pairwise
from typing import NamedTuple

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes
from tellwhen.compile.dictionary import successor
from tellwhen.compile.domains import complement
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.language.literals import format_constant, format_name
from tellwhen.language.terms import is_condition, is_lacks_call

Intervals = list[tuple[int, int]]

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


class End(NamedTuple):
    """An end of an interval as users write it: a constant, and whether it is inside."""

    constant: str
    is_inside: bool


class Wording:
    """Says what points mean, by the attributes of a store."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._keys = attributes.domain_keys()

    def predicate(self, predicates: Predicates, number: int) -> str:
        """What a predicate asks for."""
        domain, found = int(predicates.domain[number]), intervals(predicates, number)
        if predicates.every[number]:  # all values must be inside: the negation of the rest of the domain
            return f"NOT {self.said(domain, complement(found))}"
        return self.said(domain, found)

    def value(self, domain: int, point: int) -> str:
        """A value at a point that is exactly one value: a constant of some subscription, or a number."""
        end = self._end(domain, point, -1)
        assert end.is_inside, f"the point {point} of {self._name(domain)} is between two values"
        return end.constant

    def said(self, domain: int, found: Intervals) -> str:
        """Intervals of a domain as a predicate."""
        name, kind = self._name(domain), self._keys[domain].kind
        if kind in ("bool", "presence", "pattern"):
            return self._flag(domain, found)
        if len(found) == 1:
            return self._interval(domain, *found[0])
        if all(low == high for low, high in found):
            return f"{name} IN ({', '.join(self.value(domain, low) for low, _ in found)})"
        gaps = [(before[1] + 1, after[0] - 1) for before, after in pairwise(found)]
        is_rest = bool(found) and found[0][0] == LOWEST and found[-1][1] == HIGHEST
        if is_rest and all(low == high for low, high in gaps):
            values = [self.value(domain, low) for low, _ in gaps]
            return f"{name} <> {values[0]}" if len(values) == 1 else f"{name} NOT IN ({', '.join(values)})"
        return " OR ".join(self._interval(domain, *one) for one in found)

    def _name(self, domain: int) -> str:
        return format_name(self._keys[domain].attribute)

    def _flag(self, domain: int, found: Intervals) -> str:
        name, key = self._name(domain), self._keys[domain]
        has = {point for point in (0, 1) if any(low <= point <= high for low, high in found)}
        if len(has) != 1:
            return f"{name}: anything" if has else f"{name}: nothing"
        (is_true,) = has
        if key.kind == "presence":
            return f"{name} IS {'NOT ' if is_true else ''}NULL"
        if key.kind == "pattern":
            return f"{'' if is_true else 'NOT '}{name} MATCHES {format_constant(key.pattern)}"
        if is_condition(key.attribute) or is_lacks_call(key.attribute):
            return name if is_true else f"NOT {name}"
        return f"{name} = {format_constant(bool(is_true))}"

    def _interval(self, domain: int, low: int, high: int) -> str:
        name = self._name(domain)
        if self._keys[domain].kind in LABELLED_KINDS and (affix := self._affix(domain, low, high)) is not None:
            return affix
        first = None if low == LOWEST else self._end(domain, low, -1)
        last = None if high == HIGHEST else self._end(domain, high, 1)
        if first is None and last is None:
            return f"any {name}"
        if first is None:
            assert last is not None
            return f"{name} {'<=' if last.is_inside else '<'} {last.constant}"
        if last is None:
            return f"{name} {'>=' if first.is_inside else '>'} {first.constant}"
        if first == last:
            return f"{name} = {first.constant}"
        return self.between(name, first, last)

    def between(self, name: str, first: End, last: End) -> str:
        """An interval with two ends."""
        if first.is_inside and last.is_inside:
            return f"{name} BETWEEN {first.constant} AND {last.constant}"
        left, right = ">=" if first.is_inside else ">", "<=" if last.is_inside else "<"
        return f"{name} {left} {first.constant} AND {name} {right} {last.constant}"

    def _affix(self, domain: int, low: int, high: int) -> str | None:
        """STARTS WITH, or on a domain of reversed strings ENDS WITH, if the interval is all strings of an affix."""
        dictionary = self._attributes.dictionary(domain)
        first = dictionary.text_at(low)
        if first is None or low == high or high == HIGHEST or successor(first) != dictionary.text_at(high + 1):
            return None
        if self._keys[domain].kind == "reversed":
            return f"{self._name(domain)} ENDS WITH {format_constant(first[::-1])}"
        return f"{self._name(domain)} STARTS WITH {format_constant(first)}"

    def _end(self, domain: int, point: int, outwards: int) -> End:
        """A point is that of a constant, or the first one inside of it."""
        kind = self._keys[domain].kind
        if kind == "float":  # next to 1.5 there is a double with many digits: then 1.5 itself is meant
            here, beside = _double(point), _double(point + outwards)
            return End(here, True) if len(here) <= len(beside) else End(beside, False)
        if kind in ("int", "time"):
            is_inside = point % 2 == 0
            whole = (point if is_inside else point + outwards) // 2
            return End(str(whole) if kind == "int" else _time(whole), is_inside)
        dictionary = self._attributes.dictionary(domain)
        text = dictionary.text_at(point)
        beside_it = dictionary.text_at(point + outwards) if text is None else text
        assert beside_it is not None, f"{point} is not the end of an interval on {self._name(domain)}"
        shown = beside_it[::-1] if kind == "reversed" else beside_it
        return End(format_constant(shown), text is not None)


def intervals(predicates: Predicates, number: int) -> Intervals:
    """The intervals of a predicate."""
    run = slice(predicates.start[number], predicates.start[number + 1])
    return list(zip(predicates.low[run].tolist(), predicates.high[run].tolist(), strict=True))


def _double(point: int) -> str:
    """The double at a point of a float domain."""
    bits = point if point >= 0 else LOWEST - point
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return repr(value).removesuffix(".0")


def _time(microseconds: int) -> str:
    """A time; one that no datetime can be is its number of microseconds."""
    try:
        at = EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds} us"
    return format_constant(at.date() if (at - EPOCH) % DAY == dt.timedelta(0) else at)
