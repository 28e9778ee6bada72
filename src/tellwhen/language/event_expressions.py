"""Events as expressions (BE-Tree, section 3): a conjunction of predicates becomes the values of an event.

    price < 500 AND city <> 'Rome'     {"price": Interval(None, 500, "[)"),
                                        "city": [Interval(None, "Rome", "[)"), Interval("Rome", None, "(]")]}

In the paper, an event satisfies a predicate if some value satisfies both the predicate and that of the event on the
same attribute. A predicate on an interval has the same meaning (LANGUAGE.md), so engines need no other events.
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
    """Return the values that satisfy a predicate: Booleans, or disjoint intervals."""
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
        return [Interval(key, key) for key in keys]
    if operator == "BETWEEN":
        return _make_intervals(c, keys[1], "[]")
    if operator == "NOT BETWEEN":
        if not _make_intervals(c, keys[1], "[]"):  # every value of the family
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
    """Return the values that lie in both lists, which are Booleans or disjoint intervals of one family."""
    if not all(isinstance(value, Interval) for value in left + right):
        return [value for value in left if value in right]
    found = []
    for a in left:
        for b in right:
            if a.family == b.family:
                low_of = max(a, b, key=lambda interval: interval.low_key)
                is_lower = b.high_key is not None and (a.high_key is None or b.high_key < a.high_key)
                high_of = b if is_lower else a
                bounds: Any = low_of.bounds[0] + high_of.bounds[1]
                found += _make_intervals(low_of.low, high_of.high, bounds)
    return found


def _simplify(values: list[Any]) -> Any:
    """Replace intervals of one value by the value, and a list of one member by the member."""
    members = [value.low if isinstance(value, Interval) and _is_single(value) else value for value in values]
    return members[0] if len(members) == 1 else members


def _is_single(interval: Interval) -> bool:
    return interval.low is not None and interval == Interval(interval.low, interval.low)
