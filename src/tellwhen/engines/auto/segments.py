"""Segments: each is an index of some slots, built once and never changed.

As in Lucene, new slots are pending until there are enough of them for a segment, and small segments are merged into
larger ones. No change has to wait for a merge, which can be made in the background.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from tellwhen.compile.alive import alive
from tellwhen.compile.dictionary import Moved
from tellwhen.containers.batches import NO_EVENTS, Marginals
from tellwhen.containers.named import flatten, part, unflatten
from tellwhen.engines.cover.arrays import BUCKETS_MAX, CoverIndex
from tellwhen.engines.cover.build import build
from tellwhen.engines.cover.engine import CHUNK_MIN
from tellwhen.engines.cover.reader import readers
from tellwhen.engines.shared.calls import Packed
from tellwhen.kernels.arrays import I32, Snapshot

RATIO = 4
"""A segment is merged with all that is smaller once that exceeds a quarter of its size."""


class Segment(NamedTuple):
    """Some slots and their index."""

    name: str
    """Unique: arrays that were saved under this name need not be saved again."""
    slots: I32
    packed: Packed
    """Its `CoverIndex`."""

    @classmethod
    def of(cls, slots: I32, index: CoverIndex) -> Segment:
        """A new one."""
        return cls(f"segment-{uuid.uuid4().hex}", slots, Packed(index))

    def moved(self, moves: Iterable[tuple[int, Moved]]) -> Segment:
        """The same after some domains were relabelled."""
        index: CoverIndex = self.packed.arrays
        cuts = index.cuts.copy()
        for domain, relabelled in moves:
            if domain < len(index.cut_start) - 1:
                mine = cuts[index.cut_start[domain] : index.cut_start[domain + 1]]
                mine[:] = relabelled.cuts(mine)
        return Segment.of(self.slots, index._replace(cuts=cuts))

    def arrays(self) -> dict[str, np.ndarray]:
        """By name, to be saved."""
        named = {"slots": self.slots, **flatten(self.packed.arrays)}
        return {f"{self.name}.{name}": array for name, array in named.items()}


def restored(arrays: Mapping[str, np.ndarray]) -> list[Segment]:
    """The segments whose `arrays` were saved, in the order in which they were saved."""
    names = dict.fromkeys(name.partition(".")[0] for name in arrays if name.startswith("segment-"))
    found = [(name, part(arrays, name)) for name in names]
    return [Segment(name, mine["slots"], Packed(unflatten(CoverIndex, mine))) for name, mine in found]


def to_merge(sizes: list[int], fresh: int) -> int:
    """How many of the last segments to merge with `fresh` new slots, given the sizes of all segments, descending."""
    merged = 0
    while merged < len(sizes) and sizes[-1 - merged] < RATIO * fresh:
        fresh += sizes[-1 - merged]
        merged += 1
    return merged


def built(snapshot: Snapshot, slots: I32, marginals: Marginals | None) -> Segment:
    """A segment of the live ones of the slots, ready to be matched with."""
    kept = np.sort(alive(snapshot, slots))
    segment = Segment.of(kept, build(snapshot, kept, marginals, CHUNK_MIN, BUCKETS_MAX))
    # Compiles the kernel now, if necessary: otherwise the first match would have to wait for it.
    readers([segment.packed], Packed(snapshot))[0].match(NO_EVENTS)
    return segment
