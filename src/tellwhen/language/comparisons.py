"""Construction of expressions from terms: constants are folded and moved to the right side.

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

from tellwhen.errors import ExpressionError, abbreviate
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
    """Build a call; if all arguments are constants, return the constant that it computes."""
    if function in COMPARISON_FUNCTIONS:
        raise ExpressionError(f"there is no function {function}: a comparison cannot be part of a computation")
    definition = get_function(function, len(args))
    if function == "date_part":
        _validate_date_part(args[0])
    if function == "cast" and not (isinstance(args[1], Literal) and args[1].value in CAST_TYPES):
        raise ExpressionError(f"there is no type {args[1].text}; the types are {', '.join(CAST_TYPES)}")
    new_call = Call(function, args)
    if definition.is_user_defined or not all([isinstance(arg, Literal) for arg in args]):
        return new_call
    values = compute_values(new_call, {})
    return Literal(normalize_constant(to_python(values[0]), new_call.text) if values else None)


def _validate_date_part(term: Term) -> None:
    part = term.value if isinstance(term, Literal) else None
    if not isinstance(part, str) or part.lower() not in DATE_PARTS:
        raise ExpressionError(
            f"the first argument of date_part must be one of {', '.join(DATE_PARTS)}, in quotes, not {term.text}"
        )


def build_comparison(left: Term, operator: str, right: Term) -> Expr:
    """Build a comparison of two terms, of which any may be constant."""
    if isinstance(right, Literal):
        return build_term_predicate(left, operator, right.value)
    if isinstance(left, Literal):
        return build_term_predicate(right, MIRRORED_OPERATORS[operator], left.value)
    return build_condition(Call(operator, (left, right)))


def build_condition(term: Term) -> Predicate:
    """Build the predicate that a Boolean term is TRUE."""
    return Predicate(get_attribute_name(term), "=", True)


def build_lacks(attribute: str, family: Family | None) -> Predicate:
    """Build the predicate that an attribute has no value of a family. It is never undefined."""
    return build_condition(Call(LACKS, (Name(attribute), Literal(family))))


def build_term_predicate(left: Term, operator: str, operand: Any) -> Expr:
    """Build a predicate on a term with a constant operand. The operand None, NULL, makes it undefined."""
    if operand is None and operator not in ("IS NULL", "IS NOT NULL"):
        return UNDEFINED
    if isinstance(left, Literal):
        return Truth(evaluate_predicate(build_predicate("constant", operator, operand), left.value))
    return build_predicate(get_attribute_name(left), operator, operand)


def build_in(left: Term, is_negated: bool, items: Sequence[Term]) -> Expr:
    """Build `IN` or `NOT IN` of any terms."""
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
    """Build `BETWEEN` or `NOT BETWEEN` of any terms."""
    ends = [end.value if isinstance(end, Literal) else None for end in (low, high)]
    if None not in ends:
        return build_term_predicate(left, "NOT BETWEEN" if is_negated else "BETWEEN", tuple(ends))
    if is_negated:
        return Or.create(build_comparison(left, "<", low), build_comparison(left, ">", high))
    return And.create(build_comparison(left, ">=", low), build_comparison(left, "<=", high))


def build_ilike(left: Term, operator: str, pattern: str, escape: str | None) -> Expr:
    """Build `ILIKE` or `NOT ILIKE`: LIKE or NOT LIKE, as `operator` says, on lower-case text."""
    if escape is not None and (escape.lower() != escape or escape.upper() != escape):
        raise ExpressionError(f"the ESCAPE character of ILIKE must not be a letter, it is {abbreviate(escape)}")
    return build_term_predicate(build_call("lower", left), operator, (pattern.lower(), escape))


def build_in_networks(left: Term, is_negated: bool, networks: Sequence[str]) -> Expr:
    """Build `IN CIDR` or `NOT IN CIDR`: an IP address belongs to one of the networks, or to none."""
    ends = [get_network_ends(text) for text in networks]
    if is_negated and len(ends) > 1:
        # Several NOT BETWEENs would be true for a list in which a different address is outside of each network.
        inside = build_call("in_networks", left, *map(Literal, networks))
        return build_term_predicate(inside, "=", False)
    address, operator = build_call("address", left), "NOT BETWEEN" if is_negated else "BETWEEN"
    return _connect(Or, [build_term_predicate(address, operator, pair) for pair in ends], is_negated)


def get_network_ends(text: Any) -> tuple[str, str]:
    """Return the first and the last address of a network; raise ExpressionError if the text is none."""
    ends = parse_network(text) if isinstance(text, str) else None
    if ends is None:
        raise ExpressionError(f"expected a network of IP addresses such as '10.0.0.0/8', found {abbreviate(text)}")
    return ends


def _connect(connective: type[And] | type[Or], parts: list[Expr], value_if_empty: bool) -> Expr:
    """Connect the parts of IN or NOT IN; without parts, return the constant `value_if_empty`."""
    if len(parts) > 1:
        return connective.create(*parts)
    return parts[0] if parts else Truth(value_if_empty)
