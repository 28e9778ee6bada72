"""What has the engine chosen, for how many subscriptions, and does it pay? In words."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from tellwhen.containers.batches import chosen
from tellwhen.errors import pluralize
from tellwhen.index.ids import Id
from tellwhen.index.shard import Shard
from tellwhen.language.literals import shown_name

EVENTS_TO_COUNT = 200
"""Typical events on which the candidates are counted."""

IDS_SHOWN, ATTRIBUTES_SHOWN = 5, 8
PENDING, WAITING = "are pending", "wait for"
"""How parts begin: those that every event is tested against for a while, and those that few events look at."""

MANY_CANDIDATES, CANDIDATES_SHARE, MANY_COMPUTED = 100, 0.25, 200
"""Candidates of an event, and how large a share of all subscriptions, and different computed values, that are worth a
warning."""


class Part(NamedTuple):
    """Some subscriptions that are found in the same way."""

    subscriptions: int
    how: str


class Plan(NamedTuple):
    """What `Index.plan()` returns; print it."""

    engine: str
    subscriptions: int
    parts: list[Part]
    bands: list[tuple[int, float]]
    """Where `top_k` looks for the best, one after the other: sizes and highest scores; empty if all are matched."""
    over_budget: int
    """Subscriptions that the named engine does not take, and that the default engine indexes."""
    always: list[Id]
    """Subscriptions that every event must be tested against."""
    expected: float | None
    """Candidates per event, on the typical events of the profile; None if there are none."""
    observed: float | None
    """Candidates per event, over the `matched` events; None if there are none."""
    matched: int
    """Events matched since the index was opened or built for other events; 0 if the engine does not count them."""
    is_counted: bool
    """Does the engine count candidates?"""
    computed: int
    """Different values that are computed of an event that has their parts, each in some microseconds."""
    is_held_up: bool
    """Is there no room to merge what is pending, because of the `memory_limit`?"""

    @property
    def warnings(self) -> list[str]:
        """What makes matching slow."""
        found = []
        if self.is_held_up:
            found.append(
                "the memory_limit leaves no room to merge what is pending: each of these is tested on every event"
            )
        if self.always:
            few = ", ".join(repr(id_) for id_ in self.always[:IDS_SHOWN])
            more = ", ..." if len(self.always) > IDS_SHOWN else ""
            found.append(
                f"nearly every event is tested against {_counted(len(self.always))}, since nothing rare must be true "
                f"for {'it' if len(self.always) == 1 else 'them'}: {few}{more}"
            )
        met = self.expected if self.observed is None else self.observed
        known = len(self.always) + sum(part.subscriptions for part in self.parts if part.how.startswith(PENDING))
        waits = any(part.how.startswith(WAITING) for part in self.parts)  # other engines look at many by design
        if waits and met is not None and met - known > max(MANY_CANDIDATES, self.subscriptions * CANDIDATES_SHARE):
            found.append(
                f"an event is tested against about {met:,.0f} of {_counted(self.subscriptions)}: what most wait for is "
                "true of many events, as an exclusion is; something rarer that must be true would spare them"
            )
        if self.computed > MANY_COMPUTED:
            found.append(
                f"{self.computed:,} different values are computed of an event that has their parts, each in 1 to 10 us"
            )
        if self.expected is not None and self.observed is not None and self.observed > 2 * self.expected + 10:
            found.append("events are not what the profile says: adapt() chooses again from recent events")
        return found

    def __str__(self) -> str:
        lines = [f"{self.engine}: {_counted(self.subscriptions)}"]
        lines += [f"  {part.subscriptions:>11,}  {part.how}" for part in self.parts]
        if sum(part.subscriptions for part in self.parts) > self.subscriptions:
            lines.append("               (one with an OR may wait for several of them)")
        if len({score for _, score in self.bands}) > 1:
            each = [f"{count:,} of at most {score:,g}" for count, score in self.bands]
            lines.append(f"the best are looked for in {', then '.join(each)}")
        if self.over_budget:
            lines.append(f"  {self.over_budget:>11,}  are over its budget, and in the default engine beside it")
        if self.computed:
            lines.append(f"{pluralize(self.computed, 'value')} computed of every event that has the parts")
        expected = "not known without a profile" if self.expected is None else f"{self.expected:,.1f}"
        events = f"{self.matched:,} event{'' if self.matched == 1 else 's'}"
        uncounted = "none yet" if self.is_counted else "not counted by this engine"
        observed = uncounted if self.observed is None else f"{self.observed:,.1f} in {events}"
        lines.append(f"candidates per event: expected {expected}, observed {observed}")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def _counted(subscriptions: int) -> str:
    return pluralize(subscriptions, "subscription")


def plan(shard: Shard, has_room: bool = True) -> Plan:
    """The plan of a shard; `has_room` tells whether its memory limit leaves room for a merge."""
    engines = shard.engines
    met = engines.counted()
    return Plan(
        engines.spec,
        len(engines),
        _parts(shard),
        engines.bands(),
        len(engines) - len(shard.engine),
        [shard.ids[slot] for slot in engines.always().tolist()],
        _expected(shard),
        met.candidates / met.events if met.events else None,
        met.events,
        engines.counts_candidates,
        sum(map(len, shard.store.attributes.computed.values())),
        not has_room and engines.is_due(),
    )


def _parts(shard: Shard) -> list[Part]:
    """One for each attribute, whatever its domains; of many attributes, one for all that few wait for."""
    named: Counter[str] = Counter()
    others = []
    domains = shard.store.attributes.domains
    for share in shard.engines.shares():
        if share.domain < 0:
            others.append(Part(share.subscriptions, share.how))
        else:
            domain = domains[share.domain]
            pattern = "a pattern of " if domain.kind == "pattern" else ""
            named[f"{share.how} {pattern}{shown_name(domain.attribute)}"] += share.subscriptions
    parts = [Part(count, how) for how, count in named.most_common(ATTRIBUTES_SHOWN)]
    if len(named) > ATTRIBUTES_SHOWN:
        rest = sum(named.values()) - sum(part.subscriptions for part in parts)
        parts.append(Part(rest, f"wait for {len(named) - ATTRIBUTES_SHOWN} other attributes and computed values"))
    return parts + others


def _expected(shard: Shard) -> float | None:
    typical = shard.store.typical()
    if not typical.is_known or not len(typical.weight):
        return None
    some = np.arange(min(EVENTS_TO_COUNT, len(typical.weight)))
    weight = typical.weight[some]
    reader = shard.engines.reader()
    each = [reader.candidates(chosen(typical.events, some[i : i + 1])) for i in range(len(some))]
    return float((weight * each).sum() / weight.sum())
