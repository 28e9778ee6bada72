"""Expr -> text that parses to an equal Expr."""

from __future__ import annotations

import datetime as dt
from typing import assert_never

from tellwhen.lang.ast import COMPARISONS, LIKES, LISTS, RANGES, TEXTS, Connective, Expr, Not, Predicate, Truth
from tellwhen.lang.parser import BINDING, IS_NAME, RESERVED
from tellwhen.lang.values import Constant


def to_text(expr: Expr) -> str:
    """The expression, with parentheses only where the precedence needs them."""
    return _text(expr, 0)


def _text(expr: Expr, binding: int) -> str:
    if isinstance(expr, Predicate):
        return predicate_text(expr)
    if isinstance(expr, Truth):
        return "TRUE" if expr.value else "FALSE"
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
    if operator in LISTS:
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


def name_text(name: str) -> str:
    """The name of an attribute, in quotes where it would not parse without."""
    if IS_NAME(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def constant_text(value: Constant) -> str:
    """A constant as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    assert_never(value)
