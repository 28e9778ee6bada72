"""Events as expressions (BE-Tree, section 3): a conjunction of predicates becomes the values of an event.

    price < 500 AND city <> 'Rome'     {"price": Interval(None, 500, "[)"),
                                        "city": [Interval(None, "Rome", "[)"), Interval("Rome", None, "(]")]}

In the paper, an event satisfies a predicate if some value satisfies both the predicate and that of the event on the
same attribute. In LANGUAGE.md a predicate on an interval has the same meaning. So engines need no new kind of event.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tellwhen.errors import EventError
from tellwhen.language.ast import And, Expr, Predicate
from tellwhen.language.evaluation import is_satisfied_by_value
from tellwhen.language.formatting import format_predicate
from tellwhen.language.literals import format_name
from tellwhen.language.terms import is_computed
from tellwhen.language.values import Bounds, Interval, Value, find_successor, get_key

OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "STARTS WITH")


def build_event(expr: Expr) -> dict[str, Any]:
    """Return the event that a conjunction of predicates describes: by attribute a value, an interval, or a list."""
    sets: dict[str, list[Any]] = {}
    for predicate in expr.args if isinstance(expr, And) else (expr,):
        if not isinstance(predicate, Predicate):
            raise EventError(f"an event is predicates joined by AND, without OR, XOR, XNOR and NOT; found {predicate}")
        name = predicate.attribute
        if is_computed(name) or predicate.operator not in OPERATORS:
            raise EventError(
                f"{format_predicate(predicate)}: a predicate of an event compares an attribute with constants; "
                f"its operators are {', '.join(OPERATORS)}"
            )
        values = list_values(predicate)
        sets[name] = _intersect(sets[name], values) if name in sets else values
        if not sets[name]:
            raise EventError(f"no value of {format_name(name)} satisfies all predicates of the event")
    return {name: _simplify(values) for name, values in sets.items()}


def list_values(predicate: Predicate) -> list[Any]:
    """Return the values that satisfy a predicate: Booleans, or disjoint intervals in ascending order."""
    operator = predicate.operator
    keys: tuple[Any, ...] = predicate.constants
    if predicate.family == "bool":
        return [value for value in (False, True) if is_satisfied_by_value(predicate, Value("bool", int(value)))]
    c = keys[0]
    if operator == "STARTS WITH":
        behind = find_successor(c)
        return [Interval(c, None)] if behind is None else [Interval(c, behind, "[)")]
    if operator == "<":
        return _make_intervals(None, c, "[)")
    if operator == "<=":
        return [Interval(None, c)]
    if operator == ">":
        return [Interval(c, None, "(]")]
    if operator == ">=":
        return [Interval(c, None)]
    if operator == "=" or operator == "IN":
        return [Interval(constant, constant) for _, constant in sorted({get_key(key): key for key in keys}.items())]
    if operator == "BETWEEN":
        return _make_intervals(c, keys[1], "[]")
    if operator == "NOT BETWEEN":
        if not _make_intervals(c, keys[1], "[]"):  # no value lies between the constants: every value satisfies it
            return [Interval(None, c), Interval(c, None, "(]")]
        return [*_make_intervals(None, c, "[)"), Interval(keys[1], None, "(]")]
    assert operator in ("<>", "NOT IN")
    ends = [None, *sorted(keys, key=get_key), None]
    return [gap for low, high in pairwise(ends) for gap in _make_intervals(low, high, "()")]


def _make_intervals(low: Any, high: Any, bounds: Bounds) -> list[Interval]:
    """Return the interval in a list, which is empty if no value lies in the interval."""
    try:
        return [Interval(low, high, bounds)]
    except EventError:
        return []


def _intersect(left: list[Any], right: list[Any]) -> list[Any]:
    """Return the values that lie in both lists, which are Booleans, or disjoint intervals in ascending order."""
    if not all(isinstance(value, Interval) for value in left[:1] + right[:1]):
        return [value for value in left if value in right]
    found: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right) and left[0].family == right[0].family:
        a, b = left[i], right[j]
        begin_owner, end_owner = (b if a.low_key < b.low_key else a), (b if _has_earlier_end(b, a) else a)
        if begin_owner is end_owner:
            found.append(begin_owner)  # one lies inside the other
        else:
            bounds: Any = begin_owner.bounds[0] + end_owner.bounds[1]
            found += _make_intervals(begin_owner.low, end_owner.high, bounds)
        if end_owner is b:
            j += 1
        else:
            i += 1
    return found


def _has_earlier_end(a: Interval, b: Interval) -> bool:
    if a.high_key is None or b.high_key is None:  # an interval of strings without a high end
        return a.high_key is not None
    return bool(a.high_key < b.high_key)


def _simplify(values: list[Any]) -> Any:
    """Replace intervals of one value by the value, and a list of one member by the member."""
    members = [value.low if isinstance(value, Interval) and _is_single(value) else value for value in values]
    return members[0] if len(members) == 1 else members


def _is_single(interval: Interval) -> bool:
    return interval.low is not None and interval == Interval(interval.low, interval.low)
