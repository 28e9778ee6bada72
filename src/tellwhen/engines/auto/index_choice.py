"""Choose the faster index for a segment, `cover` or `atree`, by timing both on typical or guessed events.

`cover` tests candidates 512 at a time, or one by one. `atree` evaluates a part that several subscriptions share only
once. So `cover` is faster for conjunctions and for few candidates, and `atree` for expressions with many common parts.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from tellwhen.containers.batches import Marginals
from tellwhen.engines.atree.arrays import ATreeIndex
from tellwhen.engines.atree.build import build_index as build_graph
from tellwhen.engines.atree.reader import make_reader as make_graph_reader
from tellwhen.engines.base import Reader
from tellwhen.engines.cover.build import build_index as build_cover
from tellwhen.engines.cover.reader import make_readers
from tellwhen.engines.shared.calls import Packed
from tellwhen.kernels.arrays import I32, Events, Snapshot

TIMED_EVENTS = 64
"""Events that are timed."""

TRIAL_SECONDS_MIN = 10e-6
"""`atree` is not tried if `cover` matches an event in less than 10 microseconds."""

SAMPLED_SLOTS = 16_384
"""For a large segment, 16,384 of its slots are tried first."""

SAMPLE_SPEEDUP_MIN, SPEEDUP_MIN = 0.6, 1.2
"""`atree` must be 0.6 times as fast as `cover` on a sample, since more slots share more, and 1.2 times on all slots."""


class TrialLimits(NamedTuple):
    """Limits of the trials of `atree`."""

    seconds_min: float = TRIAL_SECONDS_MIN
    sampled_slots: int = SAMPLED_SLOTS


TRIAL_LIMITS = TrialLimits()


class IndexTimer:
    """Builds and times indexes of slots of one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        marginals: Marginals | None,
        events: Events,
        limits: TrialLimits = TRIAL_LIMITS,
    ) -> None:
        self._snapshot, self._marginals, self._events = Packed(snapshot), marginals, events
        self._limits = limits

    def build_if_faster(self, slots: I32, packed: Packed) -> ATreeIndex | None:
        """Build the index of `atree` for some slots; return None unless it is faster than their index of `cover`."""
        by_cover = make_readers([packed], self._snapshot)[0]
        if self._measure_seconds_per_event(by_cover) < self._limits.seconds_min:
            return None
        sampled = self._limits.sampled_slots
        if len(slots) > 2 * sampled and self._measure_speedup(_sample_slots(slots, sampled)) < SAMPLE_SPEEDUP_MIN:
            return None
        graph = self._build_graph(slots)
        return graph if self._compute_speedup(by_cover, self._make_graph_reader(graph)) >= SPEEDUP_MIN else None

    def _measure_speedup(self, slots: I32) -> float:
        by_cover = make_readers([Packed(build_cover(self._snapshot.arrays, slots, self._marginals))], self._snapshot)
        return self._compute_speedup(by_cover[0], self._make_graph_reader(self._build_graph(slots)))

    def _build_graph(self, slots: I32) -> ATreeIndex:
        return build_graph(self._snapshot.arrays, slots, self._marginals)

    def _make_graph_reader(self, graph: ATreeIndex) -> Reader:
        return make_graph_reader(Packed(graph), self._snapshot)

    def _compute_speedup(self, before: Reader, after: Reader) -> float:
        return self._measure_seconds_per_event(before) / self._measure_seconds_per_event(after)

    def _measure_seconds_per_event(self, reader: Reader) -> float:
        """Measure the seconds per event: the least of four runs, since other processes use the machine too."""
        least = np.inf
        for _ in range(4):  # the first run may compile the kernel
            begin = time.perf_counter()
            reader.match(self._events)
            least = min(least, time.perf_counter() - begin)
        return least / max(1, len(self._events.single_valued))


def _sample_slots(slots: I32, count: int) -> I32:
    return np.sort(np.random.default_rng(0).choice(slots, count, replace=False))
