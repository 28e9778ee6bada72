"""The best k: tiers of subscriptions are matched in the order of what they are worth, until no better one can come.

tiers, the best first     | 4k slots, up to 9.7 | 12k, up to 6.2 | 47k, up to 4.1 | 190k ... |
the k best so far                          7.3       ^ none of these has more: an event ends here
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.scores import checked_weights
from tellwhen.containers.batches import between, chosen
from tellwhen.engines.base import Tier
from tellwhen.errors import ArgumentError, ScoreError, abbreviate
from tellwhen.kernels.arrays import F64, I32, I64, Events
from tellwhen.kernels.best import keep_best, sort_best

HEAPED_MAX = 1 << 22
"""Elements of all heaps at a time: more events are ranked in several parts."""


class Best(NamedTuple):
    """The best matches of every event, the best first."""

    start: I64  # |0|2|5|    those of event e are start[e]:start[e+1]
    slot: I32
    score: F64


class Heaps(NamedTuple):
    """The best so far of every event, the worst of them first."""

    score: F64  # [events, k]
    slot: I32  # [events, k]
    found: I64  # |2|0|10|    how many each event has

    @classmethod
    def of(cls, events: Events, k: int) -> Heaps:
        """Empty ones."""
        count = len(events.single_valued)
        return cls(np.empty((count, k)), np.empty((count, k), dtype=np.int32), np.zeros(count, dtype=np.int64))

    def best(self) -> Best:
        """Their contents, the best first. The heaps are gone then."""
        sort_best(*self)
        if len(self.found) == 1:  # a third of the time
            count = int(self.found[0])
            return Best(np.array([0, count]), self.slot[0, :count], self.score[0, :count])
        is_used = np.arange(self.slot.shape[1]) < self.found[:, None]
        return Best(np.concatenate([[0], np.cumsum(self.found)]), self.slot[is_used], self.score[is_used])


def rank_in_parts(rank: Callable[[Events], Best], events: Events, k: int) -> Best:
    """What `rank` finds, of parts of the events whose heaps are not too large."""
    count, step = len(events.single_valued), max(1, HEAPED_MAX // k)
    if 0 < count <= step:
        return rank(events)
    return join_rankings([rank(between(events, at, min(at + step, count))) for at in range(0, count, step)])


def find_best(tiers: Sequence[Tier], events: Events, k: int, scores: F64) -> Best:
    """The k best of each event, by the scores of all slots."""
    ranked = _ranked_one if len(events.single_valued) == 1 else _ranked
    return rank_in_parts(lambda some: ranked(tiers, some, k, scores), events, k)


NOTHING = Best(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))


def join_rankings(parts: list[Best]) -> Best:
    """Those of several parts of the events."""
    parts = [NOTHING, *parts]
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    slots, scores = np.concatenate([part.slot for part in parts]), np.concatenate([part.score for part in parts])
    return Best(np.concatenate([[0], np.cumsum(lengths)]), slots, scores)


def _ranked(tiers: Sequence[Tier], events: Events, k: int, scores: F64) -> Best:
    heaps, total = Heaps.of(events, k), len(events.single_valued)
    rows = np.arange(total)
    for tier in tiers:
        rows = rows[_is_open(tier, heaps.found[rows], heaps.score[rows, 0], heaps.slot[rows, 0], k)]
        if not len(rows):
            break
        matches = tier.reader.match(events if len(rows) == total else chosen(events, rows))
        keep_best(matches.start, matches.slot, rows, scores, tier.elsewhere, *heaps)
    return heaps.best()


ROW = np.zeros(1, dtype=np.int64)


def _ranked_one(tiers: Sequence[Tier], event: Events, k: int, scores: F64) -> Best:
    """The same for one event, in a third of the time."""
    heaps = Heaps.of(event, k)
    for tier in tiers:
        if heaps.found[0] == k:
            score = heaps.score[0, 0]
            if score > tier.score or (score == tier.score and heaps.slot[0, 0] < tier.slot):
                break
        matches = tier.reader.match(event)
        keep_best(matches.start, matches.slot, ROW, scores, tier.elsewhere, *heaps)
    return heaps.best()


def _is_open(tier: Tier, found: I64, score: F64, slot: I32, k: int) -> np.ndarray:
    """By event, given the worst that it has kept: may the tier have a better one?"""
    is_worse = (score < tier.score) | ((score == tier.score) & (slot > tier.slot))
    return (found < k) | is_worse


# what a user asks for


def validate_k(k: Any) -> int:
    """How many of the best are wanted."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ArgumentError(f"k is a whole number from 1 on, not {abbreviate(k)}")
    return int(k)


def validate_weight_factors(weights: Any, relaxed: bool) -> dict[str, float]:
    """What the weights of attributes are multiplied by."""
    if weights is not None and not relaxed:
        raise ScoreError("the weights of an event are for relaxed=True: otherwise the score of a subscription is given")
    return checked_weights(weights) or {}
