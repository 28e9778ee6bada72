"""What is wrong with these subscriptions, and what is probably not meant? Without adding them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal, NamedTuple

from tellwhen.compile.store import COMPILE_BATCH
from tellwhen.errors import ArgumentError, DuplicateId, TellwhenError, abbreviate, pluralize
from tellwhen.index import Index
from tellwhen.index.subscriptions import ParsedSubscription, Rejected, iter_subscriptions, parse_subscription
from tellwhen.inspect.lint import canonical, hints, look, odd_predicates, warnings
from tellwhen.inspect.spelling import find_doubtful_names, list_event_attributes
from tellwhen.language.ast import Expr
from tellwhen.language.parser import parse_stored
from tellwhen.language.schema import Schema

SHOWN = 20

COMPARED_MAX = 16
"""Expressions that look alike and are compared."""

SINGLE_MAX, NAMES_MAX = 200, 5_000
"""Attributes that only one asks for, and all of them, up to which their spelling is compared."""


class Finding(NamedTuple):
    """One thing about one subscription."""

    kind: Literal["error", "warning", "hint"]
    id: Any
    expression: str | None
    position: int | None
    reason: str

    @classmethod
    def error(cls, faulty: Rejected) -> Finding:
        """A row that is no subscription."""
        return cls("error", faulty.id, faulty.expression, faulty.position, faulty.reason)

    @property
    def called(self) -> str:
        """Which subscription it is, and where in it; what could not be read has no id."""
        where = "" if self.position is None else f", position {self.position}"
        return f"{abbreviate(self.expression) if self.id is None else repr(self.id)}{where}"


class Report(NamedTuple):
    """What `validate` returns; print it."""

    subscriptions: int
    findings: list[Finding]

    def of(self, kind: str) -> list[Finding]:
        """The errors, the warnings or the hints."""
        return [finding for finding in self.findings if finding.kind == kind]

    def __str__(self) -> str:
        counts = ", ".join(pluralize(len(self.of(kind)), kind) for kind in ("error", "warning", "hint"))
        lines = [f"{one.kind}: {one.called}: {one.reason}" for one in self.findings[:SHOWN]]
        rest = len(self.findings) - SHOWN
        more = [f"... and {rest:,} more: findings has all, and on the command line --json"] if rest > 0 else []
        return "\n".join([f"{pluralize(self.subscriptions, 'subscription')}: {counts}", *lines, *more])


def validate(
    subscriptions: Any,
    schema: Any = None,
    *,
    lint: bool = True,
    against: Index | None = None,
    attributes: Iterable[str] = (),
) -> Report:
    """Check subscriptions, in any form that `add_many` takes: every faulty one with the position and the reason.

    With `lint` it also warns of those that are always or never true of single values, that are undefined whatever the
    event, that have branches which another one covers, or that say the same as another one; and it hints at exclusions
    that leave out events without the attribute, and at names that are probably misspelt. `against` is an index that
    they are to be added to: those that say the same as one in it are told, too, which takes as long as parsing all of
    it. `attributes` are names that events have, beside those that subscriptions ask for.

    >>> import tellwhen as tw
    >>> print(tw.validate({"a": "x > 5 AND x < 3", "b": "x >", "c": "NOT tag IN ('t')", "d": "NOT tag IN ('t')"}))
    4 subscriptions: 1 error, 2 warnings, 2 hints
    error: 'b', position 3: expected a constant or an attribute, found the end of the text
    warning: 'a': no single value of x makes it true
    hint: 'c': NOT tag IN ('t') is undefined without tag; tag HAS NONE ('t') is true then
    warning: 'd': it says the same as 'c'
    hint: 'd': NOT tag IN ('t') is undefined without tag; tag HAS NONE ('t') is true then
    """
    if against is not None and not isinstance(against, Index):
        raise ArgumentError(f"against is an Index, not {abbreviate(against)}")
    types = against.schema if schema is None and against is not None else Schema.of(schema)
    rows, count = iter_subscriptions(subscriptions), 0
    findings: list[Finding] = []
    seen: set[Any] = set()
    known, names = (
        _Known(),
        _Names((*attributes, *types.types, *(() if against is None else against.inspect.get_attributes()))),
    )
    if against is not None and lint:
        for id_, text in against.iter_texts():
            known.add(id_, text, look(parse_stored(text)).key)
    while block := list(islice(rows, COMPILE_BATCH)):
        count += len(block)
        good: list[ParsedSubscription] = []
        for row in block:
            try:
                parsed = parse_subscription(row, types)
                if parsed.id in seen:
                    raise DuplicateId("another subscription has this id")
                seen.add(parsed.id)
                good.append(parsed)
            except TellwhenError as error:
                findings.append(Finding.error(Rejected.from_row(row, error)))
        if lint:
            findings += _linted(good, known, types)
            names.add(good)
    return Report(count, findings + names.findings())


class _Known:
    """The expressions so far, by what a first look tells of them."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[tuple[Any, str]]] = {}

    def add(self, id_: Any, text: str, key: int) -> None:
        self._by_key.setdefault(key, []).append((id_, text))

    def same(self, id_: Any, expression: Expr, key: int) -> Any:
        """The first other id whose expression says the same; None if there is none."""
        others = [(other, text) for other, text in self._by_key.get(key, ()) if other != id_][:COMPARED_MAX]
        said = canonical(expression) if others else None
        return next((other for other, text in others if canonical(parse_stored(text)) == said), None)


class _Names:
    """Which attributes are asked for only once?"""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = dict.fromkeys(known)  # in their order, as everywhere here: the same is told every time
        self._by_name: dict[str, tuple[Any, str] | None] = {}  # the only one that asks for it; None if there are more

    def add(self, good: list[ParsedSubscription]) -> None:
        for subscription in good:
            for name in list_event_attributes(subscription.expression):
                self._by_name[name] = None if name in self._by_name else (subscription.id, subscription.text)

    def findings(self) -> list[Finding]:
        """Hints at names that nobody else has, unless there are so many that this is how they are."""
        single = {name: one for name, one in self._by_name.items() if one is not None and name not in self._known}
        if len(single) > SINGLE_MAX or len(self._by_name) > NAMES_MAX:
            return []
        known = dict.fromkeys(name for name in (*self._known, *self._by_name) if name not in single)
        found = []
        for id_, text in dict.fromkeys(single.values()):
            expression = parse_stored(text)
            doubtful = dict(find_doubtful_names(expression, known))
            found += [Finding("hint", id_, text, None, reason) for reason in doubtful.values()]
            known.update(dict.fromkeys(name for name in list_event_attributes(expression) if name not in doubtful))
        return found


def _linted(good: list[ParsedSubscription], known: _Known, schema: Schema) -> list[Finding]:
    findings = []
    looks = [look(subscription.expression) for subscription in good]
    doubted = [number for number, first in enumerate(looks) if first.is_doubted]
    warned = dict(zip(doubted, warnings([good[number].expression for number in doubted], schema), strict=True))
    for number, (subscription, first) in enumerate(zip(good, looks, strict=True)):
        id_, expression, text = subscription.id, subscription.expression, subscription.text
        reasons = [*(odd_predicates(expression) if first.is_odd else ()), *warned.get(number, ())]
        other = known.same(id_, expression, first.key)
        if other is None:
            known.add(id_, text, first.key)
        else:
            reasons.append(f"it says the same as {other!r}")
        findings += [Finding("warning", id_, text, None, reason) for reason in reasons]
        if first.has_not:
            findings += [Finding("hint", id_, text, None, reason) for reason in hints(expression)]
    return findings
