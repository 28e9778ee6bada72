"""Counts of values that no subscription can compare with, and a warning for the first one of each attribute."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.columns import get_only_map, to_objects
from tellwhen.encode.computed import find_argument_families
from tellwhen.errors import abbreviate
from tellwhen.language.computation import compute_value, get_term
from tellwhen.language.formatting import format_value
from tellwhen.language.literals import COMPUTED_PREFIX, CONDITION_PREFIX
from tellwhen.language.schema import Schema
from tellwhen.language.terms import Term
from tellwhen.language.values import (
    Family,
    Interval,
    flatten,
    is_list_like,
    is_present,
    iter_members,
    normalize_value,
)

log = logging.getLogger("tellwhen")

LOGGED_ATTRIBUTES_MAX = 20
"""Log the mismatches of the first 20 attributes of an index; of the others, log once that they are counted."""

SEARCHED_EVENTS_MAX = 1_000
"""Search the first 1,000 events for an example."""

SEARCHED_TERMS_MAX = 10_000
"""Search the first 10,000 computed attributes for those that take an attribute as an input."""


class Mismatches:
    """Counts of values of a wrong type, by attribute."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts: Counter[str] = Counter(counts)
        self.renew_lock()

    def renew_lock(self) -> None:
        """Replace the lock in a forked process: another thread may have held it."""
        self._lock = threading.Lock()  # not the lock of changes: a match never waits for a change

    def add(self, counts: Mapping[str, int], describe: Callable[[str], str]) -> None:
        """Add counts by attribute; log the description of each attribute that is counted for the first time."""
        with self._lock:
            logged = len(self._counts)
            new_names = [name for name in counts if name not in self._counts]
            self._counts.update(counts)
        for name in new_names[: max(0, LOGGED_ATTRIBUTES_MAX - logged)]:
            log.warning(
                "tellwhen: %s. Further cases are only counted, in index.inspect.get_stats()['mismatches']",
                describe(name),
            )
        if logged <= LOGGED_ATTRIBUTES_MAX < logged + len(new_names):
            log.warning(
                "tellwhen: more than %d attributes have values that subscriptions cannot compare; the others are only "
                "counted, in index.inspect.get_stats()['mismatches']",
                LOGGED_ATTRIBUTES_MAX,
            )

    def as_dict(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


def describe_mismatch(name: str, attributes: Attributes, events: Any, schema: Schema) -> str:
    """Describe why the values of an attribute cannot be compared, with an example from the events.

    `name` is an attribute of events, or the text of a computed attribute.
    """
    for prefix in (COMPUTED_PREFIX, CONDITION_PREFIX):
        if prefix + name in attributes.by_name:
            return _describe_computed(name, prefix + name, attributes, events, schema)
    return _describe_attribute(name, attributes, events, schema)


def _describe_attribute(name: str, attributes: Attributes, events: Any, schema: Schema) -> str:
    attribute = attributes.by_name.get(name)
    families: set[Family] = set() if attribute is None else attribute.families
    input_families = _find_input_families(name, attributes)
    example, is_input = "of another type in an event", not families
    has_example = False
    for event in _iter_events([name], events, schema):
        members = [member for member in iter_members(event.get(name)) if is_present(member)]
        found = {_get_family(member) for member in members}
        if families and not found <= families:
            wrong = next(member for member in members if _get_family(member) not in families)
            example, is_input = f"{_describe_value(wrong)} in an event", False
            break
        if not has_example and members and _is_wrong_input(members, found, input_families, not families):
            example, is_input = f"{_describe_value(members[0])} in an event", True
            has_example = True
    if isinstance(events, pa.Table) and name in events.column_names:
        example = f"a column of {events.schema.field(name).type}"
    consequence = (
        "so the values that subscriptions compute from it are undefined"
        if is_input
        else f"and subscriptions compare it with {_list_families(families)}"
    )
    return f"{name} is {example}, {consequence}"


def _is_wrong_input(
    members: list[Any], found: set[Family | None], input_families: set[Family], is_only_input: bool
) -> bool:
    """Return whether the members of an attribute lack a family that a function takes.

    Without such functions, conditions on objects, such as `items[price > 5]`, read the attribute.
    """
    if input_families:
        return not input_families <= found
    return is_only_input and not any(isinstance(member, Mapping) for member in members)


def _describe_computed(name: str, key: str, attributes: Attributes, events: Any, schema: Schema) -> str:
    term, families = get_term(key), attributes.by_name[key].families
    inputs = list(dict.fromkeys(term.iter_names()))
    for event in _iter_events(inputs, events, schema):
        value = compute_value(term, event)
        if value is None:
            if all(is_present(event.get(operand)) for operand in inputs):
                values = ", ".join(f"{operand} is {_describe_value(event[operand])}" for operand in inputs)
                return f"{name} has no value in an event: {values}"
            continue
        for member in iter_members(value):
            if _get_family(member) not in families:
                return (
                    f"{name} is {_describe_value(member)} in an event, and subscriptions compare it with "
                    f"{_list_families(families)}"
                )
    return f"{name} has no value, or one of a wrong type, in an event"


def _find_input_families(name: str, attributes: Attributes) -> set[Family]:
    """Return the families that functions take an attribute as."""
    terms: Iterator[Term] = (computed.term for computed in chain(*list(attributes.computed_by_operand.values())))
    found = {
        find_argument_families(term)[name] for term in islice(terms, SEARCHED_TERMS_MAX) if name in term.iter_names()
    }
    return {family for family in found if family is not None}


def _iter_events(names: list[str], events: Any, schema: Schema) -> Iterator[Mapping[str, Any]]:
    """Yield the first events, flat and read by the schema; none of an iterator, which is consumed.

    Only the attributes `names` are complete.
    """
    if isinstance(events, pa.Table):
        events = _read_rows(events.slice(0, SEARCHED_EVENTS_MAX), names)
    elif isinstance(events, Mapping):
        events = [events]
    for event in events[:SEARCHED_EVENTS_MAX] if isinstance(events, list | tuple) else ():
        if isinstance(event, Mapping):
            yield schema.read_event(flatten(event))


def _read_rows(table: pa.Table, names: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts with the columns that hold the attributes `names`."""
    if get_only_map(table) is not None:  # its values are text, which each function parses as it needs
        return []
    columns = [
        column
        for column in table.column_names
        if any(name == column or name.startswith(f"{column}.") for name in names)
    ]
    values = [to_objects(table.column(column)) for column in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _get_family(value: Any) -> Family | None:
    return value.family if isinstance(value, Interval) else getattr(normalize_value(value), "family", None)


def _describe_value(value: Any) -> str:
    """Return a value with its family or, if it belongs to none, with its Python type."""
    if is_list_like(value):
        return f"{format_value(value)} (a list)"
    family = _get_family(value)
    if family is None:
        return f"{abbreviate(value)} ({type(value).__name__})"
    return f"{format_value(value)} ({'an interval' if isinstance(value, Interval) else f'a {family}'})"


def _list_families(families: set[Family]) -> str:
    return "a " + " or a ".join(sorted(families))
