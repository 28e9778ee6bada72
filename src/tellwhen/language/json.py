"""Conversion between JSON and Expr, for programs that generate expressions.

    {"and": [e, ...]}  {"or": [...]}  {"xor": [...]}  {"xnor": [...]}  {"not": e}  true  false
    {"attribute": "price", "operator": "between", "value": [20, 40]}
    {"attribute": "items", "where": e}

A constant is a JSON scalar, or `{"date": "2026-01-31"}`, or `{"timestamp": "2026-01-31 23:59:59"}`. In place of an
attribute's name, and as a value, there may be `{"function": "+", "arguments": [{"attribute": "a"}, 1]}`.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError, abbreviate
from tellwhen.language import limits
from tellwhen.language.ast import (
    COMPARISON_OPERATORS,
    HAS_OPERATORS,
    LIKE_OPERATORS,
    LIST_OPERATORS,
    NULL_OPERATORS,
    OPERATORS,
    RANGE_OPERATORS,
    Connective,
    Expr,
    Not,
    Predicate,
    Truth,
)
from tellwhen.language.comparisons import (
    build_between,
    build_call,
    build_comparison,
    build_condition,
    build_in,
    build_term_predicate,
)
from tellwhen.language.computation import get_term
from tellwhen.language.parser import CONNECTIVES
from tellwhen.language.predicates import build_has, validate_name
from tellwhen.language.terms import AnyMember, Call, Literal, Name, Term, is_comparison, is_computed
from tellwhen.language.times import parse_timestamp
from tellwhen.language.values import Constant, normalize_constant

OPERATOR_BY_JSON_NAME = {op.lower(): op for op in OPERATORS} | {"!=": "<>"}


SCALAR_TYPES = {bool, int, float, str}


def to_json(expr: Expr) -> Any:
    """Return the JSON form of an expression: dicts, lists and scalars, ready for `json.dumps`."""
    if isinstance(expr, Truth):
        return expr.value
    if isinstance(expr, Not):
        return {"not": to_json(expr.arg)}
    if isinstance(expr, Connective):
        return {expr.keyword.lower(): [to_json(arg) for arg in expr.args]}
    assert isinstance(expr, Predicate)
    form: dict[str, Any] = {"attribute": expr.attribute, "operator": expr.operator.lower()}
    if is_computed(expr.attribute):
        term = get_term(expr.attribute)
        if isinstance(term, AnyMember) and expr.operator == "=" and expr.operand is True:
            return _term_to_json(term)
        if isinstance(term, Call) and is_comparison(term) and expr.operator == "=" and expr.operand is True:
            left, right = (_term_to_json(arg) for arg in term.args)
            attribute = left["attribute"] if set(left) == {"attribute"} else left
            return {"attribute": attribute, "operator": term.function, "value": right}
        form["attribute"] = _term_to_json(term)
    if expr.operator in LIKE_OPERATORS:
        pattern, escape = expr.operand
        return form | {"value": pattern} | ({} if escape is None else {"escape": escape})
    if isinstance(expr.operand, tuple):
        return form | {"value": [_scalar_to_json(value) for value in expr.operand]}
    return form if expr.operand is None else form | {"value": _scalar_to_json(expr.operand)}


def _term_to_json(term: Term) -> Any:
    if isinstance(term, Name):
        return {"attribute": term.name}
    if isinstance(term, Literal):
        return None if term.value is None else _scalar_to_json(term.value)
    if isinstance(term, AnyMember):
        return {"attribute": term.name, "where": to_json(term.expression)}
    assert isinstance(term, Call)
    return {"function": term.function, "arguments": [_term_to_json(arg) for arg in term.args]}


def _scalar_to_json(value: Constant) -> Any:
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat(" ")}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    return value


def from_json(form: Any) -> Expr:
    """Read an expression from its JSON form. Errors state the path, such as `$.and[1].value`.

    Parameters
    ----------
    form
        JSON as text, or parsed: dicts, lists and scalars.

    Returns
    -------
    Expr
        The expression.

    Raises
    ------
    ParseError
        If the text is not JSON, or too long.
    ExpressionError
        If the JSON is no expression.
    LimitError
        If the expression is too large.

    Examples
    --------
    >>> print(from_json({"and": [{"attribute": "a", "operator": "<", "value": 3}, {"not": False}]}))
    a < 3 AND NOT FALSE
    """
    if isinstance(form, str):
        if len(form) > limits.TEXT_CHARACTERS_MAX:
            raise ParseError(
                f"an expression may have at most {limits.TEXT_CHARACTERS_MAX} characters, this one has {len(form)}"
            )
        try:
            form = json.loads(form)
        except json.JSONDecodeError as error:
            raise ParseError(f"expected JSON: {error.msg}", form, error.pos) from None
        except (RecursionError, ValueError):
            raise ParseError(
                "this JSON is nested too deep or contains a number with thousands of digits; "
                f"an expression may be nested at most {limits.DEPTH_MAX} deep"
            ) from None
    return _read_expression(form, "$", 0)


def _read_expression(form: Any, path: str, depth: int) -> Expr:
    if depth > limits.DEPTH_MAX:
        raise LimitError(f"{path[:60]}...: an expression may be nested at most {limits.DEPTH_MAX} deep")
    if form is None or isinstance(form, bool):
        return Truth(form)
    if not isinstance(form, dict):
        raise ExpressionError(f"{path}: expected an object or a Boolean, found {type(form).__name__}")
    if "where" in form:
        return build_condition(_read_any_member(form, path, depth))
    if "attribute" in form:
        return _read_predicate(form, path)
    if len(form) != 1:
        raise ExpressionError(
            f"{path}: expected one of and, or, xor, xnor, not; or attribute, operator, value; found {abbreviate(form)}"
        )
    (word, value), *_ = form.items()
    if word == "not":
        return Not(_read_expression(value, f"{path}.not", depth + 1))
    connective = CONNECTIVES.get(str(word).upper())
    if connective is None:
        raise ExpressionError(
            f"{path}: unknown operator {abbreviate(word)}; the operators are and, or, xor, xnor and not"
        )
    if not isinstance(value, list) or len(value) < 2:
        raise ExpressionError(f"{path}.{word}: expected a list of at least two expressions")
    return connective.create(*(_read_expression(arg, f"{path}.{word}[{i}]", depth + 1) for i, arg in enumerate(value)))


def _list_members(form: dict[str, Any]) -> str:
    return ", ".join(sorted(map(str, form)))


def _read_any_member(form: dict[str, Any], path: str, depth: int) -> AnyMember:
    if set(form) != {"attribute", "where"}:
        raise ExpressionError(f"{path}: expected the members attribute and where, found {_list_members(form)}")
    return AnyMember(validate_name(form["attribute"]), _read_expression(form["where"], f"{path}.where", depth + 1))


def _read_predicate(form: dict[str, Any], path: str) -> Expr:
    unknown = set(form) - {"attribute", "operator", "value", "escape"}
    if unknown:
        raise ExpressionError(
            f"{path}: unknown member {sorted(map(str, unknown))[0]!r}; "
            "the members are attribute, operator, value and escape"
        )
    operator = OPERATOR_BY_JSON_NAME.get(str(form.get("operator", "=")).lower())
    if operator is None:
        raise ExpressionError(
            f"{path}.operator: unknown operator {abbreviate(form['operator'])}; "
            f"the operators are {', '.join(OPERATOR_BY_JSON_NAME)}"
        )
    if operator in NULL_OPERATORS:
        if "value" in form:
            raise ExpressionError(f"{path}.value: {operator} takes no value, remove it")
        values: Any = None
    elif "value" not in form:
        raise ExpressionError(f"{path}: {operator} needs a value")
    elif operator in LIKE_OPERATORS:
        values = (form["value"], form.get("escape"))
    elif (
        isinstance(form["value"], list) and operator in LIST_OPERATORS and set(map(type, form["value"])) <= SCALAR_TYPES
    ):
        values = tuple(form["value"])
    elif isinstance(form["value"], list):
        values = [_read_term(value, f"{path}.value[{i}]", 0) for i, value in enumerate(form["value"])]
    else:
        values = _read_term(form["value"], f"{path}.value", 0)
    if "escape" in form and operator not in LIKE_OPERATORS:
        raise ExpressionError(f"{path}.escape: only LIKE and NOT LIKE take an escape character")
    try:
        return _build_predicate(_read_left(form["attribute"], f"{path}.attribute"), operator, values)
    except ExpressionError as error:
        raise ExpressionError(f"{path}: {error}") from None


def _read_left(form: Any, path: str) -> Term:
    return _read_term(form, path, 0) if isinstance(form, dict) else Name(validate_name(form))


def _build_predicate(left: Term, operator: str, values: Any) -> Expr:
    """Build a predicate. `values` is a term or a list of terms, `(pattern, escape)` for LIKE, or None for IS NULL."""
    if isinstance(values, tuple) and values and operator in LIST_OPERATORS:
        return build_term_predicate(left, operator, values)
    if operator in LIST_OPERATORS or operator in RANGE_OPERATORS or operator in HAS_OPERATORS:
        values = list(values) if isinstance(values, tuple) else values
        if not isinstance(values, list):
            raise ExpressionError(f"{left.text}: {operator} takes a list of constants, not one value")
        if operator in LIST_OPERATORS:
            return build_in(left, operator == "NOT IN", values)
        if operator in RANGE_OPERATORS:
            if len(values) != 2:
                raise ExpressionError(f"{left.text}: {operator} takes two constants, not {len(values)}")
            return build_between(left, operator == "NOT BETWEEN", *values)
        if not isinstance(left, Name) or not all(isinstance(value, Literal) for value in values):
            raise ExpressionError(f"{left.text}: {operator} takes an attribute and a list of constants")
        return build_has(left.name, operator.removeprefix("HAS "), [value.value for value in values])
    if operator in COMPARISON_OPERATORS:
        if not isinstance(values, Term):
            raise ExpressionError(f"{left.text}: {operator} takes one value, not a list")
        return build_comparison(left, operator, values)
    if isinstance(values, Term):
        if not isinstance(values, Literal):
            raise ExpressionError(f"{left.text}: {operator} takes a string, not {values.text}")
        values = values.value
    return build_term_predicate(left, operator, values)


def _read_term(form: Any, path: str, depth: int) -> Term:
    """Read a term: a constant, an attribute, `where`, or a function."""
    if depth > limits.DEPTH_MAX:
        raise LimitError(f"{path[:60]}...: a computation may be nested at most {limits.DEPTH_MAX} deep")
    if isinstance(form, dict) and set(form) == {"attribute"}:
        return Name(validate_name(form["attribute"]))
    if isinstance(form, dict) and "where" in form:
        return _read_any_member(form, path, depth)
    if isinstance(form, dict) and "function" in form:
        function, args = form["function"], form.get("arguments")
        if set(form) != {"function", "arguments"} or not isinstance(function, str) or not isinstance(args, list):
            raise ExpressionError(
                f"{path}: expected a function with a name and a list of arguments, found {abbreviate(form)}"
            )
        terms = [_read_term(arg, f"{path}.arguments[{i}]", depth + 1) for i, arg in enumerate(args)]
        return build_call(function, *terms)
    return Literal(None if form is None else normalize_constant(_read_constant(form, path), path))


def _read_constant(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        try:
            (kind, text), *rest = value.items()
            if not rest and kind == "date":
                return dt.date.fromisoformat(text)
            if not rest and kind == "timestamp":
                return parse_timestamp(text)
        except (ValueError, TypeError):
            pass
        raise ExpressionError(
            f'{path}: expected {{"date": "2026-01-31"}} or {{"timestamp": "2026-01-31 23:59:59"}}, '
            f"found {abbreviate(value)}"
        )
    if isinstance(value, list):
        raise ExpressionError(f"{path}: expected a constant, found a list")
    return value
