"""Do events have what subscriptions ask for? A renamed column or a typo matches nothing, and says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.batches import encoded_batches
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.encode.names import attribute_names
from tellwhen.errors import pluralize
from tellwhen.inspect.spelling import nearest
from tellwhen.language.compute import names_in
from tellwhen.language.schema import Schema

SHOWN = 10


class Fit(NamedTuple):
    """What `Index.unmatched_attributes` returns; print it. Empty, and so false, if everything fits."""

    missing: dict[str, str | None]
    """Attributes that subscriptions ask for and no event has, with the most similar one that events have."""
    unused: list[str]
    """Attributes of events that no subscription asks for."""
    wrong: dict[str, int]
    """By attribute: how many values are of no type that subscriptions compare it with."""
    events: int

    def __bool__(self) -> bool:
        return bool(self.missing or self.wrong)

    def __str__(self) -> str:
        lines = [
            f"no event has {name}" + (f"; did you mean {near}?" if near else "") for name, near in self.missing.items()
        ]
        lines += [f"{name}: {pluralize(count, 'value')} of a wrong type" for name, count in self.wrong.items()]
        more = f"... and {len(lines) - SHOWN:,} more" if len(lines) > SHOWN else ""
        lines = [*lines[:SHOWN], *([more] if more else [])] or ["every attribute of subscriptions is in some event"]
        return "\n".join(
            [
                f"{pluralize(self.events, 'event')}, {pluralize(len(self.unused), 'attribute')} that nobody asks for",
                *lines,
            ]
        )


class Counts(NamedTuple):
    """What is counted of some events; those of several parts add up."""

    carried: Counter[str]
    """By attribute: batches or events that have it."""
    wrong: Counter[str]
    events: int


def count_attributes(events: Any, attributes: Attributes, schema: Schema) -> Counts:
    """The counts of these events."""
    given = as_table_or_dicts(events)
    if not isinstance(given, pa.Table):
        given = list(given)
    found = Counter(attribute_names(given))
    wrong: Counter[str] = Counter()
    count = 0
    for encoded, mismatches in encoded_batches(given, attributes, schema):
        wrong.update(mismatches)
        count += len(encoded.single_valued)
    return Counts(found, wrong, count)


def fit(counts: Counts, names: Iterable[str]) -> Fit:
    """How events fit the attributes that subscriptions ask for, by their names."""
    missing, unused = missing_in(counts.carried, names)
    return Fit(missing, unused, dict(counts.wrong), counts.events)


def missing_in(carried: Iterable[str], names: Iterable[str]) -> tuple[dict[str, str | None], list[str]]:
    """What subscriptions ask for that is not among what events carry, each with the nearest name that they do; and what
    nobody asks for."""
    asked = dict.fromkeys(part for name in names for part in names_in(name))
    there = dict.fromkeys(carried)
    unused = [name for name in there if name not in asked]
    missing = [name for name in asked if name not in there]
    # What nobody asks for is the better guess; but others may ask for what was meant.
    return {name: nearest(name, unused, 0.6) or nearest(name, list(there), 0.75) for name in missing}, unused
