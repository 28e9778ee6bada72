"""Evaluation of expressions on events: slow and simple, the oracle that every engine is tested against.

The logic is Kleene's three-valued one: True, False, or None for undefined. A predicate is undefined if its attribute
has no value of the family of its constants. Only True is a match. LANGUAGE.md describes the same in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tellwhen.language import like_patterns, limits
from tellwhen.language import regex as patterns
from tellwhen.language.ast import LIKE_OPERATORS, And, Connective, Expr, Has, Not, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.computation import compute_value, get_term
from tellwhen.language.terms import is_computed
from tellwhen.language.values import (
    Interval,
    Value,
    find_successor,
    flatten,
    get_key,
    is_present,
    iter_members,
    normalize_value,
)


def evaluate_expression(expr: Expr, event: Mapping[str, Any]) -> bool | None:
    """Return the value of an expression on an event: True, False or None."""
    return evaluate_flat(expr, flatten(event))


def evaluate_flat(expr: Expr, event: Mapping[str, Any]) -> bool | None:
    """Return the value of an expression on a flat event (see `values.flatten`)."""
    if isinstance(expr, Predicate):
        return evaluate_predicate(expr, get_value(event, expr.attribute))
    if isinstance(expr, Truth):
        return expr.value
    return combine_values(expr, [evaluate_flat(part, event) for part in get_operands(expr)])


def get_operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of a NOT or a connective; an empty tuple for other expressions."""
    return expr.args if isinstance(expr, Connective) else (expr.arg,) if isinstance(expr, Not) else ()


def combine_values(expr: Expr, values: list[bool | None]) -> bool | None:
    """Return the value of a NOT or a connective, given the values of its operands."""
    if isinstance(expr, Not):
        return evaluate_not(values[0])
    if isinstance(expr, And):
        return evaluate_and(values)
    if isinstance(expr, Or):
        return evaluate_or(values)
    assert isinstance(expr, Xor | Xnor)
    return evaluate_xor(values) if isinstance(expr, Xor) else evaluate_xnor(values)


def get_value(event: Mapping[str, Any], attribute: str) -> Any:
    """Return the value of an attribute of a flat event; compute it if the attribute is computed."""
    return compute_value(get_term(attribute), event) if is_computed(attribute) else event.get(attribute)


# Kleene's connectives


def evaluate_not(value: bool | None) -> bool | None:
    return None if value is None else not value


def evaluate_and(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def evaluate_or(values: list[bool | None]) -> bool | None:
    if True in values:
        return True
    return None if None in values else False


def evaluate_xor(values: list[bool | None]) -> bool | None:
    return None if None in values else values.count(True) % 2 == 1


def evaluate_xnor(values: list[bool | None]) -> bool | None:
    return None if None in values else values.count(False) % 2 == 0


# predicates


def evaluate_predicate(predicate: Predicate, value: Any) -> bool | None:
    """Return whether some member of a value satisfies a predicate; None if no member is of the predicate's family."""
    if predicate.operator == "IS NULL":
        return not is_present(value)
    if predicate.operator == "IS NOT NULL":
        return is_present(value)
    if isinstance(predicate, Has):
        return _evaluate_has(predicate, value)
    results = []  # of the members of the predicate's family
    for member in iter_members(value):
        if isinstance(member, Interval):
            if member.family == predicate.family:
                is_satisfied = is_satisfied_in_interval(predicate, member)
                if is_satisfied is not None:
                    results.append(is_satisfied)
            continue
        normalized = normalize_value(member)
        if normalized is not None and normalized.family == predicate.family:
            results.append(is_satisfied_by_value(predicate, normalized))
    return any(results) if results else None


def _evaluate_has(predicate: Has, value: Any) -> bool:
    """Return the value of HAS ANY, HAS ALL or HAS NONE, which is never undefined."""
    found = [has_equal_member(predicate, constant, value) for constant in predicate.constants]
    return all(found) if predicate.operator == "HAS ALL" else any(found) == (predicate.operator == "HAS ANY")


def has_equal_member(predicate: Has, constant: Any, value: Any) -> bool:
    return evaluate_predicate(Predicate(predicate.attribute, "=", constant), value) is True


def is_satisfied_by_value(predicate: Predicate, value: Value) -> bool:
    """Return whether a single value satisfies a predicate of the same family."""
    x = value.key
    operator = predicate.operator
    if operator == "LIKE":
        return like_patterns.is_like(x, *predicate.operand)
    if operator == "NOT LIKE":
        return not like_patterns.is_like(x, *predicate.operand)
    keys = [get_key(constant) for constant in predicate.constants]
    c = keys[0]
    if operator == "=":
        return bool(x == c)
    if operator == "<>":
        return bool(x != c)
    if operator == "<":
        return bool(x < c)
    if operator == "<=":
        return bool(x <= c)
    if operator == ">":
        return bool(x > c)
    if operator == ">=":
        return bool(x >= c)
    if operator == "IN":
        return x in keys
    if operator == "NOT IN":
        return x not in keys
    if operator == "BETWEEN":
        return bool(c <= x <= keys[1])
    if operator == "NOT BETWEEN":
        return not c <= x <= keys[1]
    if operator == "STARTS WITH":
        return bool(x.startswith(c))
    if operator == "ENDS WITH":
        return bool(x.endswith(c))
    if operator == "CONTAINS":
        return c in x
    assert operator == "MATCHES"
    return patterns.has_match(c, x)


def is_satisfied_in_interval(predicate: Predicate, interval: Interval) -> bool | None:
    """Return whether some value in an interval satisfies a predicate of the same family.

    Return None for an interval of strings and a pattern that is neither a prefix nor a whole string.
    """
    if interval.family == "string":
        return is_satisfied_by_some_string(predicate, interval.low_key, interval.high_key)
    # There is a value between any two different ones, unless they are adjacent doubles.
    low, high = interval.low_key, interval.high_key
    keys = [get_key(constant) for constant in predicate.constants]
    c, operator = keys[0], predicate.operator
    if operator == "=":
        return bool(low <= c <= high)
    if operator == "<>":
        return not low == c == high
    if operator == "<":
        return bool(low < c)
    if operator == "<=":
        return bool(low <= c)
    if operator == ">":
        return bool(high > c)
    if operator == ">=":
        return bool(high >= c)
    if operator == "IN":
        return any(low <= key <= high for key in keys)
    if operator == "NOT IN":
        return low not in keys or high not in keys or (low < high and not _is_adjacent_double(low, high))
    if operator == "BETWEEN":
        return bool(c <= keys[1] and low <= keys[1] and c <= high)
    assert operator == "NOT BETWEEN"
    return bool(c > keys[1] or low < c or high > keys[1])


def is_satisfied_by_some_string(predicate: Predicate, low: str, high: str | None) -> bool | None:
    """Return whether some string from `low` on and less than `high` satisfies a predicate; None for most patterns.

    A `high` of None stands for no limit. The next string after c has one NUL more, so it is no constant.
    """

    def contains_some(first: str, behind: str | None) -> bool:
        """Return whether a string from `first` on and less than `behind` is in the interval."""
        start = max(low, first)
        return (behind is None or start < behind) and (high is None or start < high)

    operator: str = predicate.operator
    keys: tuple[Any, ...] = predicate.constants
    if operator in LIKE_OPERATORS:
        shape = like_patterns.find_prefix(*predicate.operand)
        if shape is None:
            return None
        c, has_rest = shape
        if not has_rest:
            operator, keys = ("=" if operator == "LIKE" else "<>"), (c,)
        elif operator == "NOT LIKE":  # the prefixed strings are an interval: is there one before or behind it?
            behind = find_successor(c)
            return contains_some("", c) or (behind is not None and contains_some(behind, None))
        else:
            operator = "STARTS WITH"
    else:
        c = keys[0]
    if operator == "STARTS WITH":
        return contains_some(c, find_successor(c))
    if operator == "=":
        return contains_some(c, c + "\0")
    if operator == "<>":
        return contains_some("", c) or contains_some(c + "\0", None)
    if operator == "<":
        return contains_some("", c)
    if operator == "<=":
        return contains_some("", c + "\0")
    if operator == ">":
        return contains_some(c + "\0", None)
    if operator == ">=":
        return contains_some(c, None)
    if operator == "IN":
        return any(contains_some(key, key + "\0") for key in keys)
    if operator == "NOT IN":  # all strings of the interval are constants only if it has a single one
        return low not in keys or high != low + "\0"
    if operator == "BETWEEN":
        return contains_some(c, keys[1] + "\0")
    if operator == "NOT BETWEEN":
        return c > keys[1] or contains_some("", c) or contains_some(keys[1] + "\0", None)
    return None  # ENDS WITH, CONTAINS, MATCHES


def _is_adjacent_double(low: Any, high: Any) -> bool:
    has_double = any(isinstance(e, float) and (not e.is_integer() or abs(e) > limits.INTEGER_MAX) for e in (low, high))
    return has_double and math.nextafter(low, math.inf) == high
