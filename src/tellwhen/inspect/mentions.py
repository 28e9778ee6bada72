"""Search for the subscriptions that mention an attribute or a constant.

The compiled predicates answer this for millions of subscriptions at once. They lack what was simplified away, such as
`x` in `x = 1 AND FALSE`. Therefore, a text is parsed if it contains the name or the constant in its usual spelling and
the compiled predicates do not decide.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attribute
from tellwhen.compile.extract import mask_predicate_words
from tellwhen.encode.events import find_points
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.state import State
from tellwhen.kernels.arrays import I32, Predicates
from tellwhen.language.ast import Expr, Predicate
from tellwhen.language.computation import get_term, iter_input_names, iter_input_paths
from tellwhen.language.parser import parse_stored
from tellwhen.language.terms import AnyMember, Call, Literal, Term, is_computed
from tellwhen.language.values import Value, normalize_value

NO_CONSTANT: Any = object()
"""Default of `constant`: None is a value that a caller may pass by mistake."""


def find_mentions(state: State, attribute: str | None, constant: Any = NO_CONSTANT) -> I32:
    """Return the slots of the subscriptions that mention an attribute, or compare something with a constant, or both.

    The slots are ascending. With both, the constant is compared with the attribute.
    """
    value = _validate_search(attribute, constant)
    snapshot = state.view.snapshot
    names = [name for name in list(state.attributes.by_name) if attribute is None or _has_name(name, attribute)]
    attributes = [state.attributes.by_name[name] for name in names]
    is_selected = _select_predicates(snapshot.predicates, attributes, state, value)
    kind, start, code, _ = snapshot.subscriptions
    positions = np.flatnonzero(mask_predicate_words(kind, start, code))
    compiled_slots = np.searchsorted(start, positions[is_selected[code[positions]]], side="right") - 1
    compiled = set(np.unique(compiled_slots).tolist())
    alive = state.list_live_slots()
    if not state.shard.has_texts and value is None:
        return np.array([slot for slot in alive if slot in compiled], dtype=np.int32)
    texts, spellings = state.shard.texts, _list_spellings(attribute, constant)

    def has_mention(slot: int) -> bool:
        is_compiled = slot in compiled
        if is_compiled and value is None:
            return True
        text = texts[slot]
        if not is_compiled and not any(spelling in text for spelling in spellings):
            return False
        return _is_mentioned(parse_stored(text), attribute, value)

    return np.array([slot for slot in alive if has_mention(slot)], dtype=np.int32)


def _validate_search(attribute: str | None, constant: Any) -> Value | None:
    """Return the constant as a value, None for no constant; raise ArgumentError for an invalid search."""
    if attribute is None and constant is NO_CONSTANT:
        raise ArgumentError("find_mentions needs an attribute, a constant, or both")
    if attribute is not None and not isinstance(attribute, str):
        raise ArgumentError(f"an attribute must be a string, not {abbreviate(attribute)}")
    if constant is NO_CONSTANT:
        return None
    value = normalize_value(constant)
    if value is None:
        raise ArgumentError(f"a constant must be a Boolean, a number, a string or a time, not {abbreviate(constant)}")
    return value


def _list_spellings(attribute: str | None, constant: Any) -> set[str]:
    """Return strings of which a text contains at least one if it mentions the constant, or else the attribute."""
    if constant is NO_CONSTANT or isinstance(constant, bool):  # TRUE need not be written
        return {(attribute or "").replace('"', '""')}
    if isinstance(constant, str):
        return {constant.replace("'", "''")}
    if isinstance(constant, dt.date):
        return {constant.isoformat()[:10]}
    return {str(constant), str(int(constant)) if constant == constant // 1 else str(float(constant))}


def _select_predicates(
    predicates: Predicates, attributes: list[Attribute], state: State, value: Value | None
) -> NDArray[np.bool_]:
    """Return, by predicate, whether it is on one of the attributes and may have `value` as a constant."""
    names = {attribute.name for attribute in attributes}
    domains = state.attributes.domains[: state.view.snapshot.domains]
    has_attribute = np.array([domain.attribute in names for domain in domains], dtype=np.bool_)
    if value is None:
        return has_attribute[predicates.domain]
    points: dict[int, int] = {}
    for attribute in attributes:
        points.update(find_points(attribute, value))
    # The constants of patterns and of computed values are not points of the domain.
    is_opaque = np.array([is_computed(domain.attribute) or domain.kind == "pattern" for domain in domains], np.bool_)
    is_selected = (has_attribute & is_opaque)[predicates.domain]
    owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
    for domain, point in points.items():
        if domain < len(domains) and not is_opaque[domain]:
            # The ends of an interval are at the point of a constant, or next to it.
            low_is_near, high_is_near = (
                (end >= point - 1) & (end <= point + 1) for end in (predicates.low, predicates.high)
            )
            is_selected[owner[(low_is_near | high_is_near) & (predicates.domain[owner] == domain)]] = True
    return is_selected


def _has_name(name: str, attribute: str) -> bool:
    """Return whether a name is the attribute, is computed from it, or is the path of a member of objects in a list."""
    return attribute in iter_input_names(name) or attribute in iter_input_paths(name)


def _is_mentioned(expression: Expr, attribute: str | None, value: Value | None) -> bool:
    return any(
        (attribute is None or _has_name(predicate.attribute, attribute))
        and (value is None or value in _list_constants(predicate))
        for predicate in expression.predicates()
    )


def _list_constants(predicate: Predicate) -> Iterator[Value | None]:
    yield from map(normalize_value, predicate.constants)
    if is_computed(predicate.attribute):
        yield from _list_constants_of_term(get_term(predicate.attribute))


def _list_constants_of_term(term: Term) -> Iterator[Value | None]:
    if isinstance(term, Literal):
        yield normalize_value(term.value)
    elif isinstance(term, Call):
        for arg in term.args:
            yield from _list_constants_of_term(arg)
    elif isinstance(term, AnyMember):
        for predicate in term.expression.predicates():
            yield from _list_constants(predicate)
