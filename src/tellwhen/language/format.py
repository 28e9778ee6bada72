"""Expr -> text that parses to an equal Expr."""

from __future__ import annotations

import datetime as dt
import ipaddress
from itertools import islice
from typing import Any

import numpy as np

from tellwhen.errors import abbreviate
from tellwhen.language.ast import (
    COMPARISONS,
    LIKES,
    LISTS,
    MEMBERSHIPS,
    RANGES,
    TEXTS,
    Connective,
    Expr,
    Not,
    Predicate,
    Truth,
)
from tellwhen.language.compute import term_of
from tellwhen.language.literals import constant_text, name_text
from tellwhen.language.parser import BINDING
from tellwhen.language.terms import Call, Term, is_computed, is_condition
from tellwhen.language.times import time_text
from tellwhen.language.values import Interval, is_missing, is_several


def to_text(expr: Expr) -> str:
    """The expression, with parentheses only where the precedence needs them."""
    return _text(expr, 0)


def _text(expr: Expr, binding: int) -> str:
    if isinstance(expr, Predicate):
        return predicate_text(expr)
    if isinstance(expr, Truth):
        return "NULL" if expr.value is None else "TRUE" if expr.value else "FALSE"
    if isinstance(expr, Not):
        return "NOT " + _text(expr.arg, BINDING["NOT"])
    assert isinstance(expr, Connective)
    own = BINDING[expr.keyword]
    # Operands bind tighter than the connective: XOR inside XNOR keeps its parentheses.
    text = f" {expr.keyword} ".join(_text(arg, own + 1) for arg in expr.args)
    return f"({text})" if own < binding else text


def predicate_text(predicate: Predicate) -> str:
    """The text of a predicate."""
    attribute, operator, operand = name_text(predicate.attribute), predicate.operator, predicate.operand
    if is_condition(predicate.attribute) and operator == "=" and operand is True:
        return attribute
    if operator in RANGES and is_computed(predicate.attribute):
        network = _network(term_of(predicate.attribute), operator, operand)
        if network is not None:
            return network
    if operator in LISTS or operator in MEMBERSHIPS:
        return f"{attribute} {operator} ({', '.join(map(constant_text, operand))})"
    if operator in RANGES:
        return f"{attribute} {operator} {constant_text(operand[0])} AND {constant_text(operand[1])}"
    if operator in LIKES:
        pattern, escape = operand
        suffix = f" ESCAPE {constant_text(escape)}" if escape is not None else ""
        return f"{attribute} {operator} {constant_text(pattern)}{suffix}"
    if operator in COMPARISONS or operator in TEXTS:
        return f"{attribute} {operator} {constant_text(operand)}"
    return f"{attribute} {operator}"


def _network(term: Term, operator: str, operand: Any) -> str | None:
    """`ip IN CIDR '10.0.0.0/8'`, which the parser makes a range of addresses."""
    if not (isinstance(term, Call) and term.function == "address"):
        return None
    try:
        first, last = (ipaddress.ip_address(bytes.fromhex(end.partition(":")[2])) for end in operand)
        (network, *others) = ipaddress.summarize_address_range(first, last)
    except (ValueError, TypeError, AttributeError):
        return None
    return None if others else f"{term.args[0].text} {operator[: -len('BETWEEN')]}IN CIDR '{network}'"


def value_text(value: Any, length: int = 60) -> str:
    """The value of an attribute of an event, as a user would write it; cut short."""
    if is_missing(value):
        text = "missing"
    elif is_several(value):
        # A member has two characters at least, a comma and a digit: no more can be seen.
        text = f"[{', '.join(value_text(member, length) for member in islice(value, length // 2))}]"
    elif isinstance(value, Interval):
        low, high = ("" if end is None else value_text(end) for end in (value.low, value.high))
        text = f"from {low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    elif isinstance(value, dt.date | np.datetime64):
        text = time_text(value)
    else:
        known = value.item() if isinstance(value, np.generic) else value
        text = constant_text(known) if isinstance(known, bool) else abbreviate(known, length)
    return text if len(text) <= length else text[: length - 3] + "..."
