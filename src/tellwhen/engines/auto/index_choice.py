"""Which index is faster for a segment, `cover` or `atree`? Both are timed, on typical events or on guessed ones.

`cover` tests candidates 512 at a time, or one by one; `atree` evaluates what several subscriptions share only once. So
`cover` wins on conjunctions and wherever few are candidates, and `atree` where expressions have many parts in common.
"""

from __future__ import annotations

import time

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
"""An event that `cover` matches in less is not worth a second index."""

SAMPLED_SLOTS = 16_384
"""Of a larger segment, this many slots are tried first."""

SAMPLE_SPEEDUP_MIN, SPEEDUP_MIN = 0.6, 1.2
"""On a sample `atree` must be at least 0.6 times as fast as `cover`: more slots share more. On all, 1.2 times."""


class IndexTimer:
    """Builds and times indexes of slots of one snapshot."""

    def __init__(self, snapshot: Snapshot, marginals: Marginals | None, events: Events) -> None:
        self._snapshot, self._marginals, self._events = Packed(snapshot), marginals, events

    def build_if_faster(self, slots: I32, packed: Packed) -> ATreeIndex | None:
        """The index of `atree` for these slots, if it is clearly faster than that of `cover`, which is given."""
        by_cover = make_readers([packed], self._snapshot)[0]
        if self._measure_seconds(by_cover) < TRIAL_SECONDS_MIN:
            return None
        if len(slots) > 2 * SAMPLED_SLOTS and self._measure_speedup(_sample_slots(slots)) < SAMPLE_SPEEDUP_MIN:
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

    def _compute_speedup(self, one: Reader, other: Reader) -> float:
        """How many times as fast the other one is."""
        return self._measure_seconds(one) / self._measure_seconds(other)

    def _measure_seconds(self, reader: Reader) -> float:
        """Of an event; the shortest of some runs, since others use this machine too."""
        least = np.inf
        for _ in range(4):  # the first may compile the kernel
            begin = time.perf_counter()
            reader.match(self._events)
            least = min(least, time.perf_counter() - begin)
        return least / max(1, len(self._events.single_valued))


def _sample_slots(slots: I32) -> I32:
    return np.sort(np.random.default_rng(0).choice(slots, SAMPLED_SLOTS, replace=False))
