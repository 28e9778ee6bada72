"""JSON <-> Expr, for programs that write expressions.

    {"and": [e, ...]}  {"or": [...]}  {"xor": [...]}  {"xnor": [...]}  {"not": e}  true  false
    {"attribute": "price", "operator": "between", "value": [20, 40]}

A constant is a JSON scalar, or `{"date": "2026-01-31"}`, or `{"timestamp": "2026-01-31 23:59:59"}`.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError
from tellwhen.lang import limits
from tellwhen.lang.ast import (
    COMPARISONS,
    LIKES,
    LISTS,
    PRESENCES,
    RANGES,
    TEXTS,
    Connective,
    Expr,
    Not,
    Predicate,
    Truth,
)
from tellwhen.lang.build import predicate
from tellwhen.lang.parser import CONNECTIVES
from tellwhen.lang.times import timestamp
from tellwhen.lang.values import Constant

OPERATORS = {op.lower(): op for op in (*COMPARISONS, *LISTS, *RANGES, *LIKES, *TEXTS, *PRESENCES)} | {"!=": "<>"}


def to_json(expr: Expr) -> Any:
    """Plain dicts, lists and scalars, ready for `json.dumps`."""
    if isinstance(expr, Truth):
        return expr.value
    if isinstance(expr, Not):
        return {"not": to_json(expr.arg)}
    if isinstance(expr, Connective):
        return {expr.keyword.lower(): [to_json(arg) for arg in expr.args]}
    assert isinstance(expr, Predicate)
    form: dict[str, Any] = {"attribute": expr.attribute, "operator": expr.operator.lower()}
    if expr.operator in LIKES:
        pattern, escape = expr.operand
        return form | {"value": pattern} | ({} if escape is None else {"escape": escape})
    if isinstance(expr.operand, tuple):
        return form | {"value": [_scalar(value) for value in expr.operand]}
    return form if expr.operand is None else form | {"value": _scalar(expr.operand)}


def _scalar(value: Constant) -> Any:
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat(" ")}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    return value


def from_json(form: Any) -> Expr:
    """Read the JSON form, parsed or as text; errors name the path, like `$.and[1].value`.

    >>> print(from_json({"and": [{"attribute": "a", "operator": "<", "value": 3}, {"not": False}]}))
    a < 3 AND NOT FALSE
    """
    if isinstance(form, str):
        if len(form) > limits.TEXT:
            raise ParseError(f"an expression has at most {limits.TEXT} characters, this one has {len(form)}")
        try:
            form = json.loads(form)
        except json.JSONDecodeError as error:
            raise ParseError(f"this is not JSON: {error.msg}", form, error.pos) from None
        except (RecursionError, ValueError):
            raise ParseError(
                f"this JSON is nested too deep, or contains a number of thousands of digits; "
                f"expressions nest at most {limits.DEPTH} deep"
            ) from None
    return _read(form, "$", 0)


def _read(form: Any, path: str, depth: int) -> Expr:
    if depth > limits.DEPTH:
        raise LimitError(f"{path[:60]}...: an expression is nested at most {limits.DEPTH} deep")
    if isinstance(form, bool):
        return Truth(form)
    if not isinstance(form, dict):
        raise ExpressionError(f"{path}: an expression is an object or a boolean, not {type(form).__name__}")
    if "attribute" in form:
        return _predicate(form, path)
    if len(form) != 1:
        raise ExpressionError(f"{path}: expected one of and, or, xor, xnor, not; or attribute, operator, value")
    (word, value), *_ = form.items()
    if word == "not":
        return Not(_read(value, f"{path}.not", depth + 1))
    connective = CONNECTIVES.get(str(word).upper())
    if connective is None:
        raise ExpressionError(f"{path}: unknown operator {word!r}; there are and, or, xor, xnor and not")
    if not isinstance(value, list) or len(value) < 2:
        raise ExpressionError(f"{path}.{word}: expected a list of at least two expressions")
    return connective.of(*(_read(arg, f"{path}.{word}[{i}]", depth + 1) for i, arg in enumerate(value)))


def _predicate(form: dict[str, Any], path: str) -> Predicate:
    unknown = set(form) - {"attribute", "operator", "value", "escape"}
    if unknown:
        raise ExpressionError(f"{path}: unknown member {sorted(map(str, unknown))[0]!r}")
    operator = OPERATORS.get(str(form.get("operator", "=")).lower())
    if operator is None:
        raise ExpressionError(
            f"{path}.operator: unknown operator {form['operator']!r}; there are {', '.join(OPERATORS)}"
        )
    if operator in PRESENCES:
        if "value" in form:
            raise ExpressionError(f"{path}.value: {operator} takes no value")
        operand: Any = None
    elif "value" not in form:
        raise ExpressionError(f"{path}: {operator} needs a value")
    elif operator in LIKES:
        operand = (form["value"], form.get("escape"))
    elif isinstance(form["value"], list):
        operand = tuple(_constant(value, f"{path}.value[{i}]") for i, value in enumerate(form["value"]))
    else:
        operand = _constant(form["value"], f"{path}.value")
    if "escape" in form and operator not in LIKES:
        raise ExpressionError(f"{path}.escape: only LIKE and NOT LIKE take an escape character")
    try:
        return predicate(form["attribute"], operator, operand)
    except ExpressionError as error:
        raise ExpressionError(f"{path}: {error}") from None


def _constant(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        try:
            (kind, text), *rest = value.items()
            if not rest and kind == "date":
                return dt.date.fromisoformat(text)
            if not rest and kind == "timestamp":
                return timestamp(text)
        except (ValueError, TypeError):
            pass
        raise ExpressionError(f'{path}: expected {{"date": "2026-01-31"}} or {{"timestamp": "2026-01-31 23:59:59"}}')
    if isinstance(value, list) or value is None:
        raise ExpressionError(f"{path}: expected a constant")
    return value
