"""Comparison of the attributes of events with those that subscriptions need.

A renamed column or a typo makes subscriptions match nothing, without an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.batches import encode_batches
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.encode.names import iterate_attribute_names
from tellwhen.errors import pluralize
from tellwhen.inspect.spelling import find_similar_name
from tellwhen.language.computation import iter_input_names
from tellwhen.language.literals import get_display_name
from tellwhen.language.schema import Schema
from tellwhen.language.terms import is_computed

LINES_SHOWN = 10

CUTOFF_UNUSED, CUTOFF_USED = 0.6, 0.75
"""Similarity (0 to 1) required to suggest a name: of an unused attribute, and of one that subscriptions use."""


class AttributeCoverage(NamedTuple):
    """Result of a comparison of events with subscriptions; print it. Its truth value says whether anything is wrong.

    Attributes
    ----------
    missing : dict of str to str or None
        Attributes that subscriptions need and of which no event has a value, each with the most similar attribute of
        the events. An object is not a value: its most similar attribute is one of its members.
    unused : list of str
        Attributes of the events that no subscription needs.
    mismatches : dict of str to int
        By attribute: the number of values of a type with which no subscription compares the attribute. By computed
        value: how often it has no value although the event has its inputs, or has a value of such a type.
    events : int
        The number of events.
    computed : frozenset of str
        The computed values among the names in `mismatches`, such as a / b.
    """

    missing: dict[str, str | None]
    unused: list[str]
    mismatches: dict[str, int]
    events: int
    computed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.missing or self.mismatches)

    def __str__(self) -> str:
        lines = [_describe_missing(name, similar) for name, similar in self.missing.items()]
        lines += [describe_count(name, count, name in self.computed) for name, count in self.mismatches.items()]
        if not lines:
            lines = ["every attribute of the subscriptions is in some event"]
        elif len(lines) > LINES_SHOWN:
            lines = [*lines[:LINES_SHOWN], f"... and {len(lines) - LINES_SHOWN:,} more"]
        unused = f"{pluralize(len(self.unused), 'attribute')} that no subscription uses"
        return "\n".join([f"{pluralize(self.events, 'event')}, {unused}", *lines])


def _describe_missing(name: str, similar: str | None) -> str:
    if similar is not None and similar.startswith(f"{name}."):
        return f"{name} has no value in any event, only members such as {similar}"
    return f"no event has {name}" + (f"; did you mean {similar}?" if similar else "")


def describe_count(name: str, count: int, is_computed: bool) -> str:
    """Describe how often an attribute or a computed value mismatches."""
    if is_computed:
        return f"{name}: no value, or one of a wrong type, in {pluralize(count, 'case')}"
    return f"{name}: {pluralize(count, 'value')} of a wrong type"


class AttributeCounts(NamedTuple):
    """Counts over some events. The counts of several groups of events are added up field by field."""

    occurrences: Counter[str]
    """By attribute: the number of batches or events that have it."""
    mismatches: Counter[str]
    events: int


def count_attributes(events: Any, attributes: Attributes, schema: Schema) -> AttributeCounts:
    """Encode events and count their attributes and their values of a wrong type."""
    given = to_table_or_dicts(events)
    if not isinstance(given, pa.Table):
        given = list(given)
    occurrences = Counter(iterate_attribute_names(given))
    mismatches: Counter[str] = Counter()
    count = 0
    for encoded, wrong in encode_batches(given, attributes, schema):
        mismatches.update(wrong)
        count += len(encoded.single_valued)
    return AttributeCounts(occurrences, mismatches, count)


def compare_attributes(counts: AttributeCounts, needed: Iterable[str]) -> AttributeCoverage:
    """Compare counted events with the names of the attributes and computed values that subscriptions need."""
    needed = list(needed)
    missing, unused = find_missing_attributes(counts.occurrences, needed)
    computed = {get_display_name(name) for name in needed if is_computed(name)}
    return AttributeCoverage(
        missing, unused, dict(counts.mismatches), counts.events, frozenset(computed & counts.mismatches.keys())
    )


def find_missing_attributes(present: Iterable[str], needed: Iterable[str]) -> tuple[dict[str, str | None], list[str]]:
    """Return the needed attributes that are not present, each with the most similar present one, and the unused ones.

    `needed` has the names of attributes and of computed values; `present` the names of attributes of events.
    """
    needed = dict.fromkeys(part for name in needed for part in iter_input_names(name))
    present = dict.fromkeys(present)
    unused = [name for name in present if name not in needed]
    sorted_unused, sorted_present = sorted(unused), sorted(present)  # `present` may be a set, with a random order
    missing = {
        name: find_similar_name(name, sorted_unused, CUTOFF_UNUSED)
        or find_similar_name(name, sorted_present, CUTOFF_USED)
        for name in needed
        if name not in present
    }
    return missing, unused
