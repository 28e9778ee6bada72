"""What does an expression say that is probably not meant?

Most expressions cannot be doubted: each of their attributes occurs once. Only the others are compiled, and looked at
with the intervals of their predicates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from tellwhen.compile.kernels.normal_form import MAX_CONJUNCTIONS
from tellwhen.compile.normal_form import translated
from tellwhen.compile.store import Store
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, NEVER, Snapshot
from tellwhen.language.ast import MEMBERSHIPS, And, Connective, Expr, Not, Or, Predicate, Truth
from tellwhen.language.compute import term_of
from tellwhen.language.format import predicate_text
from tellwhen.language.functions import FUNCTIONS
from tellwhen.language.literals import MARK, name_text
from tellwhen.language.schema import Schema, value_from_text
from tellwhen.language.terms import Call, Term, is_computed
from tellwhen.language.values import reduce

INTERVALS_MAX = 1_000
"""Intervals of the predicates on one attribute that are compared; longer lists are left alone."""

BRANCHES_MAX = 64
"""Branches of an OR that are compared with each other; more are left alone."""

COMPARED_MAX = 4_096
"""Pairs of predicates in the branches of an OR that are compared; the rest are taken for different."""

Interval = tuple[int, int]


class Look(NamedTuple):
    """What a first look at an expression tells, which all of them get."""

    key: int
    """Equal for expressions that say the same, and rarely for others."""
    is_doubted: bool
    """May there be something wrong with what its predicates say together?"""
    is_odd: bool
    """May there be something wrong with a predicate by itself?"""
    has_not: bool


def look(expression: Expr) -> Look:
    """Have a first look."""
    key, is_doubted, is_odd, has_not = 0, False, False, False
    seen = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Predicate):
            attribute, operator, operand = one.attribute, one.operator, one.operand
            is_listed = operator in UNORDERED
            key += hash((attribute, operator, frozenset(operand) if is_listed else operand))
            is_doubted = is_doubted or attribute in seen or (operator[-7:] == "BETWEEN" and _is_reversed(one))
            is_odd = is_odd or attribute[:1] == MARK or (type(operand) is str and operator in ORDERS)
            seen.add(attribute)
        elif isinstance(one, Connective):
            key += 7 * len(one.args)
            waiting += one.args
        elif isinstance(one, Not):
            has_not = True
            waiting.append(one.arg)
        else:
            is_doubted = True
    return Look(key, is_doubted, is_odd, has_not)


ORDERS = frozenset({"<", "<=", ">", ">="})


def odd_predicates(expression: Expr) -> Iterator[str]:
    """Predicates that are never true, or are meant in another way."""
    for one in expression.predicates():
        if is_computed(one.attribute):
            yield from _impossible(one, term_of(one.attribute))
        elif isinstance(one.operand, str) and one.operator in ORDERS:
            kind = next((kind for kind in ("number", "time") if value_from_text(one.operand, kind) is not None), None)
            if kind is not None:
                example = one.operand if kind == "number" else f"DATE '{one.operand[:10]}'"
                yield f"{predicate_text(one)} compares text by the alphabet; for a {kind}, write {example}"


def _impossible(predicate: Predicate, term: Term) -> Iterator[str]:
    """What a computed value never is."""
    if not isinstance(term, Call) or not predicate.constants or predicate.operator not in POSITIVE:
        return
    family = FUNCTIONS[term.function].gives
    if family is not None and predicate.family is not None and family != predicate.family:
        yield f"{term.text} is a {family}, and {predicate.constants[0]!r} a {predicate.family}: it is never true"
    elif term.function in ("lower", "upper") and predicate.operator in ("=", "IN"):
        change = str.lower if term.function == "lower" else str.upper
        if all(change(one) != one for one in predicate.constants if isinstance(one, str)):
            yield f"{term.text} is never {predicate.constants[0]!r}, but may be {change(str(predicate.constants[0]))!r}"


POSITIVE = frozenset({"=", "IN", "<", "<=", ">", ">=", "BETWEEN"})


UNORDERED = frozenset({"IN", "NOT IN", "HAS ANY", "HAS ALL", "HAS NONE"})
"""Operators that take a list in any order."""


def warnings(expressions: list[Expr], schema: Schema) -> list[list[str]]:
    """By expression, all of them doubted: what is wrong with it."""
    branches = [list(_branches(expression)) for expression in expressions]
    alone = {id(one): one for some in branches for group in some for branch in group for one in branch}
    store = Store(schema)
    store.append(store.compile([*expressions, *alone.values()]))
    compiled = _Compiled(store, {key: len(expressions) + place for place, key in enumerate(alone)})
    found = []
    for slot, (expression, groups) in enumerate(zip(expressions, branches, strict=True)):
        covered = [reason for group in groups for reason in compiled.covered(group)]
        found.append([*_truths(expression), *compiled.warnings(slot, _lists(expression)), *covered])
    return found


def _is_reversed(predicate: Predicate) -> bool:
    """Is there nothing between the constants of a BETWEEN?"""
    low, high = map(reduce, predicate.operand)  # a date and a time of day do not compare
    return low is not None and high is not None and low.key > high.key


def _truths(expression: Expr) -> Iterator[str]:
    """A part that no event decides."""
    waiting, is_null = [expression], False
    while waiting and not is_null:
        one = waiting.pop()
        if isinstance(one, Connective):
            waiting += one.args
        elif isinstance(one, Not):
            waiting.append(one.arg)
        is_null = isinstance(one, Truth) and one.value is None
    if is_null:
        yield "a part of it is undefined, whatever the event: NULL, or constants that have no result"


def _lists(expression: Expr) -> set[str]:
    """Attributes that are asked with HAS: they have several values, and what no single one satisfies is meant."""
    return {one.attribute for one in expression.predicates() if one.operator in MEMBERSHIPS}


def _branches(expression: Expr) -> Iterator[list[list[Predicate]]]:
    """The branches of every OR: those that are predicates, or some of them joined by AND."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Not):
            waiting.append(one.arg)
        elif isinstance(one, Connective):
            waiting += one.args
            if isinstance(one, Or) and len(one.args) <= BRANCHES_MAX:
                plain = [list(arg.args) if isinstance(arg, And) else [arg] for arg in one.args]
                yield [branch for branch in plain if all(type(part) is Predicate for part in branch)]  # type: ignore[misc]


class _Compiled:
    """Expressions in a store, and by the identity of a predicate the slot in which it is alone."""

    def __init__(self, store: Store, alone: dict[int, int]) -> None:
        self._snapshot: Snapshot = store.snapshot()
        self._names = [domain.attribute for domain in store.attributes.domains]
        self._alone = alone
        self._compared = 0

    def warnings(self, slot: int, lists: set[str]) -> Iterator[str]:
        """Is it always true, or never? Of the attributes that are `lists`, nothing can be said."""
        subscriptions = self._snapshot.subscriptions
        code = self._code(slot)
        kind = subscriptions.kind[slot]
        if kind == NEVER:
            yield "it is never true"
        elif kind == CONJUNCTION:
            if not len(code):
                yield "it is always true"
            elif (name := self._contradiction(code.tolist(), lists)) is not None:
                yield f"no single value of {name_text(name)} makes it true"
        else:
            form = translated(code, ACCEPT, MAX_CONJUNCTIONS)
            if form is not None:
                parts, at = [], 0
                for length in form.lengths.tolist():
                    parts.append(form.predicates[at : at + length].tolist())
                    at += length
                if all(self._contradiction(part, lists) is not None for part in parts):
                    yield "no single values make it true"

    def _code(self, slot: int) -> Any:
        subscriptions = self._snapshot.subscriptions
        return subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]

    def _contradiction(self, predicates: list[int], lists: set[str]) -> str | None:
        """An attribute of which no value satisfies all predicates."""
        if len(predicates) < 2:
            return None
        by_domain = defaultdict(list)
        for number in predicates:
            by_domain[int(self._snapshot.predicates.domain[number])].append(number)
        for domain, mine in by_domain.items():
            if len(mine) > 1 and self._names[domain] not in lists:
                sets = [self._intervals(number) for number in mine]
                if sum(map(len, sets)) <= INTERVALS_MAX and not _intersected(sets):
                    return self._names[domain]
        return None

    def _intervals(self, number: int) -> list[Interval]:
        known = self._snapshot.predicates
        begin, end = known.start[number], known.start[number + 1]
        return list(zip(known.low[begin:end].tolist(), known.high[begin:end].tolist(), strict=True))

    def covered(self, branches: list[list[Predicate]]) -> Iterator[str]:
        """Branches that say nothing which another one does not say."""
        self._compared = 0
        for number, branch in enumerate(branches):
            for place, other in enumerate(branches):
                # Of two that cover each other, the second is one too many.
                is_first = place > number and self._covers(branch, other)
                if place != number and not is_first and self._covers(other, branch):
                    yield f"{_text(branch)} adds nothing, since {_text(other)} covers it"
                    break

    def _covers(self, wide: list[Predicate], narrow: list[Predicate]) -> bool:
        """Is the one true wherever the other is?"""
        return all(any(self._implies(one, another) for one in narrow) for another in wide)

    def _implies(self, narrow: Predicate, wide: Predicate) -> bool:
        self._compared += 1
        if narrow.attribute != wide.attribute or self._compared > COMPARED_MAX:
            return False
        if narrow == wide:
            return True
        codes = [self._code(self._alone[id(one)]) for one in (narrow, wide)]
        if any(len(code) != 1 for code in codes):
            return False
        (first,), (second,) = codes
        domain = self._snapshot.predicates.domain
        inner, outer = self._intervals(first), self._intervals(second)
        if domain[first] != domain[second] or len(inner) + len(outer) > INTERVALS_MAX:
            return False
        return _intersected([inner, outer]) == inner


def _text(branch: list[Predicate]) -> str:
    return " AND ".join(map(predicate_text, branch))


def _intersected(sets: list[list[Interval]]) -> list[Interval]:
    """The intervals in which all of them are; each is sorted and disjoint."""
    first, *rest = sets
    for other in rest:
        found, i, j = [], 0, 0
        while i < len(first) and j < len(other):
            low, high = max(first[i][0], other[j][0]), min(first[i][1], other[j][1])
            if low <= high:
                found.append((low, high))
            if first[i][1] < other[j][1]:
                i += 1
            else:
                j += 1
        first = found
    return first


def canonical(expression: Expr) -> Any:
    """Equal for expressions that differ in the order of what is joined by AND or OR, or of lists."""
    if isinstance(expression, Predicate):
        operand = expression.operand
        if expression.operator in UNORDERED:
            operand = frozenset((type(one), one) for one in operand)
        kinds = () if expression.operator in UNORDERED else tuple(map(type, expression.constants))
        return expression.attribute, expression.operator, operand, kinds
    if isinstance(expression, Not):
        return "NOT", canonical(expression.arg)
    if isinstance(expression, Connective):
        parts = [canonical(arg) for arg in expression.args]
        return expression.keyword, frozenset(parts) if expression.keyword in ("AND", "OR") else tuple(parts)
    return str(expression)


def hints(expression: Expr) -> Iterator[str]:
    """Exclusions that events without the attribute do not pass."""
    waiting: list[tuple[Expr, bool, frozenset[str]]] = [(expression, False, frozenset())]
    while waiting:
        one, is_negated, guarded = waiting.pop()
        if isinstance(one, Not):
            waiting.append((one.arg, not is_negated, guarded))
        elif isinstance(one, And | Or):
            guarded |= _guarded(one, is_negated)
            waiting += [(arg, is_negated, guarded) for arg in reversed(one.args)]
        elif is_negated and type(one) is Predicate and _is_exclusion(one) and one.attribute not in guarded:
            none = predicate_text(Predicate(one.attribute, "HAS NONE", one.constants))
            said = _cut(f"NOT {predicate_text(one)}"), name_text(one.attribute), _cut(none)
            yield "{} is undefined without {}; {} is true then".format(*said)


HINT_LENGTH = 100


def _cut(text: str) -> str:
    return text if len(text) <= HINT_LENGTH else f"{text[: HINT_LENGTH - 5]} ...)"


def _guarded(joined: And | Or, is_negated: bool) -> set[str]:
    """Attributes that may be missing all the same: x IS NULL OR NOT ..., or NOT (x IS NOT NULL AND ...)."""
    if isinstance(joined, And) != is_negated:
        return set()
    asked = "IS NOT NULL" if is_negated else "IS NULL"
    return {arg.attribute for arg in joined.args if isinstance(arg, Predicate) and arg.operator == asked}


def _is_exclusion(predicate: Predicate) -> bool:
    """Is it what is excluded, if it is negated? A Boolean is no list."""
    is_listed = predicate.operator in ("IN", "=") and not isinstance(predicate.constants[0], bool)
    return is_listed and not is_computed(predicate.attribute)
