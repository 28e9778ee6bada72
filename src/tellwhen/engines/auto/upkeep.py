"""Background work of `auto`: merge segments, and choose the faster index for each."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

import numpy as np

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.live_slots import select_alive
from tellwhen.containers.batches import Marginals, slice_events
from tellwhen.containers.memory import release_memory
from tellwhen.engines.atree.build import build_index as build_graph
from tellwhen.engines.auto.bands import cut_bands
from tellwhen.engines.auto.guessed_events import guess_events
from tellwhen.engines.auto.index_choice import TIMED_EVENTS, IndexTimer
from tellwhen.engines.auto.segments import Segment, build_segment, compile_kernel
from tellwhen.engines.base import Upkeep
from tellwhen.kernels.arrays import I32, Snapshot

if TYPE_CHECKING:
    from tellwhen.engines.auto.engine import Auto


class Merge(Upkeep):
    """Merge of the last segments and the pending slots into one segment, or into several bands (`bands.py`)."""

    def __init__(
        self, engine: Auto, count: int, pending: int, slots: I32, snapshot: Snapshot, marginals: Marginals | None
    ) -> None:
        self._engine, self._slots, self._snapshot, self._marginals = engine, slots, snapshot, marginals
        self._scores = engine.source.scores  # they may change meanwhile, but decide only where to cut
        self.count = count  # number of the last segments that the merge replaces
        self.pending = pending  # number of the first pending slots that the merge includes
        self.moves: list[tuple[int, LabelMoves]] = []  # relabellings since the merge began
        self.result: list[Segment]
        self.seconds: float  # duration of the merge
        self.score_changes: int  # number of score changes when the bands were cut

    def run(self) -> None:
        slots = np.sort(select_alive(self._snapshot, self._slots))
        begin = time.monotonic()
        self.score_changes = self._scores.changes
        bands = cut_bands(slots, self._scores, self._engine.limits.bands.band_min)
        group = uuid.uuid4().hex
        self.result = [
            build_segment(self._snapshot, band.slots, self._marginals)._replace(worth=band.worth, group=group)
            for band in bands
        ]
        self.seconds = time.monotonic() - begin
        if len(self._slots) >= self._engine.limits.index_at_once:
            release_memory()

    def finish(self) -> bool:
        return self._engine.adopt(self)


class IndexChoice(Upkeep):
    """Choice of the faster index for a segment that has an index of `cover`."""

    def __init__(self, engine: Auto, segment: Segment, is_graph_wanted: bool) -> None:
        self._engine, self._segment, self._is_graph_wanted = engine, segment, is_graph_wanted
        self._snapshot = engine.source.snapshot()
        typical = engine.source.typical()  # changes with the store, so the needed parts are taken now
        self._marginals = typical.marginals_if_known(self._snapshot.domains)
        self._events = slice_events(typical.events, 0, min(TIMED_EVENTS, len(typical.weight)))
        self._is_presence = engine.source.is_presence()
        self.result: Segment

    def run(self) -> None:
        snapshot, marginals, segment = self._snapshot, self._marginals, self._segment
        slots = select_alive(snapshot, segment.slots)
        graph = None
        if self._is_graph_wanted:
            graph = build_graph(snapshot, slots, marginals)
        elif len(slots):
            is_known = len(self._events.single_valued) > 0
            events = self._events if is_known else guess_events(snapshot, slots, self._is_presence, TIMED_EVENTS)
            timer = IndexTimer(snapshot, marginals, events, self._engine.limits.trials)
            graph = timer.build_if_faster(slots, segment.packed)
        if graph is None:
            self.result = segment._replace(is_settled=True)
        else:
            self.result = compile_kernel(
                Segment.create(slots, graph, template=segment._replace(is_settled=True)), snapshot
            )
        release_memory()

    def finish(self) -> bool:
        return self._engine.replace_segment(self._segment, self.result)
