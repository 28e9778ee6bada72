"""Which values does a range have? Its bounds become `gte` and `lte` where a type has a next value."""

import math
from typing import Any, NamedTuple

from addresses import FIRST, LAST
from addresses import number as place
from dates import TICK, moments
from mapping import DATES, FLOATS, INTEGERS
from values import as_value, number

LIMITS = {"byte": 2**7, "short": 2**15, "integer": 2**31, "long": 2**63, "unsigned_long": 2**64}
NAMES = ("gt", "gte", "lt", "lte", "from", "to", "include_lower", "include_upper")


class Bound(NamedTuple):
    value: Any
    is_included: bool


Bounds = tuple[Bound | None, Bound | None]


def ends(given: dict[str, Any]) -> Bounds:
    """The lower and the upper bound, in either of the two ways to write them."""
    low = {"gt": False, "gte": True, "from": given.get("include_lower", True)}
    high = {"lt": False, "lte": True, "to": given.get("include_upper", True)}
    found = [[Bound(given[name], is_in) for name, is_in in end.items() if name in given] for end in (low, high)]
    if max(map(len, found)) > 1:
        raise ValueError(f"range with {', '.join(given)}")
    return found[0][0] if found[0] else None, found[1][0] if found[1] else None


def make_bounds(low: Bound | None, high: Bound | None, kind: str) -> dict[str, Any]:
    """Return what values of a range are compared with: `gte` and `lte`, or `gt` and `lt` where it must be."""
    if kind in INTEGERS:
        return integer_bounds(low, high, kind)
    if kind in DATES:
        return date_bounds(low, high, kind)
    if kind in FLOATS and low and high:
        return {"gte": nearest_double(low, math.inf), "lte": nearest_double(high, -math.inf)}
    found = {} if low is None else {"gte" if low.is_included else "gt": as_value(low.value, kind)}
    return found if high is None else found | {"lte" if high.is_included else "lt": as_value(high.value, kind)}


def integer_bounds(low: Bound | None, high: Bound | None, kind: str) -> dict[str, int]:
    """The least and the greatest integer, without bounds that no value of the type is beyond."""
    found = {}
    if low:
        given = number(low.value)
        found["gte"] = math.ceil(given) if low.is_included else math.floor(given) + 1
    if high:
        given = number(high.value)
        found["lte"] = math.floor(given) if high.is_included else math.ceil(given) - 1
    least = 0 if kind == "unsigned_long" else -LIMITS[kind]
    beyond = {"gte": found.get("gte", 0) <= least, "lte": found.get("lte", 0) >= LIMITS[kind] - 1}
    return {name: one for name, one in found.items() if not beyond[name]}


def date_bounds(low: Bound | None, high: Bound | None, kind: str) -> dict[str, Any]:
    """The first and the last moment. Elasticsearch takes all of a day as one: what is `gt` is after the day."""
    found = {}
    if low:
        first, after = moments(low.value, kind)
        found["gte"] = first if low.is_included else after
    if high:
        first, after = moments(high.value, kind)
        found["lte"] = (after if high.is_included else first) - TICK
    return found


def nearest_double(bound: Bound, towards: float) -> float:
    """The bound, or the next double that is inside."""
    value = float(number(bound.value))
    return value if bound.is_included else math.nextafter(value, towards)


def address_bounds(low: Bound | None, high: Bound | None) -> tuple[int, int]:
    """The places of the first and the last address."""
    first = place(low.value) + (not low.is_included) if low else FIRST
    last = place(high.value) - (not high.is_included) if high else LAST
    return first, last
