"""The parts of a predicate -> Predicate, checked, whatever form they came in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellwhen.errors import ExpressionError, abbreviate
from tellwhen.language import limits
from tellwhen.language.ast import (
    COMPARISONS,
    LIKES,
    LISTS,
    MEMBERSHIPS,
    PRESENCES,
    RANGES,
    TEXTS,
    Expr,
    Has,
    Predicate,
    Truth,
)
from tellwhen.language.like import tokens
from tellwhen.language.literals import name_text
from tellwhen.language.regex import compiled
from tellwhen.language.terms import is_computed
from tellwhen.language.values import constant, family_of, fits_float, fits_int, is_unicode


def predicate(attribute: str, operator: str, operand: Any) -> Predicate:
    """A predicate whose attribute, operator and operand fit together; raises ExpressionError where they do not."""
    if is_computed(attribute):
        shown_name = name_text(attribute)
    else:
        shown_name = name(attribute)
    if operator in COMPARISONS:
        operand = constant(operand, shown_name)
    elif operator in LISTS:
        operand = _constants(shown_name, operator, operand)
    elif operator in MEMBERSHIPS:
        constants = _constants(shown_name, operator, operand)
        if operator == "HAS ALL" and len(constants) > limits.PREDICATES:  # it is one predicate for each
            raise ExpressionError(f"{shown_name}: {operator} takes at most {limits.PREDICATES} constants")
        return Has(attribute, operator, constants)  # type: ignore[arg-type]
    elif operator in RANGES:
        operand = _constants(shown_name, operator, operand)
        if len(operand) != 2:
            raise ExpressionError(f"{shown_name}: {operator} takes two constants, not {len(operand)}")
    elif operator in LIKES:
        operand = _like(shown_name, operator, operand)
    elif operator in TEXTS:
        operand = _text(shown_name, operator, operand)
        if operator == "MATCHES":
            compiled(operand)
    elif operator in PRESENCES:
        operand = None
    else:
        raise ExpressionError(f"{shown_name}: unknown operator {operator!r}")
    return Predicate(attribute, operator, operand)  # type: ignore[arg-type]


def has(attribute: str, word: str, constants: Iterable[Any]) -> Expr:
    """`HAS ANY`, `HAS ALL` or `HAS NONE`. Of an empty list, nothing is had, and all."""
    if isinstance(constants, str) or not isinstance(constants, Iterable):
        raise ExpressionError(f"{attribute}: HAS {word} takes a list of constants")
    operand = tuple(constants)
    return predicate(attribute, f"HAS {word}", operand) if operand else Truth(word != "ANY")


def name(attribute: str) -> str:
    """The name of an attribute; raises ExpressionError when it cannot be one."""
    if not isinstance(attribute, str) or not attribute:
        raise ExpressionError(f"the name of an attribute is a non-empty str, not {abbreviate(attribute)}")
    if len(attribute) > limits.NAME or "\0" in attribute or not is_unicode(attribute):
        raise ExpressionError(f"a name has at most {limits.NAME} characters, no NUL and no lone surrogate")
    return attribute


def _constants(attribute: str, operator: str, operand: Any) -> tuple[Any, ...]:
    if isinstance(operand, str) or not isinstance(operand, Iterable):
        raise ExpressionError(f"{attribute}: {operator} takes a list of constants")
    constants = tuple(constant(value, attribute) for value in operand)
    if not constants:
        raise ExpressionError(f"{attribute}: {operator} takes at least one constant")
    if len(constants) > limits.MEMBERS:
        raise ExpressionError(f"{attribute}: {operator} takes at most {limits.MEMBERS} constants")
    families = {family_of(value) for value in constants}
    if len(families) > 1:
        raise ExpressionError(f"{attribute}: {operator} mixes {' and '.join(sorted(families))} constants")
    if families == {"number"} and not (fits_int(constants) or fits_float(constants)):
        raise ExpressionError(
            f"{attribute}: one {operator} mixes fractions, or numbers beyond 2**62, with integers of 2**52 or more; "
            "write two predicates"
        )
    return constants


def _text(attribute: str, operator: str, operand: Any) -> str:
    value = constant(operand, attribute)
    if not isinstance(value, str):
        raise ExpressionError(f"{attribute}: {operator} takes a string")
    if operator in ("CONTAINS", "MATCHES", *LIKES) and len(value) > limits.PATTERN:
        raise ExpressionError(f"{attribute}: a {operator} pattern has at most {limits.PATTERN} characters")
    return value


def _like(attribute: str, operator: str, operand: Any) -> tuple[str, str | None]:
    pattern, escape = operand if isinstance(operand, tuple) else (operand, None)
    pattern = _text(attribute, operator, pattern)
    if escape is not None:
        escape = _text(attribute, "ESCAPE", escape)
        if len(escape) != 1:
            raise ExpressionError(f"{attribute}: ESCAPE takes one character")
    tokens(pattern, escape)
    return pattern, escape
