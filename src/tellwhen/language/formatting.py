"""Formatting of expressions as text that parses to an equal expression, and of values for messages."""

from __future__ import annotations

import datetime as dt
import ipaddress
from itertools import islice
from typing import Any

import numpy as np

from tellwhen.errors import abbreviate
from tellwhen.language.ast import (
    COMPARISON_OPERATORS,
    HAS_OPERATORS,
    LIKE_OPERATORS,
    LIST_OPERATORS,
    RANGE_OPERATORS,
    TEXT_OPERATORS,
    Connective,
    Expr,
    Not,
    Predicate,
    Truth,
)
from tellwhen.language.computation import get_term
from tellwhen.language.literals import format_constant, format_name
from tellwhen.language.parser import PRECEDENCE
from tellwhen.language.terms import Call, Term, is_computed, is_condition
from tellwhen.language.times import format_time
from tellwhen.language.values import Interval, is_list_like, is_missing


def format_expression(expr: Expr) -> str:
    """Return the text of an expression, with parentheses only where precedence requires them."""
    return _format(expr, 0)


def _format(expr: Expr, precedence: int) -> str:
    """Return the text of an expression, in parentheses if it binds less tightly than `precedence`."""
    if isinstance(expr, Predicate):
        return format_predicate(expr)
    if isinstance(expr, Truth):
        return "NULL" if expr.value is None else "TRUE" if expr.value else "FALSE"
    if isinstance(expr, Not):
        return "NOT " + _format(expr.arg, PRECEDENCE["NOT"])
    assert isinstance(expr, Connective)
    own = PRECEDENCE[expr.keyword]
    # Operands bind tighter than the connective: XOR inside XNOR keeps its parentheses.
    text = f" {expr.keyword} ".join(_format(arg, own + 1) for arg in expr.args)
    return f"({text})" if own < precedence else text


def format_predicate(predicate: Predicate) -> str:
    attribute, operator, operand = format_name(predicate.attribute), predicate.operator, predicate.operand
    if is_condition(predicate.attribute) and operator == "=" and operand is True:
        return attribute
    if operator in RANGE_OPERATORS and is_computed(predicate.attribute):
        text = _format_network(get_term(predicate.attribute), operator, operand)
        if text is not None:
            return text
    if operator in LIST_OPERATORS or operator in HAS_OPERATORS:
        return f"{attribute} {operator} ({', '.join(map(format_constant, operand))})"
    if operator in RANGE_OPERATORS:
        return f"{attribute} {operator} {format_constant(operand[0])} AND {format_constant(operand[1])}"
    if operator in LIKE_OPERATORS:
        pattern, escape = operand
        suffix = f" ESCAPE {format_constant(escape)}" if escape is not None else ""
        return f"{attribute} {operator} {format_constant(pattern)}{suffix}"
    if operator in COMPARISON_OPERATORS or operator in TEXT_OPERATORS:
        return f"{attribute} {operator} {format_constant(operand)}"
    return f"{attribute} {operator}"


def _format_network(term: Term, operator: str, operand: Any) -> str | None:
    """Return text such as `ip IN CIDR '10.0.0.0/8'` for the range of addresses that the parser made of it.

    Return None for other ranges.
    """
    if not (isinstance(term, Call) and term.function == "address"):
        return None
    try:
        first, last = (ipaddress.ip_address(bytes.fromhex(end.partition(":")[2])) for end in operand)
        (network, *others) = ipaddress.summarize_address_range(first, last)
    except (ValueError, TypeError, AttributeError):
        return None
    return None if others else f"{term.args[0].text} {operator[: -len('BETWEEN')]}IN CIDR '{network}'"


def _format_interval(interval: Interval) -> str:
    """Return text such as `from 1 to 5`, or `above 1 and at most 5` if an end is excluded."""
    low, high = ("" if end is None else format_value(end) for end in (interval.low, interval.high))
    if low and high and interval.bounds == "[]":
        return f"from {low} to {high}"
    parts = [
        ("at least " if interval.bounds[0] == "[" else "above ") + low if low else "",
        ("at most " if interval.bounds[1] == "]" else "below ") + high if high else "",
    ]
    return " and ".join(filter(None, parts))


def format_value(value: Any, length: int = 60) -> str:
    """Return the value of an event's attribute as text of at most `length` characters."""
    if is_missing(value):
        text = "missing"
    elif is_list_like(value):
        # A member takes at least two characters, a digit and a comma: no more members fit.
        members = islice(value, length // 2)
        text = f"[{', '.join('NULL' if is_missing(m) else format_value(m, length) for m in members)}]"
    elif isinstance(value, Interval):
        text = _format_interval(value)
    elif isinstance(value, dt.date | np.datetime64):
        text = format_time(value)
    else:
        scalar = value.item() if isinstance(value, np.generic) else value
        text = format_constant(scalar) if isinstance(scalar, bool) else abbreviate(scalar, length)
    return text if len(text) <= length else text[: length - 3] + "..."
