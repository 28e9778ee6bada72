"""Warnings and hints about expressions that are valid and probably not meant.

Most expressions need no closer look, because each of their attributes occurs once. Only the others are compiled, and
the intervals of their predicates compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.kernels.normal_form import MAX_CONJUNCTIONS
from tellwhen.compile.normal_form import find_normal_form
from tellwhen.compile.store import Store
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, NEVER, Snapshot
from tellwhen.language.ast import HAS_OPERATORS, And, Connective, Expr, Not, Or, Predicate, Truth
from tellwhen.language.computation import get_term
from tellwhen.language.formatting import format_predicate
from tellwhen.language.functions import FUNCTIONS
from tellwhen.language.literals import COMPUTED_PREFIX, format_name
from tellwhen.language.schema import Schema, parse_value
from tellwhen.language.terms import Call, Term, is_computed
from tellwhen.language.values import normalize_value

INTERVALS_MAX = 1_000
"""Intervals of the predicates on one attribute that are compared; more are not compared."""

BRANCHES_MAX = 64
"""Branches of an OR that are compared with each other; more are not compared."""

PREDICATE_PAIRS_MAX = 4_096
"""Pairs of predicates in the branches of an OR that are compared; the other pairs count as different."""

HINT_LENGTH = 100
"""Characters of a predicate in a hint."""

ORDERS = frozenset({"<", "<=", ">", ">="})
SATISFIABLE_OPERATORS = frozenset({"=", "IN", *ORDERS, "BETWEEN"})
"""Operators that a value of another type never satisfies; their negations are satisfied by every value."""
UNORDERED = frozenset({"IN", "NOT IN", "HAS ANY", "HAS ALL", "HAS NONE"})
"""Operators that take a list in any order."""

Interval = tuple[int, int]


class Screening(NamedTuple):
    """Result of `screen`: a key for finding equivalent expressions, and the expensive checks that are needed."""

    key: int
    """Equal for equivalent expressions, and rarely equal for others."""
    needs_compiling: bool
    """Whether predicates may contradict each other or make each other redundant."""
    needs_predicate_check: bool
    """Whether a predicate by itself may be wrong."""
    has_negation: bool


def screen(expression: Expr) -> Screening:
    """Look at each predicate of an expression once, and decide which other checks it needs."""
    key, needs_compiling, needs_predicate_check, has_negation = 0, False, False, False
    attributes = set()
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Predicate):
            attribute, operator, operand = part.attribute, part.operator, part.operand
            key += hash((attribute, operator, frozenset(operand) if operator in UNORDERED else operand))
            is_reversed = operator[-7:] == "BETWEEN" and _is_reversed(part)
            needs_compiling = needs_compiling or attribute in attributes or is_reversed
            is_odd = attribute[:1] == COMPUTED_PREFIX or (type(operand) is str and operator in ORDERS)
            needs_predicate_check = needs_predicate_check or is_odd
            attributes.add(attribute)
        elif isinstance(part, Connective):
            key += 7 * len(part.args)
            waiting += part.args
        elif isinstance(part, Not):
            has_negation = True
            waiting.append(part.arg)
        else:
            needs_compiling = True
    return Screening(key, needs_compiling, needs_predicate_check, has_negation)


def check_predicates(expression: Expr) -> Iterator[str]:
    """Yield warnings of predicates that are never true, or compare text where another type is meant."""
    for predicate in expression.predicates():
        if is_computed(predicate.attribute):
            yield from _check_computed(predicate, get_term(predicate.attribute))
        elif isinstance(predicate.operand, str) and predicate.operator in ORDERS:
            text = predicate.operand
            kind = next((kind for kind in ("number", "time") if parse_value(text, kind) is not None), None)
            if kind is not None:
                example = text if kind == "number" else f"DATE '{text[:10]}'"
                yield (
                    f"{format_predicate(predicate)} compares strings in alphabetical order; to compare a {kind}, write "
                    f"{example}"
                )


def _check_computed(predicate: Predicate, term: Term) -> Iterator[str]:
    """Yield a warning if a computed value is never equal to the constants of its predicate."""
    if not isinstance(term, Call) or not predicate.constants or predicate.operator not in SATISFIABLE_OPERATORS:
        return
    constant = predicate.constants[0]
    family = FUNCTIONS[term.function].result_family
    if family is not None and predicate.family is not None and family != predicate.family:
        types = f"{term.text} is a {family}, and {constant!r} a {predicate.family}"
        yield f"{format_predicate(predicate)} is never true: {types}"
    elif term.function in ("lower", "upper") and predicate.operator in ("=", "IN"):
        change_case = str.lower if term.function == "lower" else str.upper
        if all(change_case(one) != one for one in predicate.constants if isinstance(one, str)):
            yield f"{term.text} is never {constant!r}; did you mean {change_case(str(constant))!r}?"


def check_compiled(expressions: list[Expr], schema: Schema) -> list[list[str]]:
    """Compile expressions and return, for each, warnings of contradictions, tautologies and redundant branches."""
    disjunctions = [list(_list_disjunctions(expression)) for expression in expressions]
    predicates = {
        id(predicate): predicate
        for branches_of_expression in disjunctions
        for branches in branches_of_expression
        for branch in branches
        for predicate in branch
    }
    store = Store(schema)
    store.append(store.compile([*expressions, *predicates.values()]))
    compiled = _Compiled(store, {key: slot for slot, key in enumerate(predicates, len(expressions))})
    warnings = []
    for slot, (expression, branches_of_expression) in enumerate(zip(expressions, disjunctions, strict=True)):
        redundant = [reason for branches in branches_of_expression for reason in compiled.find_redundant(branches)]
        constant = compiled.check_always_or_never_true(slot, _list_multivalued(expression))
        warnings.append([*_check_undefined_parts(expression), *constant, *redundant])
    return warnings


def _is_reversed(predicate: Predicate) -> bool:
    """Return whether the constants of a BETWEEN are in descending order."""
    low, high = map(normalize_value, predicate.operand)  # a date and a time of day do not compare
    return low is not None and high is not None and low.key > high.key


def _check_undefined_parts(expression: Expr) -> Iterator[str]:
    """Yield a warning if a part of an expression has no value for any event, as NULL has none."""
    waiting, has_null = [expression], False
    while waiting and not has_null:
        part = waiting.pop()
        if isinstance(part, Connective):
            waiting += part.args
        elif isinstance(part, Not):
            waiting.append(part.arg)
        has_null = isinstance(part, Truth) and part.value is None
    if has_null:
        yield "a part is undefined for every event: NULL, or a computation on constants that has no result"


def _list_multivalued(expression: Expr) -> set[str]:
    """Return the attributes that HAS compares: different values of theirs may satisfy different predicates."""
    return {predicate.attribute for predicate in expression.predicates() if predicate.operator in HAS_OPERATORS}


def _list_disjunctions(expression: Expr) -> Iterator[list[list[Predicate]]]:
    """Yield the branches of every OR that are predicates or conjunctions of predicates."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Not):
            waiting.append(part.arg)
        elif isinstance(part, Connective):
            waiting += part.args
            if isinstance(part, Or) and len(part.args) <= BRANCHES_MAX:
                branches = [list(arg.args) if isinstance(arg, And) else [arg] for arg in part.args]
                yield [branch for branch in branches if all(type(one) is Predicate for one in branch)]  # type: ignore[misc]


class _Compiled:
    """Compiled expressions in a store, with single predicates of theirs as further subscriptions."""

    def __init__(self, store: Store, slot_by_predicate: dict[int, int]) -> None:
        """Take a store, and by the `id()` of a predicate the slot in which that predicate is the whole expression."""
        self._snapshot: Snapshot = store.snapshot()
        self._names = [domain.attribute for domain in store.attributes.domains]
        self._slot_by_predicate = slot_by_predicate
        self._compared_pairs = 0

    def check_always_or_never_true(self, slot: int, multivalued: set[str]) -> Iterator[str]:
        """Yield a warning if an expression is always or never true; nothing is known of `multivalued` attributes."""
        code = self._get_code(slot)
        kind = self._snapshot.subscriptions.kind[slot]
        if kind == NEVER:
            yield "the expression is never true"
        elif kind == CONJUNCTION:
            if not len(code):
                yield "the expression is always true"
            elif (name := self._find_contradiction(code.tolist(), multivalued)) is not None:
                yield f"no single value of {format_name(name)} makes the expression true"
        elif (form := find_normal_form(code, ACCEPT, MAX_CONJUNCTIONS)) is not None:
            ends = np.cumsum(form.lengths)
            conjunctions = np.split(form.predicates, ends)[:-1]  # the last part, after the last end, is empty
            if all(self._find_contradiction(part.tolist(), multivalued) is not None for part in conjunctions):
                yield "the expression can only be true if an attribute has several values (a list)"

    def _get_code(self, slot: int) -> Any:
        subscriptions = self._snapshot.subscriptions
        return subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]

    def _find_contradiction(self, predicates: list[int], multivalued: set[str]) -> str | None:
        """Return an attribute of which no value satisfies all predicates; None if all attributes have such values."""
        if len(predicates) < 2:
            return None
        by_domain = defaultdict(list)
        for number in predicates:
            by_domain[int(self._snapshot.predicates.domain[number])].append(number)
        for domain, numbers in by_domain.items():
            if len(numbers) > 1 and self._names[domain] not in multivalued:
                sets = [self._list_intervals(number) for number in numbers]
                if sum(map(len, sets)) <= INTERVALS_MAX and not _intersect(sets):
                    return self._names[domain]
        return None

    def _list_intervals(self, number: int) -> list[Interval]:
        predicates = self._snapshot.predicates
        begin, end = predicates.start[number], predicates.start[number + 1]
        return list(zip(predicates.low[begin:end].tolist(), predicates.high[begin:end].tolist(), strict=True))

    def find_redundant(self, branches: list[list[Predicate]]) -> Iterator[str]:
        """Yield a warning for each branch of an OR that another branch covers."""
        self._compared_pairs = 0
        for number, branch in enumerate(branches):
            for place, other in enumerate(branches):
                # Of two branches that cover each other, only the second one is redundant.
                is_first_of_equals = place > number and self._covers(branch, other)
                if place != number and not is_first_of_equals and self._covers(other, branch):
                    yield f"{_join_predicates(branch)} can be deleted: {_join_predicates(other)} is true whenever it is"
                    break

    def _covers(self, wide: list[Predicate], narrow: list[Predicate]) -> bool:
        """Return whether the conjunction `wide` is true wherever the conjunction `narrow` is."""
        return all(any(self._implies(one, another) for one in narrow) for another in wide)

    def _implies(self, narrow: Predicate, wide: Predicate) -> bool:
        self._compared_pairs += 1
        if narrow.attribute != wide.attribute or self._compared_pairs > PREDICATE_PAIRS_MAX:
            return False
        if narrow == wide:
            return True
        codes = [self._get_code(self._slot_by_predicate[id(one)]) for one in (narrow, wide)]
        if any(len(code) != 1 for code in codes):
            return False
        (first,), (second,) = codes
        domain = self._snapshot.predicates.domain
        inner, outer = self._list_intervals(first), self._list_intervals(second)
        if domain[first] != domain[second] or len(inner) + len(outer) > INTERVALS_MAX:
            return False
        return _intersect([inner, outer]) == inner


def _join_predicates(branch: list[Predicate]) -> str:
    return " AND ".join(map(format_predicate, branch))


def _intersect(sets: list[list[Interval]]) -> list[Interval]:
    """Return the intersection of sets of intervals, each sorted and disjoint."""
    first, *rest = sets
    for other in rest:
        common, i, j = [], 0, 0
        while i < len(first) and j < len(other):
            low, high = max(first[i][0], other[j][0]), min(first[i][1], other[j][1])
            if low <= high:
                common.append((low, high))
            if first[i][1] < other[j][1]:
                i += 1
            else:
                j += 1
        first = common
    return first


def normalize(expression: Expr) -> Any:
    """Return a value that is equal for expressions that differ only in the order of AND, OR and lists."""
    if isinstance(expression, Predicate):
        operand = expression.operand
        if expression.operator in UNORDERED:
            operand = frozenset((type(one), one) for one in operand)
        kinds = () if expression.operator in UNORDERED else tuple(map(type, expression.constants))
        return expression.attribute, expression.operator, operand, kinds
    if isinstance(expression, Not):
        return "NOT", normalize(expression.arg)
    if isinstance(expression, Connective):
        parts = [normalize(arg) for arg in expression.args]
        return expression.keyword, frozenset(parts) if expression.keyword in ("AND", "OR") else tuple(parts)
    return str(expression)


def find_unguarded_exclusions(expression: Expr) -> Iterator[str]:
    """Yield hints at exclusions, such as NOT x = 1, that are undefined for events without the attribute."""
    waiting: list[tuple[Expr, bool, frozenset[str]]] = [(expression, False, frozenset())]
    while waiting:
        part, is_negated, optional = waiting.pop()
        if isinstance(part, Not):
            waiting.append((part.arg, not is_negated, optional))
        elif isinstance(part, And | Or):
            optional |= _list_optional(part, is_negated)
            waiting += [(arg, is_negated, optional) for arg in reversed(part.args)]
        elif is_negated and type(part) is Predicate and _is_exclusion(part) and part.attribute not in optional:
            exclusion = _shorten(f"NOT {format_predicate(part)}")
            total = _shorten(format_predicate(Predicate(part.attribute, "HAS NONE", part.constants)))
            yield (
                f"{exclusion} is undefined for events without {format_name(part.attribute)}; "
                f"to match these, write {total}"
            )


def _shorten(text: str) -> str:
    return text if len(text) <= HINT_LENGTH else f"{text[: HINT_LENGTH - 5]} ...)"


def _list_optional(joined: And | Or, is_negated: bool) -> set[str]:
    """Return the attributes whose absence is handled, as in `x IS NULL OR NOT ...` or `NOT (x IS NOT NULL AND ...)`."""
    if isinstance(joined, And) != is_negated:
        return set()
    operator = "IS NOT NULL" if is_negated else "IS NULL"
    return {arg.attribute for arg in joined.args if isinstance(arg, Predicate) and arg.operator == operator}


def _is_exclusion(predicate: Predicate) -> bool:
    """Return whether the negated predicate excludes values; for a Boolean it rather means the other value."""
    has_values = predicate.operator in ("IN", "=") and not isinstance(predicate.constants[0], bool)
    return has_values and not is_computed(predicate.attribute)
