"""Description of an engine: how it finds which subscriptions, and how many candidates an event has."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from tellwhen.containers.batches import select_events
from tellwhen.errors import pluralize
from tellwhen.index.ids import Id
from tellwhen.index.shard import Shard
from tellwhen.language.literals import get_display_name

PROFILE_EVENTS_MAX = 200
"""Typical events on which the expected candidates are counted."""

IDS_SHOWN, ATTRIBUTES_SHOWN = 5, 8

PENDING, WAITING = "are pending", "wait for"
"""First words of `EnginePart.lookup`: for subscriptions that are tested on every event until the next merge, and for
those that are tested only on events with a certain value."""

CANDIDATES_MIN_TO_WARN, CANDIDATES_SHARE_TO_WARN = 100, 0.25
"""Warn of more candidates per event than both 100 and a quarter of all subscriptions."""

COMPUTED_VALUES_MIN_TO_WARN = 200


class EnginePart(NamedTuple):
    """Subscriptions that the engine finds in the same way.

    Attributes
    ----------
    subscriptions : int
        The number of subscriptions.
    lookup : str
        How the engine finds them, such as "wait for price".
    """

    subscriptions: int
    lookup: str


class EngineDescription(NamedTuple):
    """Description of how an engine finds subscriptions, and of the cost; print it.

    Attributes
    ----------
    engine : str
        The engine with its options.
    subscriptions : int
        The number of subscriptions.
    parts : list of EnginePart
        The subscriptions by the way in which the engine finds them.
    bands : list of (int, float)
        Size and highest score of each band, in the order in which `top_k` searches the bands. Empty if the engine
        ranks without bands.
    over_budget : int
        Subscriptions whose normal form is larger than the engine allows. The default engine indexes them.
    always_tested : list of id
        Subscriptions that are tested on every event.
    expected_candidates : float or None
        Candidates per typical event of the profile; None without a profile.
    observed_candidates : float or None
        Candidates per matched event; None without matched events.
    matched_events : int
        Events matched since the index was opened or the profile changed; 0 if the engine does not count.
    can_count_candidates : bool
        Whether the engine counts candidates.
    computed_values : int
        Different values to compute for an event that has all attributes. Each takes some microseconds.
    is_merge_blocked : bool
        Whether the `memory_limit` leaves no room to merge pending subscriptions.
    """

    engine: str
    subscriptions: int
    parts: list[EnginePart]
    bands: list[tuple[int, float]]
    over_budget: int
    always_tested: list[Id]
    expected_candidates: float | None
    observed_candidates: float | None
    matched_events: int
    can_count_candidates: bool
    computed_values: int
    is_merge_blocked: bool

    @property
    def warnings(self) -> list[str]:
        """Reasons for slow matching."""
        warnings = []
        if self.is_merge_blocked:
            warnings.append(
                "the memory_limit leaves no room to merge pending subscriptions: each is tested on every event"
            )
        if self.always_tested:
            ids = ", ".join(repr(id_) for id_ in self.always_tested[:IDS_SHOWN])
            more = ", ..." if len(self.always_tested) > IDS_SHOWN else ""
            warnings.append(
                f"{_format_count(len(self.always_tested))} must be tested on nearly every event, because no rare "
                f"predicate must be true: {ids}{more}"
            )
        candidates = self.expected_candidates if self.observed_candidates is None else self.observed_candidates
        if candidates is not None and self._has_too_many(candidates):
            warnings.append(
                f"an event is tested against about {candidates:,.0f} of {_format_count(self.subscriptions)}: most wait "
                "for a predicate that many events satisfy, such as an exclusion; add a rarer predicate with AND"
            )
        if self.computed_values > COMPUTED_VALUES_MIN_TO_WARN:
            warnings.append(
                f"{self.computed_values:,} different values are computed for an event that has all attributes, each in "
                "1 to 10 us"
            )
        if (
            self.expected_candidates is not None
            and self.observed_candidates is not None
            and self.observed_candidates > 2 * self.expected_candidates + 10
        ):
            warnings.append(
                "events differ from the profile: optimize_for_recent_events() rebuilds the engine for recent events"
            )
        return warnings

    def _has_too_many(self, candidates: float) -> bool:
        """Return whether an event has far more candidates than pending and always tested subscriptions account for."""
        pending = sum(part.subscriptions for part in self.parts if part.lookup.startswith(PENDING))
        # Only the default engine reports what subscriptions wait for; the others have many candidates by design.
        is_selective = any(part.lookup.startswith(WAITING) for part in self.parts)
        limit = max(CANDIDATES_MIN_TO_WARN, self.subscriptions * CANDIDATES_SHARE_TO_WARN)
        return is_selective and candidates - pending - len(self.always_tested) > limit

    def __str__(self) -> str:
        lines = [f"{self.engine}: {_format_count(self.subscriptions)}"]
        lines += [f"  {part.subscriptions:>11,}  {part.lookup}" for part in self.parts]
        if sum(part.subscriptions for part in self.parts) > self.subscriptions:
            lines.append("               (a subscription with an OR may wait for several attributes)")
        if len({score for _, score in self.bands}) > 1:
            bands = [f"{count:,} with scores up to {score:,g}" for count, score in self.bands]
            lines.append(f"top_k searches {', then '.join(bands)}")
        if self.over_budget:
            lines.append(f"  {self.over_budget:>11,}  are over the budget of the engine, and in the default engine")
        if self.computed_values:
            lines.append(f"{pluralize(self.computed_values, 'value')} computed for an event that has all attributes")
        expected, observed = "unknown without a profile", "none yet"
        if self.expected_candidates is not None:
            expected = f"{self.expected_candidates:,.1f}"
        if not self.can_count_candidates:
            observed = "not counted by this engine"
        if self.observed_candidates is not None:
            events = pluralize(self.matched_events, "event")
            observed = f"{self.observed_candidates:,.1f} in {events} since the index was opened or optimized"
        lines.append(f"candidates per event: expected {expected}, observed {observed}")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def _format_count(subscriptions: int) -> str:
    return pluralize(subscriptions, "subscription")


def describe_engine(shard: Shard, has_room_to_merge: bool) -> EngineDescription:
    """Describe the engine of a shard; `has_room_to_merge` says whether the memory limit allows a merge."""
    engines = shard.engines
    counts = engines.match_counts()
    return EngineDescription(
        engine=engines.spec,
        subscriptions=len(engines),
        parts=_list_parts(shard),
        bands=engines.list_bands(),
        over_budget=len(engines) - len(shard.engine),
        always_tested=[shard.ids[slot] for slot in engines.find_always_tested().tolist()],
        expected_candidates=_count_expected_candidates(shard),
        observed_candidates=counts.candidates / counts.events if counts.events else None,
        matched_events=counts.events,
        can_count_candidates=engines.has_match_counts,
        computed_values=sum(map(len, shard.store.attributes.computed_by_operand.values())),
        # A merge cannot be told from an adaptation to matched events, which does not make matching slow.
        is_merge_blocked=not has_room_to_merge and engines.is_due() and not shard.engine.adapts_while_matching,
    )


def _list_parts(shard: Shard) -> list[EnginePart]:
    """Return a part for each attribute with all its domains; the rarer ones of many attributes share a part."""
    named: Counter[str] = Counter()
    others = []
    domains = shard.store.attributes.domains
    for path in shard.engines.list_access_paths():
        if path.domain < 0:
            others.append(EnginePart(path.subscriptions, path.how))
        else:
            domain = domains[path.domain]
            pattern = "a pattern of " if domain.kind == "pattern" else ""
            named[f"{path.how} {pattern}{get_display_name(domain.attribute)}"] += path.subscriptions
    parts = [EnginePart(count, lookup) for lookup, count in named.most_common(ATTRIBUTES_SHOWN)]
    if len(named) > ATTRIBUTES_SHOWN:
        rest = sum(named.values()) - sum(part.subscriptions for part in parts)
        parts.append(EnginePart(rest, f"wait for {len(named) - ATTRIBUTES_SHOWN} other attributes and computed values"))
    return parts + others


def _count_expected_candidates(shard: Shard) -> float | None:
    """Return the weighted mean of the candidates of the first typical events; None without typical events."""
    typical = shard.store.typical()
    if not typical.has_sample or not len(typical.weight):
        return None
    positions = np.arange(min(PROFILE_EVENTS_MAX, len(typical.weight)))
    weight = typical.weight[positions]
    reader = shard.engines.reader()
    candidates = [
        reader.count_candidates(select_events(typical.events, positions[i : i + 1])) for i in range(len(positions))
    ]
    return float((weight * candidates).sum() / weight.sum())
