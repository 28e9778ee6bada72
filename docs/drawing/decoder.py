"""A decoder of the numbers in an index's arrays: slots, predicates, domains and points become texts that a user knows.

decoder = IndexDecoder(index)
decoder.format_predicate(5)           "price <= 40"
decoder.format_interval(2, 41, 80)    "20 < price <= 40", from the first to the last point of an interval on a domain
decoder.name_attribute(2)             "price"
decoder.name_subscription(7)          "anna"
decoder.encode_event(event)           {2: 80}: the points of an event by domain
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import tellwhen as tw
from tellwhen.compile.formatting import IntervalEnd, Intervals, PredicateFormatter, get_intervals
from tellwhen.encode.events import EventEncoder
from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST
from tellwhen.language.literals import get_display_name


def get_arrays(index: tw.Index) -> Any:
    """Return the NamedTuple of arrays that the engine of an index has built."""
    engine: Any = index._shard.engine
    return engine._index


class ChainedFormatter(PredicateFormatter):
    """Formatter that writes an interval in the order of its points: 20 < price <= 40."""

    def format_range(self, name: str, first: IntervalEnd, last: IntervalEnd) -> str:
        left, right = "<=" if first.is_inside else "<", "<=" if last.is_inside else "<"
        return f"{first.constant} {left} {name} {right} {last.constant}"


class IndexDecoder:
    """Decoder of the slots, predicates, domains and points of one index."""

    def __init__(self, index: tw.Index) -> None:
        self._index = index
        shard = index._shard
        self._attributes = shard.store.attributes
        self._formatter = ChainedFormatter(self._attributes)
        self.snapshot = shard.store.snapshot()

    # subscriptions and predicates

    def name_subscription(self, slot: int) -> str:
        """Return the id of the subscription in a slot."""
        return str(self._index._shard.ids[int(slot)])

    def name_subscriptions(self, slots: Any) -> list[str]:
        """Return the ids of the subscriptions in these slots, in the order of the slots."""
        return [self.name_subscription(slot) for slot in sorted(int(slot) for slot in slots)]

    def list_predicates(self, slot: int) -> list[int]:
        """Return the predicates of a subscription that is a conjunction."""
        subscriptions = self.snapshot.subscriptions
        return [int(p) for p in subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]]

    def format_predicate(self, predicate: int) -> str:
        """Return a predicate as a user would write it."""
        return self._formatter.format_predicate(self.snapshot.predicates, predicate)

    def is_satisfied(self, predicate: int, event_points: Mapping[int, int]) -> bool:
        """Return whether an event, given by its points by domain, satisfies a predicate."""
        point = event_points.get(int(self.snapshot.predicates.domain[predicate]))
        accepted = get_intervals(self.snapshot.predicates, predicate)
        return point is not None and any(low <= point <= high for low, high in accepted)

    # domains and their points

    def name_attribute(self, domain: int) -> str:
        """Return the name of the attribute that a domain belongs to."""
        return get_display_name(self._attributes.domains[domain].attribute)

    def encode_event(self, event: Mapping[str, Any]) -> dict[int, int]:
        """Return the points of an event by domain. Every attribute of the event has one value."""
        encoder = EventEncoder(self._attributes, self._index._schema)
        encoder.add(event)
        events = encoder.finish()
        assert events.single_valued[0], "an event in a picture has one value for each attribute"
        return {int(domain): int(point) for domain, point in zip(events.domain, events.low, strict=True)}

    def format_interval(self, domain: int, low: int, high: int) -> str:
        """Return a predicate that accepts the points of a domain from `low` to `high`, both included."""
        return self.format_intervals(domain, [(int(low), int(high))])

    def format_intervals(self, domain: int, accepted: Intervals) -> str:
        """Return a predicate that accepts these intervals of points."""
        return self._formatter.format_intervals(domain, accepted)


class Spaces:
    """The spaces of all domains. Domain d with c cuts has c + 1 spaces, numbered from cut_start[d] + d."""

    def __init__(self, decoder: IndexDecoder, cut_start: I64, cuts: I64) -> None:
        self._decoder, self._cuts = decoder, cuts.tolist()
        self._cut_start = cut_start.tolist()

    def find(self, domain: int, point: int) -> int:
        """Return the space that contains a point. A cut is the first point of a space."""
        return bisect_right(self._cuts, point, self._cut_start[domain], self._cut_start[domain + 1]) + domain

    def get_domain(self, space: int) -> int:
        """Return the domain of a space."""
        first_spaces = [start + domain for domain, start in enumerate(self._cut_start)]
        return bisect_right(first_spaces, space) - 1

    def list_of_domain(self, domain: int) -> range:
        """Return the spaces of a domain."""
        return range(self._cut_start[domain] + domain, self._cut_start[domain + 1] + domain + 1)

    def format(self, first: int, last: int | None = None) -> str:
        """Return a predicate that accepts the values of one space, or of the spaces from `first` to `last`."""
        domain = self.get_domain(first)
        spaces, end = self.list_of_domain(domain), first if last is None else last
        low = LOWEST if first == spaces[0] else self._cuts[first - domain - 1]
        high = HIGHEST if end == spaces[-1] else self._cuts[end - domain] - 1
        return self._decoder.format_interval(domain, low, high)
