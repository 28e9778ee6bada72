"""What do the numbers in the arrays of an index mean? Its predicates, domains, points and slots in a user's words.

words = Words(index)
words.predicate(5)           "price <= 40"
words.stretch(2, 41, 80)     "20 < price <= 40", the points of a domain from one to another, such as a space
words.domain(2)              "price"
words.value(2, 80)           "40"
words.subscription(7)        "anna"
words.entries(event)         {2: 80}: the points of an event by domain
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import tellwhen as tw
from tellwhen.compile.attributes import DomainKind
from tellwhen.compile.wording import End, Intervals, Wording, intervals
from tellwhen.encode.events import EventEncoder
from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST
from tellwhen.language.literals import get_display_name


def structure(index: tw.Index) -> Any:
    """The arrays of an index: the NamedTuple that its engine has built."""
    engine: Any = index._shard.engine
    return engine._index


class Chained(Wording):
    """Writes an interval in the order of its points: 20 < price <= 40."""

    def between(self, name: str, first: End, last: End) -> str:
        left, right = "<=" if first.is_inside else "<", "<=" if last.is_inside else "<"
        return f"{first.constant} {left} {name} {right} {last.constant}"


class Words:
    """The words of one index."""

    def __init__(self, index: tw.Index) -> None:
        self._index = index
        shard = index._shard
        self._attributes = shard.store.attributes
        self._wording = Chained(self._attributes)
        self.snapshot = shard.store.snapshot()

    # subscriptions and predicates

    def subscription(self, slot: int) -> str:
        """The id of a slot."""
        return str(self._index._shard.ids[int(slot)])

    def subscriptions(self, slots: Any) -> list[str]:
        """The ids of some slots, in the order of the slots."""
        return [self.subscription(slot) for slot in sorted(int(slot) for slot in slots)]

    def predicates(self, slot: int) -> list[int]:
        """The predicates of a slot that is a conjunction."""
        subscriptions = self.snapshot.subscriptions
        return [int(p) for p in subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]]

    def predicate(self, number: int) -> str:
        """What a predicate asks for."""
        return self._wording.predicate(self.snapshot.predicates, number)

    def intervals(self, number: int) -> Intervals:
        """The intervals of a predicate."""
        return intervals(self.snapshot.predicates, number)

    def is_satisfied(self, number: int, entries: Mapping[int, int]) -> bool:
        """Does a point of an event, of those by domain, lie in the predicate?"""
        point = entries.get(int(self.snapshot.predicates.domain[number]))
        return point is not None and any(low <= point <= high for low, high in self.intervals(number))

    # domains and their points

    def domain(self, number: int) -> str:
        """The attribute of a domain."""
        return get_display_name(self._attributes.domains[number].attribute)

    def kind(self, number: int) -> DomainKind:
        """How values become points on a domain."""
        return self._attributes.domains[number].kind

    def entries(self, event: Mapping[str, Any]) -> dict[int, int]:
        """The points of an event with one value for each attribute, by domain."""
        encoder = EventEncoder(self._attributes, self._index._schema)
        encoder.add(event)
        events = encoder.finish()
        assert events.single_valued[0], "an event in a picture has one value for each attribute"
        return {int(domain): int(point) for domain, point in zip(events.domain, events.low, strict=True)}

    def value(self, domain: int, point: int) -> str:
        """A value at a point that is exactly one value: a constant of some subscription, or a number."""
        return self._wording.value(domain, point)

    def stretch(self, domain: int, low: int, high: int) -> str:
        """The points from a low one to a high one, both included: an interval, or a space."""
        return self.said(domain, [(int(low), int(high))])

    def said(self, domain: int, found: Intervals) -> str:
        """Intervals of a domain as a predicate."""
        return self._wording.said(domain, found)


class Spaces:
    """The spaces of all domains, by number: domain d with c cuts has c + 1, numbered from cut_start[d] + d on."""

    def __init__(self, words: Words, cut_start: I64, cuts: I64) -> None:
        self._words, self._cuts = words, cuts.tolist()
        self._cut_start = cut_start.tolist()

    def of(self, domain: int, point: int) -> int:
        """The space that a point lies in. A space begins with its cut."""
        return bisect_right(self._cuts, point, self._cut_start[domain], self._cut_start[domain + 1]) + domain

    def domain(self, space: int) -> int:
        """The domain of a space."""
        firsts = [start + domain for domain, start in enumerate(self._cut_start)]
        return bisect_right(firsts, space) - 1

    def on(self, domain: int) -> range:
        """The spaces of a domain."""
        return range(self._cut_start[domain] + domain, self._cut_start[domain + 1] + domain + 1)

    def said(self, first: int, last: int | None = None) -> str:
        """What the values of a space, or of neighbouring spaces up to `last`, have in common."""
        domain = self.domain(first)
        all_of_it, end = self.on(domain), first if last is None else last
        low = LOWEST if first == all_of_it[0] else self._cuts[first - domain - 1]
        high = HIGHEST if end == all_of_it[-1] else self._cuts[end - domain] - 1
        return self._words.stretch(domain, low, high)
