"""Typical events: the events of a profile, encoded as points of a store for the engines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.compile.attributes import FAMILY_BY_KIND, Attribute, DomainKind
from tellwhen.compile.store import Store
from tellwhen.containers.batches import EncodedSample, Marginals, sort_by_domain
from tellwhen.encode.events import EventEncoder, find_points
from tellwhen.kernels.arrays import F64, I32, I64, Events
from tellwhen.language.computation import compute_value, get_term
from tellwhen.language.schema import Schema, parse_value
from tellwhen.language.terms import AnyMember, is_computed
from tellwhen.language.values import flatten, iter_members, normalize_value
from tellwhen.profile.profile import Profile

COMPUTED_EVENTS = 256
"""Sampled events from which the values of a computed attribute are computed, at most."""

Entries = tuple[I32, I64, F64]
"""Domains, points on them, and the shares of the events that have each."""


class TypicalEvents(EncodedSample):
    """The events of a profile, encoded for a store on first use, and cached.

    The points of strings depend on the constants in use. So everything is encoded again once the number of predicates
    has doubled. Until then, the sample is encoded again when labels move, and the marginals only for attributes whose
    labels move or that have new domains.
    """

    def __init__(self, profile: Profile, store: Store) -> None:
        super().__init__()
        self._profile, self._store = profile, store
        self._sample, self._values = _EncodedVersion(), _EncodedVersion()
        self._entries: dict[str, Entries] = {}  # by attribute
        self._bounds: list[tuple[float, float]] = []  # by domain
        self._computations: dict[str, list[tuple[Any, float]]] = {}  # by computed attribute: its values, and shares
        self._marginals = Marginals(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))

    @cached_property
    def _attribute_frequency(self) -> dict[str, float]:
        return self._profile.event_frequency

    @cached_property
    def _sampled_events(self) -> list[tuple[dict[str, Any], float]]:
        return self._profile.sample()

    @property
    def has_sample(self) -> bool:
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
        encoder = EventEncoder(attributes, Schema())  # `_read_as_families` reads text
        for event, _ in self._sampled_events:
            # An attribute that no predicate has may be an input of a computed one.
            known = {
                name: _read_as_families(by_name[name], value) if name in by_name else value
                for name, value in event.items()
            }
            encoder.add(known)
        self._events = encoder.finish()
        self._weight = np.array([weight for _, weight in self._sampled_events])
        self._sample = _EncodedVersion(self._store)

    def marginals(self, domains: int) -> Marginals:
        attributes, before = self._store.attributes, self._values.attributes
        if before is None or self._values.has_doubled(self._store):
            self._entries, self._bounds = {}, []
            self._values = _EncodedVersion(self._store)
        stale = dict.fromkeys(domain.attribute for domain in attributes.domains[len(self._bounds) : domains])
        if before is not attributes and before is not None:
            moved = (name for name in self._entries if attributes.by_name[name] is not before.by_name[name])
            stale |= dict.fromkeys(moved)
            self._values.attributes = attributes
        if stale:
            self._entries |= {name: self._encode_attribute(attributes.by_name[name]) for name in stale}
            self._bounds += [
                self._compute_share_bounds(*domain) for domain in attributes.domains[len(self._bounds) : domains]
            ]
            self._marginals = self._assemble_marginals()
        return self._marginals

    def _encode_attribute(self, attribute: Attribute) -> Entries:
        """Return the points of one attribute on all of its domains, with their shares."""
        entries: list[tuple[int, int, float]] = []
        if attribute.presence >= 0:
            present = self._get_share(attribute.name)
            entries += (attribute.presence, 0, 1 - present), (attribute.presence, 1, present)
        for value, share in self._iterate_shares(attribute.name):
            for reading in iter_members(_read_as_families(attribute, value)):
                reduced = normalize_value(reading)
                if reduced is not None:
                    entries += [(domain, point, share) for domain, point in find_points(attribute, reduced)]
        domain, point, shares = zip(*entries, strict=True) if entries else ((), (), ())
        return np.array(domain, np.int32), np.array(point, np.int64), np.array(shares, np.float64)

    def _iterate_shares(self, name: str) -> Iterator[tuple[Any, float]]:
        """Yield the values of an attribute with their shares of the events; of a computed one, those in the sample."""
        if is_computed(name):
            yield from self._compute_values(name)
        else:
            for value, weight in self._profile.weights(name):
                yield value, weight / self._profile.events

    def _get_share(self, name: str) -> float:
        """Return the share of the events that have an attribute."""
        return (
            sum(share for _, share in self._compute_values(name))
            if is_computed(name)
            else self._attribute_frequency.get(name, 0.0)
        )

    def _compute_values(self, name: str) -> list[tuple[Any, float]]:
        if name not in self._computations:
            term, sample = get_term(name), self._sampled_events[:COMPUTED_EVENTS]
            total = sum(weight for _, weight in sample)
            shares = [weight / total for _, weight in sample]
            if isinstance(term, AnyMember):
                # A sample has no objects. Where an event has a list of them, they are assumed to satisfy the predicate.
                likely = [(True, share) for (event, _), share in zip(sample, shares, strict=True) if term.name in event]
                self._computations[name] = likely
            else:
                values = [compute_value(term, flatten(event)) for event, _ in sample]
                self._computations[name] = [
                    (value, share) for value, share in zip(values, shares, strict=True) if value is not None
                ]
        return self._computations[name]

    def _compute_share_bounds(self, name: str, kind: DomainKind) -> tuple[float, float]:
        """Return the least and the greatest share of the events that may have a point on a domain of an attribute."""
        if kind == "presence":  # every event has a point there
            return 1.0, 1.0
        present = self._get_share(name)
        if is_computed(name):
            return present, present
        if kind == "pattern":
            return 0.0, present
        counted = self._profile.families(name).get(FAMILY_BY_KIND[kind] or "", 0) / self._profile.events
        return min(present, counted), present  # an event may have several values

    def _assemble_marginals(self) -> Marginals:
        domain, point, share = (np.concatenate(parts) for parts in zip(*self._entries.values(), strict=True))
        least, most = np.array(self._bounds).T
        # The share exceeds the least one if text is read as numbers or times, or if a pattern matches strings.
        carried = np.minimum(most, np.maximum(least, np.bincount(domain, share, len(least))))
        return Marginals(carried, *sort_by_domain(domain, point, share, len(least)))


class _EncodedVersion:
    """The state of a store at the time of an encoding."""

    def __init__(self, store: Store | None = None) -> None:
        self.attributes = None if store is None else store.attributes
        self.predicates = 0 if store is None else _count_predicates(store)

    def has_doubled(self, store: Store) -> bool:
        return _count_predicates(store) > 2 * self.predicates


def _count_predicates(store: Store) -> int:
    return len(store.snapshot().predicates.domain)


def _read_as_families(attribute: Attribute, value: Any) -> Any:
    """Return a value in all families as which it may be read.

    Text in a map of strings is read in the families of its attribute's predicates, and a profile does not know which of
    its strings come from such maps.
    """
    others = attribute.families - {"string"} if isinstance(value, str | list) else None
    if not others:
        return value
    readings = list(iter_members(value))
    for member in iter_members(value):
        if isinstance(member, str):
            readings += [parse_value(member, family) for family in others]
    return readings
