"""Which subscriptions mention an attribute, or a constant? By what is compiled, and by the texts for the rest.

What is compiled tells it for millions at once. It does not know what was simplified away: `x` in `x = 1 AND FALSE`. So
texts in which the name or the constant occurs, as it is usually written, are parsed, unless it is known already.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attribute
from tellwhen.compile.extract import names_predicate
from tellwhen.encode.events import entries_of
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.state import State
from tellwhen.kernels.arrays import I32, Predicates
from tellwhen.language.ast import Expr, Predicate
from tellwhen.language.compute import names_in, paths_in, term_of
from tellwhen.language.parser import parse_stored
from tellwhen.language.terms import Call, Each, Literal, Term, is_computed
from tellwhen.language.values import Value, reduce

ANYTHING: Any = object()
"""For a constant that is not asked for."""


def mentioning(state: State, attribute: str | None, constant: Any = ANYTHING) -> I32:
    """The slots of the subscriptions, ascending."""
    if attribute is None and constant is ANYTHING:
        raise ArgumentError("mentioning takes an attribute, a constant, or both")
    if attribute is not None and not isinstance(attribute, str):
        raise ArgumentError(f"an attribute is a string, not {abbreviate(attribute)}")
    wanted = None if constant is ANYTHING else reduce(constant)
    if constant is not ANYTHING and wanted is None:
        raise ArgumentError(f"a constant is a Boolean, a number, a string or a time, not {abbreviate(constant)}")
    snapshot = state.view.snapshot
    names = [name for name in list(state.attributes.by_name) if attribute is None or _is_named(attribute, name)]
    is_wanted = _wanted(snapshot.predicates, [state.attributes.by_name[name] for name in names], state, wanted)
    kind, start, code, _ = snapshot.subscriptions
    named = np.flatnonzero(names_predicate(kind, start, code))
    found = np.searchsorted(start, named[is_wanted[code[named]]], side="right") - 1
    by_code = set(np.unique(found).tolist())
    alive = state.alive()
    if not state.shard.has_texts and wanted is None:
        return np.array([slot for slot in alive if slot in by_code], dtype=np.int32)
    texts, spelled = state.shard.texts, _spelled(attribute, constant)

    def is_one(slot: int) -> bool:
        is_coded = slot in by_code
        if is_coded and wanted is None:
            return True
        text = texts[slot]
        if not is_coded and not any(one in text for one in spelled):
            return False
        return _is_mentioned(parse_stored(text), attribute, wanted)

    return np.array([slot for slot in alive if is_one(slot)], dtype=np.int32)


def _spelled(attribute: str | None, constant: Any) -> set[str]:
    """What a text has that mentions it, one of these."""
    if constant is ANYTHING or isinstance(constant, bool):  # TRUE need not be written
        return {(attribute or "").replace('"', '""')}
    if isinstance(constant, str):
        return {constant.replace("'", "''")}
    if isinstance(constant, dt.date):
        return {constant.isoformat()[:10]}
    return {str(constant), str(int(constant)) if constant == constant // 1 else str(float(constant))}


def _wanted(
    predicates: Predicates, attributes: list[Attribute], state: State, wanted: Value | None
) -> NDArray[np.bool_]:
    """By predicate: is it one of the attributes and, if a value is wanted, perhaps with it as a constant?"""
    mine = {attribute.name for attribute in attributes}
    domains = state.attributes.domains[: state.view.snapshot.domains]
    is_mine = np.array([domain.attribute in mine for domain in domains], dtype=np.bool_)
    if wanted is None:
        return is_mine[predicates.domain]
    points: dict[int, int] = {}
    for attribute in attributes:
        points.update(entries_of(attribute, wanted))
    is_loose = np.array([is_computed(domain.attribute) or domain.kind == "pattern" for domain in domains], np.bool_)
    found = (is_mine & is_loose)[predicates.domain]
    owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
    for domain, point in points.items():
        if domain < len(domains) and not is_loose[domain]:
            # The ends of an interval are at the point of a constant, or next to it.
            near = [(end >= point - 1) & (end <= point + 1) for end in (predicates.low, predicates.high)]
            found[owner[(near[0] | near[1]) & (predicates.domain[owner] == domain)]] = True
    return found


def _is_named(attribute: str, name: str) -> bool:
    """Is it the attribute, a part of it, or the path of a member of objects in a list?"""
    return attribute in names_in(name) or attribute in paths_in(name)


def _is_mentioned(expression: Expr, attribute: str | None, wanted: Value | None) -> bool:
    return any(
        (attribute is None or _is_named(attribute, predicate.attribute))
        and (wanted is None or wanted in _constants(predicate))
        for predicate in expression.predicates()
    )


def _constants(predicate: Predicate) -> Iterator[Value | None]:
    yield from map(reduce, predicate.constants)
    if is_computed(predicate.attribute):
        yield from _constants_in(term_of(predicate.attribute))


def _constants_in(term: Term) -> Iterator[Value | None]:
    if isinstance(term, Literal):
        yield reduce(term.value)
    elif isinstance(term, Call):
        for arg in term.args:
            yield from _constants_in(arg)
    elif isinstance(term, Each):
        for predicate in term.expression.predicates():
            yield from _constants(predicate)
