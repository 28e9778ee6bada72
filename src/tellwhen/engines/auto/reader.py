"""The reader of all segments and the pending slots."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.auto.bands import Bounds
from tellwhen.engines.auto.segments import Segment, make_segment_readers
from tellwhen.engines.base import MatchCounts, Reader, Tier
from tellwhen.engines.shared.calls import Packed, Refiner, Union
from tellwhen.kernels.arrays import I32, Events, Matches, Snapshot


class SegmentsReader(Reader):
    """Reader of all segments and the pending slots, set up on the first match, because most readers are never used."""

    def __init__(
        self, segments: tuple[Segment, ...], pending: I32, snapshot: Snapshot, match_counts: MatchCounts, bounds: Bounds
    ) -> None:
        self._segments, self._pending, self._snapshot, self._match_counts = segments, pending, snapshot, match_counts
        self._bounds = bounds
        self._reader: Reader | None = None
        self._parts: list[Reader] | None = None  # readers of the segments, for tiers
        self._ranked: tuple[int, list[Tier]] = -1, []  # the changes of scores, and the tiers at that moment

    def _make_reader(self) -> Reader:
        snapshot = Packed(self._snapshot)
        found = make_segment_readers(self._segments, snapshot, self._match_counts) if self._segments else []
        if len(self._pending) or not found:
            found.append(Refiner(self._pending, snapshot))
        self._reader = found[0] if len(found) == 1 else Union(found)
        return self._reader

    def match(self, events: Events) -> Matches:
        match_counts, count = self._match_counts, len(events.single_valued)
        match_counts.events += count
        match_counts.candidates += count * len(self._pending)
        return (self._reader or self._make_reader()).match(events)

    def count_candidates(self, events: Events) -> int:
        return (self._reader or self._make_reader()).count_candidates(events)

    def list_tiers(self, changes: int) -> list[Tier]:
        bounds = self._bounds
        if bounds.changes != changes:  # the bounds of a later reader were updated instead
            return super().list_tiers(changes)
        known, found = self._ranked
        if known == changes:
            return found
        parts = self._parts
        if parts is None:  # without counting candidates, since a tier is not the whole index
            parts = self._parts = make_segment_readers(self._segments, Packed(self._snapshot)) if self._segments else []
        found = []
        apart = np.concatenate([self._pending, bounds.raised.view])
        if len(apart):
            found.append(Tier(Refiner(apart, self._snapshot), np.inf, 0))
        for place in bounds.list_best_first():
            score, slot = float(bounds.score[place]), int(bounds.slot[place])
            found.append(Tier(parts[place], score, slot, bounds.is_raised))
        self._ranked = changes, found
        return found
