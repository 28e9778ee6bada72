"""What does a profile say in the points of a store? This is what engines read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.compile.attributes import FAMILY, Attribute, DomainKind
from tellwhen.compile.store import Store
from tellwhen.containers.batches import Marginals, Typical, by_domain
from tellwhen.encode.events import EventEncoder, entries_of
from tellwhen.kernels.arrays import F64, I32, I64, Events
from tellwhen.language.compute import computed, term_of
from tellwhen.language.schema import Schema, value_from_text
from tellwhen.language.terms import Each, is_computed
from tellwhen.language.values import flatten, members, reduce
from tellwhen.profile.profile import Profile

COMPUTED_EVENTS = 256
"""Events of the sample that tell which values a computed attribute has."""

Entries = tuple[I32, I64, F64]
"""Domains, points on them, and the shares of the events that have each."""


class TypicalEvents(Typical):
    """The events of a profile, encoded for a store when an engine asks for them, and kept.

    The points of strings depend on the constants in use. So all is encoded again when the predicates have doubled. In
    between, the sample is encoded again when labels have moved; and of the marginals, the attributes whose labels have
    moved or that have new domains.
    """

    def __init__(self, profile: Profile, store: Store) -> None:
        super().__init__()
        self._profile, self._store = profile, store
        self._sample, self._values = _Encoded(), _Encoded()
        self._entries: dict[str, Entries] = {}  # by attribute
        self._bounds: list[tuple[float, float]] = []  # by domain
        self._computations: dict[str, list[tuple[Any, float]]] = {}  # by computed attribute: its values, and shares
        self._marginals = Marginals(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))

    @cached_property
    def _present(self) -> dict[str, float]:
        return self._profile.event_frequency

    @cached_property
    def _decoded(self) -> list[tuple[dict[str, Any], float]]:
        return self._profile.sample()

    @property
    def is_known(self) -> bool:
        return self._profile.events > 0

    @property
    def events(self) -> Events:
        self._encode_sample()
        return self._events

    @property
    def weight(self) -> F64:
        self._encode_sample()
        return self._weight

    def _encode_sample(self) -> None:
        attributes = self._store.attributes
        if self._sample.attributes is attributes and not self._sample.has_doubled(self._store):
            return
        by_name = attributes.by_name
        encoder = EventEncoder(attributes, Schema())  # text is read by `_read`
        for event, _ in self._decoded:
            # What no subscription has may still be part of what one computes.
            known = {name: _read(by_name[name], value) if name in by_name else value for name, value in event.items()}
            encoder.add(known)
        self._events = encoder.finish()
        self._weight = np.array([weight for _, weight in self._decoded])
        self._sample = _Encoded(self._store)

    def marginals(self, domains: int) -> Marginals:
        attributes, before = self._store.attributes, self._values.attributes
        if before is None or self._values.has_doubled(self._store):
            self._entries, self._bounds = {}, []
            self._values = _Encoded(self._store)
        stale = dict.fromkeys(domain.attribute for domain in attributes.domains[len(self._bounds) : domains])
        if before is not attributes and before is not None:
            moved = (name for name in self._entries if attributes.by_name[name] is not before.by_name[name])
            stale |= dict.fromkeys(moved)
            self._values.attributes = attributes
        if stale:
            self._entries |= {name: self._encoded(attributes.by_name[name]) for name in stale}
            self._bounds += [self._bound(*domain) for domain in attributes.domains[len(self._bounds) : domains]]
            self._marginals = self._assembled()
        return self._marginals

    def _encoded(self, attribute: Attribute) -> Entries:
        """The values of one attribute on all of its domains."""
        entries: list[tuple[int, int, float]] = []
        if attribute.presence >= 0:
            present = self._share(attribute.name)
            entries += (attribute.presence, 0, 1 - present), (attribute.presence, 1, present)
        for value, share in self._shares(attribute.name):
            for reading in members(_read(attribute, value)):
                reduced = reduce(reading)
                if reduced is not None:
                    entries += [(domain, point, share) for domain, point in entries_of(attribute, reduced)]
        domain, point, shares = zip(*entries, strict=True) if entries else ((), (), ())
        return np.array(domain, np.int32), np.array(point, np.int64), np.array(shares, np.float64)

    def _shares(self, name: str) -> Iterator[tuple[Any, float]]:
        """The values of an attribute, and the share of the events that have each: in the sample, if it is computed."""
        if is_computed(name):
            yield from self._computed(name)
        else:
            for value, weight in self._profile.weights(name):
                yield value, weight / self._profile.events

    def _share(self, name: str) -> float:
        """The share of the events that have an attribute."""
        return sum(share for _, share in self._computed(name)) if is_computed(name) else self._present.get(name, 0.0)

    def _computed(self, name: str) -> list[tuple[Any, float]]:
        if name not in self._computations:
            term, some = term_of(name), self._decoded[:COMPUTED_EVENTS]
            total = sum(weight for _, weight in some)
            shares = [weight / total for _, weight in some]
            if isinstance(term, Each):
                # A sample has no objects: that they are as asked is likely, where there is a list of them.
                likely = [(True, share) for (event, _), share in zip(some, shares, strict=True) if term.name in event]
                self._computations[name] = likely
            else:
                values = [computed(term, flatten(event)) for event, _ in some]
                self._computations[name] = [
                    (value, share) for value, share in zip(values, shares, strict=True) if value is not None
                ]
        return self._computations[name]

    def _bound(self, name: str, kind: DomainKind) -> tuple[float, float]:
        """The share of the events that carry a domain of an attribute, at least and at most."""
        if kind == "presence":  # every event says whether the attribute is there
            return 1.0, 1.0
        present = self._share(name)
        if is_computed(name):
            return present, present
        if kind == "pattern":
            return 0.0, present
        counted = self._profile.families(name).get(FAMILY[kind] or "", 0) / self._profile.events
        return min(present, counted), present  # an event may have several values

    def _assembled(self) -> Marginals:
        domain, point, share = (np.concatenate(parts) for parts in zip(*self._entries.values(), strict=True))
        least, most = np.array(self._bounds).T
        # More than the least: text that is read as numbers or times, and the strings that a pattern matches.
        carried = np.minimum(most, np.maximum(least, np.bincount(domain, share, len(least))))
        return Marginals(carried, *by_domain(domain, point, share, len(least)))


class _Encoded:
    """What was there when something was encoded."""

    def __init__(self, store: Store | None = None) -> None:
        self.attributes = None if store is None else store.attributes
        self.predicates = 0 if store is None else _predicates(store)

    def has_doubled(self, store: Store) -> bool:
        return _predicates(store) > 2 * self.predicates


def _predicates(store: Store) -> int:
    return len(store.snapshot().predicates.domain)


def _read(attribute: Attribute, value: Any) -> Any:
    """A value as all that it may be read as.

    Text in a map of strings is read as what its attribute is compared with, and a profile does not know which of its
    strings come from such maps.
    """
    others = attribute.families - {"string"} if isinstance(value, str | list) else None
    if not others:
        return value
    found = list(members(value))
    for member in members(value):
        if isinstance(member, str):
            found += [value_from_text(member, family) for family in others]
    return found
