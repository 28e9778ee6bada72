"""Computed attributes of an event, and of a table of events: each computed once, however many subscriptions use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tellwhen.compile.attributes import Attributes, Computed
from tellwhen.lang.compute import computed
from tellwhen.lang.literals import MARK


def computable(attributes: Attributes, names: Any) -> Iterator[Computed]:
    """The computed attributes that may have a value where these attributes are there."""
    by_need = attributes.computed
    yield from by_need.get("", ())
    for name in names:
        yield from by_need.get(name, ())


def extended(event: Mapping[str, Any], attributes: Attributes, wrong: list[str]) -> dict[str, Any]:
    """A flat event with its computed attributes. Those of which all parts are there, but no value, are `wrong`."""
    found = {name: value for name, value in event.items() if name[:1] != MARK}
    for name, term in list(computable(attributes, found)):
        value = computed(term, found)
        if value is not None:
            found[name] = value
        elif all(found.get(part) is not None for part in term.names()):
            wrong.append(name)
    return found
