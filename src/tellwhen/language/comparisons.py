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
from tellwhen.language.build import predicate
from tellwhen.language.compute import python_value, values_of
from tellwhen.language.evaluate import predicate_value
from tellwhen.language.functions import PARTS, TYPES, check_call, network
from tellwhen.language.terms import LACKS, RELATIONS, Call, Literal, Name, Term, name_of
from tellwhen.language.values import Family, constant

NOT_KNOWN = Truth(None)
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def call(function: str, *args: Term) -> Term:
    """A call, or the constant that it always is."""
    if function in RELATIONS:
        raise ExpressionError(f"there is no function {function}; a comparison is not part of a computation")
    known = check_call(function, len(args))
    if function == "date_part":
        _check_part(args[0])
    if function == "cast" and not (isinstance(args[1], Literal) and args[1].value in TYPES):
        raise ExpressionError(f"there is no type {args[1].text}; there are {', '.join(TYPES)}")
    made = Call(function, args)
    if known.is_own or not all([isinstance(arg, Literal) for arg in args]):
        return made
    values = values_of(made, {})
    return Literal(constant(python_value(values[0]), made.text) if values else None)


def _check_part(given: Term) -> None:
    part = given.value if isinstance(given, Literal) else None
    if not isinstance(part, str) or part.lower() not in PARTS:
        raise ExpressionError(f"date_part takes one of {', '.join(PARTS)} first, in quotes, and then a time")


def compared(left: Term, operator: str, right: Term) -> Expr:
    """A comparison of two terms."""
    if isinstance(right, Literal):
        return tested(left, operator, right.value)
    if isinstance(left, Literal):
        return tested(right, FLIPPED[operator], left.value)
    return holds(Call(operator, (left, right)))


def holds(term: Term) -> Predicate:
    """A term that is TRUE or FALSE itself."""
    return Predicate(name_of(term), "=", True)


def lacks(attribute: str, family: Family | None) -> Predicate:
    """Has an attribute no value of a family? Never undefined."""
    return holds(Call(LACKS, (Name(attribute), Literal(family))))


def tested(left: Term, operator: str, operand: Any) -> Expr:
    """A predicate on a term, whose operand is constant; NULL makes it undefined."""
    if operand is None and operator not in ("IS NULL", "IS NOT NULL"):
        return NOT_KNOWN
    if isinstance(left, Literal):
        return Truth(predicate_value(predicate("constant", operator, operand), left.value))
    return predicate(name_of(left), operator, operand)


def one_of(left: Term, is_negated: bool, items: Sequence[Term]) -> Expr:
    """`IN` and `NOT IN` of any terms."""
    constants = [item.value for item in items if isinstance(item, Literal) and item.value is not None]
    others = [item for item in items if not (isinstance(item, Literal) and item.value is not None)]
    operator, connective = ("<>", And) if is_negated else ("=", Or)
    if isinstance(left, Literal):
        return _joined(connective, [compared(left, operator, item) for item in items], is_negated)
    parts: list[Expr] = [compared(left, operator, item) for item in others]
    if constants:
        parts.insert(0, tested(left, "NOT IN" if is_negated else "IN", tuple(constants)))
    return _joined(connective, parts, is_negated)


def between(left: Term, is_negated: bool, low: Term, high: Term) -> Expr:
    """`BETWEEN` and `NOT BETWEEN` of any terms."""
    ends = [end.value if isinstance(end, Literal) else None for end in (low, high)]
    if None not in ends:
        return tested(left, "NOT BETWEEN" if is_negated else "BETWEEN", tuple(ends))
    if is_negated:
        return Or.of(compared(left, "<", low), compared(left, ">", high))
    return And.of(compared(left, ">=", low), compared(left, "<=", high))


def alike(left: Term, operator: str, pattern: str, escape: str | None) -> Expr:
    """`ILIKE` and `NOT ILIKE`: LIKE without regard to case."""
    if escape is not None and (escape.lower() != escape or escape.upper() != escape):
        raise ExpressionError("the ESCAPE of ILIKE is no letter")
    return tested(call("lower", left), operator, (pattern.lower(), escape))


def in_networks(left: Term, is_negated: bool, texts: Sequence[str]) -> Expr:
    """`IN CIDR` and `NOT IN CIDR`: an address of one of several networks, or of none."""
    ends = [_ends(text) for text in texts]
    if is_negated and len(ends) > 1:  # one and the same address of several must be outside of all
        inside = call("in_networks", left, *map(Literal, texts))
        return tested(inside, "=", False)
    own, operator = call("address", left), "NOT BETWEEN" if is_negated else "BETWEEN"
    return _joined(Or, [tested(own, operator, one) for one in ends], is_negated)


def _ends(text: Any) -> tuple[str, str]:
    found = network(text) if isinstance(text, str) else None
    if found is None:
        raise ExpressionError(f"{text!r} is no network of addresses; an example: '10.0.0.0/8'")
    return found


def _joined(connective: type[And] | type[Or], parts: list[Expr], when_empty: bool) -> Expr:
    """Nothing is IN an empty list, and everything is NOT IN it."""
    if len(parts) > 1:
        return connective.of(*parts)
    return parts[0] if parts else Truth(when_empty)
