"""Validation of subscriptions without adding them: errors, warnings and hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from tellwhen.compile.store import COMPILE_BATCH
from tellwhen.deprecation import alias_method, rename_parameters
from tellwhen.errors import ArgumentError, DuplicateId, TellwhenError, abbreviate, pluralize
from tellwhen.index import Index
from tellwhen.index.subscriptions import ParsedSubscription, Rejected, iter_subscriptions, parse_subscription
from tellwhen.inspect.lint import check_compiled, check_predicates, find_unguarded_exclusions, normalize, screen
from tellwhen.inspect.spelling import find_doubtful_names, list_event_attributes
from tellwhen.language.ast import Expr
from tellwhen.language.parser import parse_stored
from tellwhen.language.schema import Schema

FINDINGS_SHOWN = 20

EQUAL_KEYS_MAX = 16
"""Expressions with the key of another one that are compared with it."""

SINGLE_NAMES_MAX, NAMES_MAX = 200, 5_000
"""Attributes that only one subscription uses, and all attributes. Beyond these numbers spelling is not checked: single
use is then usual."""

Kind = Literal["error", "warning", "hint"]


class Finding(NamedTuple):
    """An error, a warning or a hint about one subscription.

    Attributes
    ----------
    kind : {"error", "warning", "hint"}
        An error prevents adding the subscription. A warning says that the expression is probably not what is meant, a
        hint that it may not be.
    id : str, int or None
        The id; None if the row cannot be read.
    expression : str or None
        The text of the expression.
    position : int or None
        The position of the error in the text.
    reason : str
        What is wrong, and often how to fix it.
    """

    kind: Kind
    id: Any
    expression: str | None
    position: int | None
    reason: str

    @classmethod
    def from_rejected(cls, rejected: Rejected) -> Finding:
        """Return an error about a row that is not a valid subscription."""
        return cls("error", rejected.id, rejected.expression, rejected.position, rejected.reason)

    @property
    def location(self) -> str:
        """The id of the subscription, or its text without an id, and the position of the error."""
        position = "" if self.position is None else f", position {self.position}"
        return f"{abbreviate(self.expression) if self.id is None else repr(self.id)}{position}"


class ValidationReport(NamedTuple):
    """The findings of `validate`; print it.

    Attributes
    ----------
    subscriptions : int
        The number of subscriptions that were checked.
    findings : list of Finding
        All findings, in the order of the subscriptions; hints about spelling come last.
    """

    subscriptions: int
    findings: list[Finding]

    def get_findings(self, kind: Kind) -> list[Finding]:
        """Return the errors, the warnings or the hints."""
        return [finding for finding in self.findings if finding.kind == kind]

    def __str__(self) -> str:
        kinds: tuple[Kind, ...] = ("error", "warning", "hint")
        counts = ", ".join(pluralize(len(self.get_findings(kind)), kind) for kind in kinds)
        lines = [_format_finding(one) for one in self.findings[:FINDINGS_SHOWN]]
        rest = len(self.findings) - FINDINGS_SHOWN
        more = [f"... and {rest:,} more: `findings` has all, on the command line --json"] if rest > 0 else []
        return "\n".join([f"{pluralize(self.subscriptions, 'subscription')}: {counts}", *lines, *more])


def _format_finding(finding: Finding) -> str:
    """Return a line about a finding. Without an id, the reason comes first, since it may name the file and the line."""
    if finding.id is not None or finding.position is not None:
        return f"{finding.kind}: {finding.location}: {finding.reason}"
    is_shown = finding.location in finding.reason
    return f"{finding.kind}: {finding.reason}" + ("" if is_shown else f": {finding.location}")


ValidationReport.of = alias_method("ValidationReport.of", "get_findings")  # type: ignore[attr-defined]


@rename_parameters(against="index")
def validate(
    subscriptions: Any,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    lint: bool = True,
    index: Index | None = None,
    attributes: Iterable[str] = (),
) -> ValidationReport:
    """Check subscriptions without adding them.

    Parameters
    ----------
    subscriptions
        Subscriptions in any form that `Index.add_many` takes.
    schema : Schema or mapping, optional
        Types of attributes; by default those of `index`.
    lint : bool, default True
        Whether to warn of expressions that are always or never true for events with single values, have a part that is
        always undefined, have a redundant branch, or are equivalent to another one. Also gives hints at exclusions that
        are undefined without the attribute, and at names that are probably misspelt.
    index : Index, optional
        The index to which the subscriptions are to be added: they are compared with its subscriptions, too. This takes
        as long as parsing these.
    attributes : iterable of str
        Known attributes of events, besides those of the subscriptions: their names are not misspelt.

    Examples
    --------
    >>> import tellwhen as tw
    >>> print(tw.validate({"a": "x > 5 AND x < 3", "b": "x >", "c": "NOT tag IN ('t')", "d": "NOT tag IN ('t')"}))
    4 subscriptions: 1 error, 2 warnings, 2 hints
    error: 'b', position 3: expected a constant or an attribute, found the end of the text
    warning: 'a': no single value of x makes the expression true
    hint: 'c': NOT tag IN ('t') is undefined for events without tag; to match these, write tag HAS NONE ('t')
    warning: 'd': equivalent to subscription 'c'
    hint: 'd': NOT tag IN ('t') is undefined for events without tag; to match these, write tag HAS NONE ('t')
    """
    if index is not None and not isinstance(index, Index):
        raise ArgumentError(f"index must be a tellwhen.Index, not {abbreviate(index)}")
    types = index.schema if schema is None and index is not None else Schema.coerce(schema)
    equivalents, usage = _EquivalentExpressions(), _NameUsage((*attributes, *types.types))
    if index is not None:
        usage.add_known(index.inspect.get_attributes())
        if lint:
            for id_, text in index.iter_texts():
                equivalents.add(id_, text, screen(parse_stored(text)).key)
    rows, count = iter_subscriptions(subscriptions), 0
    findings: list[Finding] = []
    ids: set[Any] = set()
    while block := list(islice(rows, COMPILE_BATCH)):
        count += len(block)
        valid, errors = _parse_rows(block, types, ids)
        findings += errors
        if lint:
            findings += _lint(valid, equivalents, types)
            usage.add(valid)
    return ValidationReport(count, findings + usage.find_misspelt())


def _parse_rows(rows: list[Any], schema: Schema, ids: set[Any]) -> tuple[list[ParsedSubscription], list[Finding]]:
    """Return the valid subscriptions and the errors of some rows; add the ids of the valid ones to `ids`."""
    valid, errors = [], []
    for row in rows:
        try:
            subscription = parse_subscription(row, schema)
            if subscription.id in ids:
                raise DuplicateId("another subscription has this id")
            ids.add(subscription.id)
            valid.append(subscription)
        except TellwhenError as error:
            errors.append(Finding.from_rejected(Rejected.from_row(row, error)))
    return valid, errors


class _EquivalentExpressions:
    """Expressions by their screening keys, to find equivalent ones."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[tuple[Any, str]]] = {}

    def add(self, id_: Any, text: str, key: int) -> None:
        self._by_key.setdefault(key, []).append((id_, text))

    def find_other_id(self, id_: Any, expression: Expr, key: int) -> Any:
        """Return the first other id with an equivalent expression; None if no expression is equivalent."""
        others = [(other, text) for other, text in self._by_key.get(key, ()) if other != id_][:EQUAL_KEYS_MAX]
        form = normalize(expression) if others else None
        return next((other for other, text in others if normalize(parse_stored(text)) == form), None)


class _NameUsage:
    """Attributes by the subscriptions that use them, to find those that only one subscription uses."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = dict.fromkeys(known)  # a dict keeps the order, so that hints are the same in every run
        self._only_user: dict[str, tuple[Any, str] | None] = {}  # by name: id and text; None for several users

    def add_known(self, names: Iterable[str]) -> None:
        self._known.update(dict.fromkeys(names))

    def add(self, subscriptions: list[ParsedSubscription]) -> None:
        for subscription in subscriptions:
            for name in list_event_attributes(subscription.expression):
                user = None if name in self._only_user else (subscription.id, subscription.text)
                self._only_user[name] = user

    def find_misspelt(self) -> list[Finding]:
        """Return hints at names that only one subscription uses and that are similar to another name."""
        single = {name: user for name, user in self._only_user.items() if user is not None and name not in self._known}
        if len(single) > SINGLE_NAMES_MAX or len(self._only_user) > NAMES_MAX:
            return []
        known = dict.fromkeys(name for name in (*self._known, *self._only_user) if name not in single)
        findings = []
        for id_, text in dict.fromkeys(single.values()):
            expression = parse_stored(text)
            doubtful = dict(find_doubtful_names(expression, known))
            findings += [Finding("hint", id_, text, None, reason) for reason in doubtful.values()]
            known.update(dict.fromkeys(name for name in list_event_attributes(expression) if name not in doubtful))
        return findings


def _lint(
    subscriptions: list[ParsedSubscription], equivalents: _EquivalentExpressions, schema: Schema
) -> list[Finding]:
    """Return warnings and hints about valid subscriptions, and add them to `equivalents`."""
    findings = []
    screenings = [screen(subscription.expression) for subscription in subscriptions]
    to_compile = [number for number, screening in enumerate(screenings) if screening.needs_compiling]
    compiled_warnings = check_compiled([subscriptions[number].expression for number in to_compile], schema)
    warnings_by_number = dict(zip(to_compile, compiled_warnings, strict=True))
    for number, (subscription, screening) in enumerate(zip(subscriptions, screenings, strict=True)):
        id_, expression, text = subscription.id, subscription.expression, subscription.text
        reasons = [*check_predicates(expression)] if screening.needs_predicate_check else []
        reasons += warnings_by_number.get(number, ())
        equivalent = equivalents.find_other_id(id_, expression, screening.key)
        if equivalent is None:
            equivalents.add(id_, text, screening.key)
        else:
            reasons.append(f"equivalent to subscription {equivalent!r}")
        findings += [Finding("warning", id_, text, None, reason) for reason in reasons]
        if screening.has_negation:
            findings += [Finding("hint", id_, text, None, reason) for reason in find_unguarded_exclusions(expression)]
    return findings
