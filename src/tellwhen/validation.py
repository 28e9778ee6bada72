"""What is wrong with these subscriptions, and what is probably not meant? Without an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

from tellwhen.compile.normal_form import translated
from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.errors import TellwhenError
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, NEVER, Snapshot
from tellwhen.kernels.normal_form import MAX_CONJUNCTIONS
from tellwhen.lang.ast import And, Connective, Expr, Not, Or, Predicate
from tellwhen.lang.format import predicate_text
from tellwhen.lang.literals import name_text
from tellwhen.lang.terms import is_computed
from tellwhen.schema import Schema
from tellwhen.subscriptions import Rejected, as_subscription, read_subscription, rows_of

INTERVALS_MAX = 1_000
"""Intervals of the predicates on one attribute that are intersected; longer lists are left alone."""

SHOWN = 20


class Finding(NamedTuple):
    """One thing about one subscription."""

    kind: Literal["error", "warning", "hint"]
    id: Any
    expression: str | None
    position: int | None
    reason: str


class Report(NamedTuple):
    """What `validate` returns; print it."""

    subscriptions: int
    findings: list[Finding]

    def of(self, kind: str) -> list[Finding]:
        """The errors, the warnings or the hints."""
        return [finding for finding in self.findings if finding.kind == kind]

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(kind)):,} {kind}s" for kind in ("error", "warning", "hint"))
        lines = [f"{one.kind}: {one.id!r}: {one.reason}" for one in self.findings[:SHOWN]]
        more = [f"... and {len(self.findings) - SHOWN:,} more"] if len(self.findings) > SHOWN else []
        return "\n".join([f"{self.subscriptions:,} subscriptions: {counts}", *lines, *more])


def validate(subscriptions: Any, schema: Any = None, *, lint: bool = True) -> Report:
    """Check subscriptions, in any form that `add_many` takes: every faulty one with the position and the reason.

    With `lint` it also warns of those that are always or never true of single values, and of those that say the same
    as another one; and it hints at exclusions that leave out events without the attribute.

    >>> import tellwhen as tw
    >>> print(tw.validate({"a": "x > 5 AND x < 3", "b": "x >", "c": "NOT tag IN ('t')", "d": "NOT tag IN ('t')"}))
    4 subscriptions: 1 errors, 2 warnings, 2 hints
    error: 'b': expected a constant or an attribute, found the end of the text
    warning: 'a': no single value of x makes it true
    hint: 'c': NOT tag IN ('t') is undefined without tag; tag HAS NONE ('t') is true then
    warning: 'd': it says the same as 'c'
    hint: 'd': NOT tag IN ('t') is undefined without tag; tag HAS NONE ('t') is true then
    """
    types = Schema.of(schema)
    rows, count = rows_of(subscriptions), 0
    findings: list[Finding] = []
    seen: set[Any] = set()
    same: dict[Any, Any] = {}  # by what an expression says: the first id that says it
    while block := list(islice(rows, COMPILE_BATCH)):
        count += len(block)
        good: list[tuple[Any, Expr, str]] = []
        for row in block:
            try:
                id_, given, worth, _ = as_subscription(row)
                expression, text = read_subscription(id_, given, types, worth)
                if id_ in seen:
                    raise TellwhenError("another subscription has this id")
                seen.add(id_)
                good.append((id_, expression, text))
            except TellwhenError as error:
                findings.append(Finding("error", *Rejected.of(row, error)))
        if lint:
            findings += _linted(good, same, types)
    return Report(count, findings)


def _linted(good: list[tuple[Any, Expr, str]], same: dict[Any, Any], schema: Schema) -> Iterator[Finding]:
    store = Store(schema)
    store.append(store.compile(expression for _, expression, _ in good))
    snapshot = store.snapshot()
    names = [domain.attribute for domain in store.attributes.domains]
    for slot, (id_, expression, text) in enumerate(good):
        for reason in _warnings(snapshot, slot, names):
            yield Finding("warning", id_, text, None, reason)
        key = _canonical(expression)
        first = same.setdefault(key, id_)
        if first is not id_:
            yield Finding("warning", id_, text, None, f"it says the same as {first!r}")
        for reason in _hints(expression):
            yield Finding("hint", id_, text, None, reason)


def _warnings(snapshot: Snapshot, slot: int, names: list[str]) -> Iterator[str]:
    subscriptions = snapshot.subscriptions
    code = subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]
    kind = subscriptions.kind[slot]
    if kind == NEVER:
        yield "it is never true"
    elif kind == CONJUNCTION:
        if not len(code):
            yield "it is always true"
        elif (name := _contradiction(snapshot, code.tolist(), names)) is not None:
            yield f"no single value of {name_text(name)} makes it true"
    else:
        form = translated(code, ACCEPT, MAX_CONJUNCTIONS)
        if form is not None:
            parts, at = [], 0
            for length in form.lengths.tolist():
                parts.append(form.predicates[at : at + length].tolist())
                at += length
            if all(_contradiction(snapshot, part, names) is not None for part in parts):
                yield "no single values make it true"


def _contradiction(snapshot: Snapshot, predicates: list[int], names: list[str]) -> str | None:
    """An attribute of which no value satisfies all predicates."""
    if len(predicates) < 2:
        return None
    known = snapshot.predicates
    by_domain = defaultdict(list)
    for number in predicates:
        by_domain[int(known.domain[number])].append(number)
    for domain, mine in by_domain.items():
        if len(mine) > 1:
            sets = [
                list(zip(known.low[begin:end].tolist(), known.high[begin:end].tolist(), strict=True))
                for number in mine
                for begin, end in [(known.start[number], known.start[number + 1])]
            ]
            if sum(map(len, sets)) <= INTERVALS_MAX and not _intersected(sets):
                return names[domain]
    return None


def _intersected(sets: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    first, *rest = sets
    for other in rest:
        first = [(max(low, a), min(high, b)) for low, high in first for a, b in other if max(low, a) <= min(high, b)]
    return first


def _canonical(expression: Expr) -> Any:
    """Equal for expressions that differ in the order of what is joined by AND or OR, or of lists."""
    if isinstance(expression, Predicate):
        operand = expression.operand
        if expression.operator.endswith("IN") or expression.operator.startswith("HAS"):
            operand = frozenset((type(one), one) for one in operand)
        return expression.attribute, expression.operator, operand, type(operand)
    if isinstance(expression, Not):
        return "NOT", _canonical(expression.arg)
    if isinstance(expression, Connective):
        parts = [_canonical(arg) for arg in expression.args]
        return expression.keyword, frozenset(parts) if expression.keyword in ("AND", "OR") else tuple(parts)
    return str(expression)


def _hints(expression: Expr) -> Iterator[str]:
    """Exclusions that events without the attribute do not pass."""
    waiting = [(expression, False)]
    while waiting:
        one, is_negated = waiting.pop()
        if isinstance(one, Not):
            waiting.append((one.arg, not is_negated))
        elif isinstance(one, And | Or):
            waiting += [(arg, is_negated) for arg in reversed(one.args)]
        elif is_negated and type(one) is Predicate and _is_exclusion(one):
            none = predicate_text(Predicate(one.attribute, "HAS NONE", one.constants))
            yield f"NOT {predicate_text(one)} is undefined without {name_text(one.attribute)}; {none} is true then"


def _is_exclusion(predicate: Predicate) -> bool:
    """Is it what is excluded, if it is negated? A Boolean is no list."""
    is_listed = predicate.operator in ("IN", "=") and not isinstance(predicate.constants[0], bool)
    return is_listed and not is_computed(predicate.attribute)
