"""Bands: a merge puts the subscriptions with the best scores into small segments, so that `top_k` matches few slots.

The k best matches of an event are mostly in the small bands at the top, and then the large bands at the bottom are not
matched at all. `Bounds` has the best rank in each band. Scores may change at any time. The new score of a slot is

    up to the bound of its band                 nothing to do
    up to the bound of the next better band     the bound rises, and slightly more slots are matched than necessary
    beyond                                      the slot is *raised*: tested by itself, besides being in its band

Once that costs too much, all segments are merged into new bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tellwhen.compile.scores import Scores
from tellwhen.containers.growing import Growing
from tellwhen.engines.auto.segments import MERGE_RATIO, Segment
from tellwhen.engines.base import NO_BITS
from tellwhen.kernels.arrays import F64, I32, I64, U8

BAND_MIN = 2_048
"""A band has at least 2,048 slots: matching a smaller one would not be faster."""

RAISED_MAX = 1_024
"""At most 1,024 slots are raised. Any further slot raises the bound of its band instead."""

DISORDER_CHECK_SHARE = 8
"""Check the bands for disorder whenever an eighth of all scores have changed, but at least RAISED_MAX of them."""

REBUILD_RATIO = 4
"""Make new bands once finding the best matches takes four times as many slots as with new bands."""


class BandLimits(NamedTuple):
    """Limits of bands and of raised slots."""

    band_min: int = BAND_MIN
    raised_max: int = RAISED_MAX


BAND_LIMITS = BandLimits()


class Band(NamedTuple):
    """Ascending slots, and the highest of their scores."""

    slots: I32
    worth: float


def cut_bands(slots: I32, scores: Scores, band_min: int = BAND_MIN) -> list[Band]:
    """Cut slots into bands by score, the largest band first: it has the lowest scores. `slots` ascend."""
    if not len(slots):
        return []
    worth = scores.get_scores(slots)
    if len(slots) < MERGE_RATIO * band_min or (worth == worth[0]).all():
        return [Band(slots, float(worth.max()))]
    order = np.lexsort((slots, -worth))
    bands, end = [], len(order)
    while end:
        begin = end // MERGE_RATIO if end // MERGE_RATIO >= band_min else 0
        bands.append(Band(np.sort(slots[order[begin:end]]), float(worth[order[begin]])))
        end = begin
    return bands


class Bounds:
    """The best rank in each segment, without raised slots, and the set of raised slots."""

    def __init__(
        self,
        segments: Sequence[Segment],
        scores: Scores,
        before: Bounds | None = None,
        limits: BandLimits = BAND_LIMITS,
    ) -> None:
        self._segments, self._limits = tuple(segments), limits
        self.changes = scores.changes  # as of the last update
        self.score, self.slot = np.empty(len(segments)), np.empty(len(segments), dtype=np.int64)
        self.raised = Growing(np.int32)
        self.is_raised: U8 = NO_BITS  # a bit for every slot
        self.is_disordered = False
        self._changed = 0  # changed scores since the last check for disorder
        if before is not None and before.changes != scores.changes:
            before = None  # an update is missing there
        # Segments are identified by their slots, which relabelling and the choice of an index preserve.
        known = {} if before is None else {id(segment.slots): place for place, segment in enumerate(before._segments)}
        risen = []
        for place, segment in enumerate(segments):
            if before is not None and id(segment.slots) in known:
                at = known[id(segment.slots)]
                self.score[place], self.slot[place] = before.score[at], before.slot[at]
            else:
                now = scores.get_scores(segment.slots)
                is_risen = now > segment.worth
                self.score[place], self.slot[place] = find_best_rank(segment.slots[~is_risen], now[~is_risen])
                risen.append((place, segment.slots[is_risen], now[is_risen]))
        ordered = np.sort(self.score)
        above = np.searchsorted(ordered, self.score, side="right")
        self._limit = np.append(ordered, np.inf)[above]  # the bound of the next better segment
        if before is not None and len(risen) < len(segments):
            self.is_disordered, self._changed = before.is_disordered, before._changed
            gone = [segments[place].slots for place, *_ in risen]  # raised slots of new segments are marked below
            raised = before.raised.view
            self._mark_raised(raised[~np.isin(raised, np.concatenate([raised[:0], *gone]))])
        for change in risen:
            self._raise_or_extend(*change)

    def list_best_first(self) -> list[int]:
        """Return the numbers of the segments in the order of their bounds, the best first."""
        order: list[int] = np.lexsort((self.slot, -self.score)).tolist()
        return order

    def update_scores(self, slots: I32, scores: F64, all_scores: Scores) -> None:
        """Take over new scores of some slots; `all_scores` has the scores of all slots."""
        highest = scores.max(initial=-np.inf)
        for place, bound in enumerate(self.score.tolist()):
            if highest >= bound:
                mine = (
                    self._find_better(place, slots, scores)
                    if len(slots) > 1
                    else _find_single_slot(self._segments[place], slots)
                )
                if len(mine):
                    self._raise_or_extend(place, slots[mine], scores[mine])
        self.changes = all_scores.changes
        self._changed += len(slots)
        if self._changed > max(self._limits.raised_max, self._total // DISORDER_CHECK_SHARE):
            self.check_disorder(all_scores)
        elif self.raised.count > self._limits.raised_max // 4:
            self.is_disordered = True

    @property
    def _total(self) -> int:
        return sum(len(segment.slots) for segment in self._segments)

    def check_disorder(self, scores: Scores) -> None:
        """Update `is_disordered`: whether new bands are worth their cost."""
        self._changed = 0
        self.is_disordered = self.raised.count > self._limits.raised_max // 4 or self._is_costly(scores)

    def _is_costly(self, scores: Scores) -> bool:
        """Return whether finding the best matches takes many more slots than with new bands."""
        best = total = self._total
        if total < MERGE_RATIO * self._limits.band_min:
            return False
        while best // MERGE_RATIO >= self._limits.band_min:
            best //= MERGE_RATIO
        worth = np.concatenate([scores.get_scores(segment.slots) for segment in self._segments])
        least = np.partition(worth, total - best)[total - best]  # the lowest score in a new best band
        met = sum(
            len(segment.slots)
            for segment, bound in zip(self._segments, self.score.tolist(), strict=True)
            if bound > least
        )
        return met > REBUILD_RATIO * best

    def _find_better(self, place: int, slots: I32, scores: F64) -> I64:
        """Return the positions in `slots` of the slots of segment `place` whose new rank is better than its bound."""
        score, slot, known = self.score[place], self.slot[place], self._segments[place].slots
        mine = ((scores > score) | ((scores == score) & (slots < slot))).nonzero()[0]
        at = known.searchsorted(slots[mine])
        at[at == len(known)] = 0
        return mine[known[at] == slots[mine]]

    def _raise_or_extend(self, place: int, slots: I32, scores: F64) -> None:
        """Raise slots of a segment, or raise its bound to their ranks, which are not worse than the bound."""
        if not len(slots):
            return
        is_far = scores > self._limit[place]
        if self.raised.count + int(is_far.sum()) > self._limits.raised_max:
            is_far[:] = False
        self._mark_raised(slots[is_far])
        if not is_far.all():
            score, slot = find_best_rank(slots[~is_far], scores[~is_far])
            if (score, -slot) > (self.score[place], -self.slot[place]):
                self.score[place], self.slot[place] = score, slot

    def _mark_raised(self, slots: I32) -> None:
        if not len(slots):
            return
        needed = (int(slots.max()) >> 3) + 1
        # A new array, since readers may hold the old one.
        bits = np.zeros(max(needed, len(self.is_raised)), dtype=np.uint8)
        bits[: len(self.is_raised)] = self.is_raised
        slots = slots[bits[slots >> 3] >> (slots & 7) & 1 == 0]
        np.bitwise_or.at(bits, slots >> 3, np.left_shift(1, slots & 7).astype(np.uint8))
        self.is_raised = bits
        self.raised.extend(slots)


def _find_single_slot(segment: Segment, slots: I32) -> list[int]:
    """Return [0] if slots[0], the only slot, is in the segment, else []. Five times as fast as `_find_better`."""
    known = segment.slots
    at = known.searchsorted(slots[0])
    return [0] if at < len(known) and known[at] == slots[0] else []


def find_best_rank(slots: I32, scores: F64) -> tuple[float, int]:
    """Return the highest score, and the lowest slot that has it."""
    if not len(slots):
        return -np.inf, 0
    highest = scores.max()
    return float(highest), int(slots[scores == highest].min())
