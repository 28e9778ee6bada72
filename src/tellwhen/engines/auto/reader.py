"""Matching with all segments and the pending slots."""

from __future__ import annotations

from tellwhen.engines.auto.segments import Segment, all_readers
from tellwhen.engines.base import Counted, Reader
from tellwhen.engines.shared.calls import Packed, Refiner, Union
from tellwhen.kernels.arrays import I32, Events, Matches, Snapshot


class SegmentsReader(Reader):
    """Reads all segments and the pending slots. It is set up by the first match: most readers are never used."""

    def __init__(self, segments: tuple[Segment, ...], pending: I32, snapshot: Snapshot, counted: Counted) -> None:
        self._segments, self._pending, self._snapshot, self._counted = segments, pending, snapshot, counted
        self._reader: Reader | None = None

    def _made(self) -> Reader:
        snapshot = Packed(self._snapshot)
        found: list[Reader] = []
        if self._segments:
            found += all_readers(self._segments, snapshot, self._counted)
        if len(self._pending) or not found:
            found.append(Refiner(self._pending, snapshot))
        self._reader = found[0] if len(found) == 1 else Union(found)
        return self._reader

    def match(self, events: Events) -> Matches:
        counted, count = self._counted, len(events.single_valued)
        counted.events += count
        counted.candidates += count * len(self._pending)
        return (self._reader or self._made()).match(events)

    def candidates(self, events: Events) -> int:
        return (self._reader or self._made()).candidates(events)
