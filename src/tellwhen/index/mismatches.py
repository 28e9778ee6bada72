"""Values that no subscription can compare with: counted by attribute, and logged once, since they match nothing."""

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

LOOKED_AT = 1_000
"""Events among which an example is looked for."""


class Mismatches:
    """How many values of a wrong type events had, by attribute."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts: Counter[str] = Counter(counts)
        self.renew_lock()

    def renew_lock(self) -> None:
        """After a fork: another thread may have held it."""
        self._lock = threading.Lock()  # of its own: a match never waits for a change

    def add(self, counts: Mapping[str, int], tell: Callable[[str], str]) -> None:
        """Some more; `tell` says what is wrong with an attribute."""
        with self._lock:
            fresh = [name for name in counts if name not in self._counts]
            self._counts.update(counts)
        for name in fresh:
            log.warning("tellwhen: %s; told once, all are counted in stats()['mismatches']", tell(name))

    def as_dict(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)


def told(name: str, attributes: Attributes, events: Any, schema: Schema) -> str:
    """What is wrong with an attribute of these events, in words."""
    attribute = attributes.by_name.get(name)
    families: set[Family] = set() if attribute is None else attribute.families
    example = _example(name, families, events, schema)
    if families:
        asked = " or a ".join(sorted(families))
        return f"{name} is {example or 'of another type'} in an event, and subscriptions compare it with a {asked}"
    if example is not None:
        return f"{name} is {example} in an event, and what subscriptions compute of it has no value then"
    return f"{name} has no value in an event, although all its parts are there"


def _example(name: str, families: set[Family], events: Any, schema: Schema) -> str | None:
    """What an event has there, if some has it."""
    if isinstance(events, pa.Table):
        return f"a column of {events.schema.field(name).type}" if name in events.column_names else None
    some = [events] if isinstance(events, Mapping) else events[:LOOKED_AT] if isinstance(events, list) else []
    for event in some:
        value = flatten(event).get(name) if isinstance(event, Mapping) else None
        for member in iter_members(value) if is_present(value) else ():
            read = schema.read(name, member)
            if is_present(member) and getattr(normalize_value(read), "family", None) not in families:
                return f"{abbreviate(member)} ({type(member).__name__})"
    return None
