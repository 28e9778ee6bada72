"""Counts of values that no subscription can compare with. Each attribute is logged once: such values match nothing."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.errors import abbreviate
from tellwhen.language.schema import Schema
from tellwhen.language.values import Family, flatten, is_present, iter_members, normalize_value

log = logging.getLogger("tellwhen")

SEARCHED_EVENTS_MAX = 1_000
"""Search the first 1,000 events for an example."""


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
            new_names = [name for name in counts if name not in self._counts]
            self._counts.update(counts)
        for name in new_names:
            log.warning("tellwhen: %s; logged once, index.inspect.get_stats()['mismatches'] counts all", describe(name))

    def as_dict(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


def describe_mismatch(name: str, attributes: Attributes, events: Any, schema: Schema) -> str:
    """Describe why the values of an attribute cannot be compared, with an example from the events."""
    attribute = attributes.by_name.get(name)
    families: set[Family] = set() if attribute is None else attribute.families
    example = _find_example(name, families, events, schema)
    if families:
        expected = " or a ".join(sorted(families))
        return f"{name} is {example or 'of another type'} in an event, and subscriptions compare it with a {expected}"
    if example is not None:
        return f"{name} is {example} in an event, so the values that subscriptions compute from it are undefined"
    return f"{name} is undefined for an event, although the event has all its inputs"


def _find_example(name: str, families: set[Family], events: Any, schema: Schema) -> str | None:
    """Return the first value of the attribute that is of none of the families, or the type of its column."""
    if isinstance(events, pa.Table):
        return f"a column of {events.schema.field(name).type}" if name in events.column_names else None
    if isinstance(events, Mapping):
        events = [events]
    for event in events[:SEARCHED_EVENTS_MAX] if isinstance(events, list) else ():
        value = flatten(event).get(name) if isinstance(event, Mapping) else None
        for member in iter_members(value) if is_present(value) else ():
            converted = schema.read(name, member)
            if is_present(member) and getattr(normalize_value(converted), "family", None) not in families:
                return f"{abbreviate(member)} ({type(member).__name__})"
    return None
