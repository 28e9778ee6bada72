"""Two terms and an operator between them -> Expr: constants are folded, and go to the right where one is left.

15 > a              a < 15
a > 2 + 3           a > 5
1 = 1               TRUE
a = NULL            NULL, which is undefined
5 IN (a, b)         a = 5 OR b = 5
a IN (1, b)         a IN (1) OR a = b
a + 1 < b           the computed attribute `a + 1 < b` is TRUE
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellwhen.errors import ExpressionError
from tellwhen.language.ast import And, Expr, Or, Predicate, Truth
from tellwhen.language.computation import compute_values, to_python
from tellwhen.language.evaluation import evaluate_predicate
from tellwhen.language.functions import CAST_TYPES, DATE_PARTS, get_function, parse_network
from tellwhen.language.predicates import build_predicate
from tellwhen.language.terms import COMPARISON_FUNCTIONS, LACKS, Call, Literal, Name, Term, get_attribute_name
from tellwhen.language.values import Family, normalize_constant

UNDEFINED = Truth(None)
MIRRORED_OPERATORS = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def build_call(function: str, *args: Term) -> Term:
    """A call, or the constant that it always is."""
    if function in COMPARISON_FUNCTIONS:
        raise ExpressionError(f"there is no function {function}; a comparison is not part of a computation")
    known = get_function(function, len(args))
    if function == "date_part":
        _validate_date_part(args[0])
    if function == "cast" and not (isinstance(args[1], Literal) and args[1].value in CAST_TYPES):
        raise ExpressionError(f"there is no type {args[1].text}; there are {', '.join(CAST_TYPES)}")
    made = Call(function, args)
    if known.is_user_defined or not all([isinstance(arg, Literal) for arg in args]):
        return made
    values = compute_values(made, {})
    return Literal(normalize_constant(to_python(values[0]), made.text) if values else None)


def _validate_date_part(given: Term) -> None:
    part = given.value if isinstance(given, Literal) else None
    if not isinstance(part, str) or part.lower() not in DATE_PARTS:
        raise ExpressionError(f"date_part takes one of {', '.join(DATE_PARTS)} first, in quotes, and then a time")


def build_comparison(left: Term, operator: str, right: Term) -> Expr:
    """A comparison of two terms."""
    if isinstance(right, Literal):
        return build_term_predicate(left, operator, right.value)
    if isinstance(left, Literal):
        return build_term_predicate(right, MIRRORED_OPERATORS[operator], left.value)
    return build_condition(Call(operator, (left, right)))


def build_condition(term: Term) -> Predicate:
    """A term that is TRUE or FALSE itself."""
    return Predicate(get_attribute_name(term), "=", True)


def build_lacks(attribute: str, family: Family | None) -> Predicate:
    """Has an attribute no value of a family? Never undefined."""
    return build_condition(Call(LACKS, (Name(attribute), Literal(family))))


def build_term_predicate(left: Term, operator: str, operand: Any) -> Expr:
    """A predicate on a term, whose operand is constant; NULL makes it undefined."""
    if operand is None and operator not in ("IS NULL", "IS NOT NULL"):
        return UNDEFINED
    if isinstance(left, Literal):
        return Truth(evaluate_predicate(build_predicate("constant", operator, operand), left.value))
    return build_predicate(get_attribute_name(left), operator, operand)


def build_in(left: Term, is_negated: bool, items: Sequence[Term]) -> Expr:
    """`IN` and `NOT IN` of any terms."""
    constants = [item.value for item in items if isinstance(item, Literal) and item.value is not None]
    others = [item for item in items if not (isinstance(item, Literal) and item.value is not None)]
    operator, connective = ("<>", And) if is_negated else ("=", Or)
    if isinstance(left, Literal):
        return _connect(connective, [build_comparison(left, operator, item) for item in items], is_negated)
    parts: list[Expr] = [build_comparison(left, operator, item) for item in others]
    if constants:
        parts.insert(0, build_term_predicate(left, "NOT IN" if is_negated else "IN", tuple(constants)))
    return _connect(connective, parts, is_negated)


def build_between(left: Term, is_negated: bool, low: Term, high: Term) -> Expr:
    """`BETWEEN` and `NOT BETWEEN` of any terms."""
    ends = [end.value if isinstance(end, Literal) else None for end in (low, high)]
    if None not in ends:
        return build_term_predicate(left, "NOT BETWEEN" if is_negated else "BETWEEN", tuple(ends))
    if is_negated:
        return Or.create(build_comparison(left, "<", low), build_comparison(left, ">", high))
    return And.create(build_comparison(left, ">=", low), build_comparison(left, "<=", high))


def build_ilike(left: Term, operator: str, pattern: str, escape: str | None) -> Expr:
    """`ILIKE` and `NOT ILIKE`: LIKE without regard to case."""
    if escape is not None and (escape.lower() != escape or escape.upper() != escape):
        raise ExpressionError("the ESCAPE of ILIKE is no letter")
    return build_term_predicate(build_call("lower", left), operator, (pattern.lower(), escape))


def build_in_networks(left: Term, is_negated: bool, texts: Sequence[str]) -> Expr:
    """`IN CIDR` and `NOT IN CIDR`: an address of one of several networks, or of none."""
    ends = [_parse_network(text) for text in texts]
    if is_negated and len(ends) > 1:  # one and the same address of several must be outside of all
        inside = build_call("in_networks", left, *map(Literal, texts))
        return build_term_predicate(inside, "=", False)
    own, operator = build_call("address", left), "NOT BETWEEN" if is_negated else "BETWEEN"
    return _connect(Or, [build_term_predicate(own, operator, one) for one in ends], is_negated)


def _parse_network(text: Any) -> tuple[str, str]:
    found = parse_network(text) if isinstance(text, str) else None
    if found is None:
        raise ExpressionError(f"{text!r} is no network of addresses; an example: '10.0.0.0/8'")
    return found


def _connect(connective: type[And] | type[Or], parts: list[Expr], when_empty: bool) -> Expr:
    """Nothing is IN an empty list, and everything is NOT IN it."""
    if len(parts) > 1:
        return connective.create(*parts)
    return parts[0] if parts else Truth(when_empty)
