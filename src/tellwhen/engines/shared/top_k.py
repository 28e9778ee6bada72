"""Find the k best matches: match tiers of slots, the best first, until no later tier can have a better match.

tiers, the best first     | 4k slots, up to 9.7 | 12k, up to 6.2 | 47k, up to 4.1 | 190k ... |
the k-th best so far                       7.3       ^ no score here is higher: the event is done
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.scores import parse_weights
from tellwhen.containers.batches import select_events, slice_events
from tellwhen.engines.base import Tier
from tellwhen.engines.shared.kernels.top_k import offer_matches, sort_heaps
from tellwhen.errors import ArgumentError, ScoreError, abbreviate
from tellwhen.kernels.arrays import F64, I32, I64, Events

HEAPED_MAX = 1 << 22
"""Elements of all heaps together, at most; more events are ranked in several parts."""


class Best(NamedTuple):
    """The best matches of every event, in descending order."""

    start: I64  # |0|2|5|    matches of event e are slot[start[e]:start[e+1]]
    slot: I32
    score: F64


class Heaps(NamedTuple):
    """A heap of the best matches of every event, with the worst of them at index 0."""

    score: F64  # [events, k]
    slot: I32  # [events, k]
    found: I64  # |2|0|10|    number of matches in each heap

    @classmethod
    def make_empty(cls, events: Events, k: int) -> Heaps:
        count = len(events.single_valued)
        return cls(np.empty((count, k)), np.empty((count, k), dtype=np.int32), np.zeros(count, dtype=np.int64))

    def sort(self) -> Best:
        """Sort the heaps in place, and return their contents."""
        sort_heaps(*self)
        if len(self.found) == 1:  # a third of the time
            count = int(self.found[0])
            return Best(np.array([0, count]), self.slot[0, :count], self.score[0, :count])
        is_used = np.arange(self.slot.shape[1]) < self.found[:, None]
        return Best(np.concatenate([[0], np.cumsum(self.found)]), self.slot[is_used], self.score[is_used])


def rank_in_parts(rank: Callable[[Events], Best], events: Events, k: int) -> Best:
    """Rank the events in parts whose heaps have at most HEAPED_MAX elements."""
    count, step = len(events.single_valued), max(1, HEAPED_MAX // k)
    if 0 < count <= step:
        return rank(events)
    return join_rankings([rank(slice_events(events, at, min(at + step, count))) for at in range(0, count, step)])


def find_best(tiers: Sequence[Tier], events: Events, k: int, scores: F64) -> Best:
    """Find the k best matches of each event; scores[slot] is the score of a slot."""
    rank = _rank_event if len(events.single_valued) == 1 else _rank_events
    return rank_in_parts(lambda part: rank(tiers, part, k, scores), events, k)


EMPTY_RANKING = Best(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))


def join_rankings(parts: list[Best]) -> Best:
    """Concatenate the rankings of several parts of the events."""
    parts = [EMPTY_RANKING, *parts]  # there may be no parts
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    slots, scores = np.concatenate([part.slot for part in parts]), np.concatenate([part.score for part in parts])
    return Best(np.concatenate([[0], np.cumsum(lengths)]), slots, scores)


def _rank_events(tiers: Sequence[Tier], events: Events, k: int, scores: F64) -> Best:
    heaps, total = Heaps.make_empty(events, k), len(events.single_valued)
    rows = np.arange(total)
    for tier in tiers:
        rows = rows[_can_improve(tier, heaps.found[rows], heaps.score[rows, 0], heaps.slot[rows, 0], k)]
        if not len(rows):
            break
        matches = tier.reader.match(events if len(rows) == total else select_events(events, rows))
        offer_matches(matches.start, matches.slot, rows, scores, tier.elsewhere, *heaps)
    return heaps.sort()


ROW = np.zeros(1, dtype=np.int64)


def _rank_event(tiers: Sequence[Tier], event: Events, k: int, scores: F64) -> Best:
    """Rank a single event, in a third of the time that `_rank_events` takes."""
    heaps = Heaps.make_empty(event, k)
    for tier in tiers:
        if heaps.found[0] == k:
            score = heaps.score[0, 0]
            if score > tier.score or (score == tier.score and heaps.slot[0, 0] < tier.slot):
                break
        matches = tier.reader.match(event)
        offer_matches(matches.start, matches.slot, ROW, scores, tier.elsewhere, *heaps)
    return heaps.sort()


def _can_improve(tier: Tier, found: I64, score: F64, slot: I32, k: int) -> np.ndarray:
    """Return by event whether a tier may have a better match than the worst match in the heap of the event."""
    is_worse = (score < tier.score) | ((score == tier.score) & (slot > tier.slot))
    return (found < k) | is_worse


# arguments of users


def validate_k(k: Any) -> int:
    """Return k as an int; raise ArgumentError if it is not a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ArgumentError(f"k must be a whole number of at least 1, not {abbreviate(k)}")
    return int(k)


def validate_weight_factors(weights: Any, relaxed: bool) -> dict[str, float]:
    """Return the factors of attribute weights that a user passed as `weights`."""
    if weights is not None and not relaxed:
        raise ScoreError("weights requires relaxed=True: without it, only the score of a subscription counts")
    return parse_weights(weights) or {}
