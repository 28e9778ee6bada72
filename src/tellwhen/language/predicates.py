"""Validated construction of predicates from an attribute, an operator and an operand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellwhen.errors import ExpressionError, abbreviate
from tellwhen.language import limits
from tellwhen.language.ast import (
    COMPARISON_OPERATORS,
    HAS_OPERATORS,
    LIKE_OPERATORS,
    LIST_OPERATORS,
    NULL_OPERATORS,
    OPERATORS,
    RANGE_OPERATORS,
    TEXT_OPERATORS,
    Expr,
    Has,
    Predicate,
    Truth,
)
from tellwhen.language.like_patterns import parse_pattern
from tellwhen.language.literals import format_name
from tellwhen.language.regex import compile_pattern
from tellwhen.language.terms import is_computed
from tellwhen.language.values import can_be_float, can_be_int, get_family, is_unicode, normalize_constant


def build_predicate(attribute: str, operator: str, operand: Any) -> Predicate:
    """Build a predicate; raise ExpressionError if attribute, operator and operand do not fit together."""
    label = format_name(attribute) if is_computed(attribute) else validate_name(attribute)
    if operator in COMPARISON_OPERATORS:
        operand = normalize_constant(operand, label)
    elif operator in LIST_OPERATORS:
        operand = _validate_constants(label, operator, operand)
    elif operator in HAS_OPERATORS:
        constants = _validate_constants(label, operator, operand)
        if operator == "HAS ALL" and len(constants) > limits.PREDICATES_MAX:  # compiled to one predicate per constant
            raise ExpressionError(
                f"{label}: {operator} takes at most {limits.PREDICATES_MAX} constants, not {len(constants)}"
            )
        return Has(attribute, operator, constants)  # type: ignore[arg-type]
    elif operator in RANGE_OPERATORS:
        operand = _validate_constants(label, operator, operand)
        if len(operand) != 2:
            raise ExpressionError(f"{label}: {operator} takes two constants, not {len(operand)}")
    elif operator in LIKE_OPERATORS:
        operand = _validate_like(label, operator, operand)
    elif operator in TEXT_OPERATORS:
        operand = _validate_text(label, operator, operand)
        if operator == "MATCHES":
            compile_pattern(operand)
    elif operator in NULL_OPERATORS:
        operand = None
    else:
        raise ExpressionError(
            f"{label}: unknown operator {abbreviate(operator)}; the operators are {', '.join(OPERATORS)}"
        )
    return Predicate(attribute, operator, operand)  # type: ignore[arg-type]


def build_has(attribute: str, quantifier: str, constants: Iterable[Any]) -> Expr:
    """Build `HAS ANY`, `HAS ALL` or `HAS NONE`; `quantifier` is the second word.

    With no constants, HAS ANY is FALSE, and HAS ALL and HAS NONE are TRUE.
    """
    if isinstance(constants, str) or not isinstance(constants, Iterable):
        raise ExpressionError(f"{attribute}: HAS {quantifier} takes a list of constants, not {abbreviate(constants)}")
    operand = tuple(constants)
    return build_predicate(attribute, f"HAS {quantifier}", operand) if operand else Truth(quantifier != "ANY")


def validate_name(attribute: str) -> str:
    """Return the name of an attribute; raise ExpressionError if it cannot be one."""
    if not isinstance(attribute, str) or not attribute:
        raise ExpressionError(f"the name of an attribute must be a non-empty str, not {abbreviate(attribute)}")
    if len(attribute) > limits.NAME_CHARACTERS_MAX or "\0" in attribute or not is_unicode(attribute):
        raise ExpressionError(
            f"the name of an attribute may have at most {limits.NAME_CHARACTERS_MAX} characters, and no NUL "
            f"or lone surrogate; this one is {abbreviate(attribute)}"
        )
    return attribute


def _validate_constants(attribute: str, operator: str, operand: Any) -> tuple[Any, ...]:
    if isinstance(operand, str) or not isinstance(operand, Iterable):
        raise ExpressionError(f"{attribute}: {operator} takes a list of constants, not {abbreviate(operand)}")
    constants = tuple(normalize_constant(value, attribute) for value in operand)
    if not constants:
        raise ExpressionError(f"{attribute}: {operator} takes at least one constant")
    if len(constants) > limits.LIST_CONSTANTS_MAX:
        raise ExpressionError(
            f"{attribute}: {operator} takes at most {limits.LIST_CONSTANTS_MAX} constants, not {len(constants)}"
        )
    families = {get_family(value) for value in constants}
    if len(families) > 1:
        raise ExpressionError(
            f"{attribute}: {operator} takes constants of one type, "
            f"but there are {' and '.join(sorted(families))} constants"
        )
    if families == {"number"} and not (can_be_int(constants) or can_be_float(constants)):
        raise ExpressionError(
            f"{attribute}: {operator} cannot mix fractions, or numbers beyond 2**62, with integers of 2**52 or more; "
            "write two predicates"
        )
    return constants


def _validate_text(attribute: str, operator: str, operand: Any) -> str:
    value = normalize_constant(operand, attribute)
    if not isinstance(value, str):
        raise ExpressionError(f"{attribute}: {operator} takes a string, not {abbreviate(value)}")
    if operator in ("CONTAINS", "MATCHES", *LIKE_OPERATORS) and len(value) > limits.PATTERN_CHARACTERS_MAX:
        raise ExpressionError(
            f"{attribute}: a {operator} pattern may have at most {limits.PATTERN_CHARACTERS_MAX} characters, "
            f"this one has {len(value)}"
        )
    return value


def _validate_like(attribute: str, operator: str, operand: Any) -> tuple[str, str | None]:
    pattern, escape = operand if isinstance(operand, tuple) else (operand, None)
    pattern = _validate_text(attribute, operator, pattern)
    if escape is not None:
        escape = _validate_text(attribute, "ESCAPE", escape)
        if len(escape) != 1:
            raise ExpressionError(f"{attribute}: ESCAPE takes one character, not {abbreviate(escape)}")
    parse_pattern(pattern, escape)
    return pattern, escape
