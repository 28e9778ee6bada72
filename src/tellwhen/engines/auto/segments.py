"""Segments: indexes of disjoint slots, each built once and never changed.

As in Lucene, new slots are pending until there are enough of them for a segment, and small segments are merged into
larger ones. Merges run in the background, so that no change waits for one.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.containers.array_names import flatten, select_prefix, unflatten
from tellwhen.containers.batches import NO_EVENTS, Marginals
from tellwhen.engines.atree.arrays import ATreeIndex
from tellwhen.engines.atree.reader import make_reader
from tellwhen.engines.base import MatchCounts, Reader
from tellwhen.engines.cover.arrays import CoverIndex
from tellwhen.engines.cover.build import build_index, relabel_index
from tellwhen.engines.cover.reader import make_readers
from tellwhen.engines.shared.calls import Packed
from tellwhen.engines.shared.stabbing import relabel_stabbing
from tellwhen.kernels.arrays import I32, Snapshot

MERGE_RATIO = 4
"""Merge a group of segments with all smaller groups once these together exceed a quarter of its size."""

KINDS: dict[str, type[CoverIndex] | type[ATreeIndex]] = {"cover": CoverIndex, "atree": ATreeIndex}
"""The kinds of index of a segment, by the prefix of the segment's name."""


class Segment(NamedTuple):
    """Slots and their index."""

    name: str
    """A unique name: arrays that were saved under it need not be saved again."""
    slots: I32
    packed: Packed
    """A `CoverIndex` or an `ATreeIndex`."""
    is_settled: bool
    """Whether this is the faster index; False if the other kind was not tried yet."""
    worth: float = math.nan
    """The highest score of the slots when they were chosen; NaN if unknown."""
    group: str = ""
    """The name of the segment's group: the segments that one merge has made, which are also merged together."""

    @classmethod
    def create(cls, slots: I32, index: CoverIndex | ATreeIndex, template: Segment | None = None) -> Segment:
        """Create a segment with a new name; all other fields are those of `template`, if given."""
        kind = "cover" if isinstance(index, CoverIndex) else "atree"
        name = f"{kind}-{uuid.uuid4().hex}"
        if template is None:
            return cls(name, slots, Packed(index), is_settled=False)
        return template._replace(name=name, slots=slots, packed=Packed(index))

    @property
    def is_graph(self) -> bool:
        """Whether the index is one of `atree`."""
        return isinstance(self.packed.arrays, ATreeIndex)

    def relabel(self, moves: Sequence[tuple[int, LabelMoves]]) -> Segment:
        """Return the same segment after some domains were relabelled."""
        index: CoverIndex | ATreeIndex = self.packed.arrays
        if isinstance(index, ATreeIndex):
            index = index._replace(stabbing=relabel_stabbing(index.stabbing, moves))
        else:
            index = relabel_index(index, moves)
        return Segment.create(self.slots, index, template=self)

    def name_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, to be saved."""
        named = {"slots": self.slots, **flatten(self.packed.arrays)}
        return {f"{self.name}.{name}": array for name, array in named.items()}


def restore_segments(arrays: Mapping[str, np.ndarray]) -> list[Segment]:
    """Restore the segments from saved arrays, in the order in which they were saved."""
    names = dict.fromkeys(name.partition(".")[0] for name in arrays if name.partition("-")[0] in KINDS)
    segments = []
    for name, is_settled, group in zip(names, arrays["is_settled"].tolist(), arrays["group"].tolist(), strict=True):
        named, kind = select_prefix(arrays, name), KINDS[name.partition("-")[0]]
        index = Packed(unflatten(kind, named))
        segments.append(Segment(name, named["slots"], index, bool(is_settled), group=f"saved {group}"))
    return segments


def describe_segments(segments: Sequence[Segment]) -> dict[str, np.ndarray]:
    """Return the arrays that `restore_segments` needs besides those of each segment."""
    groups = list(dict.fromkeys(segment.group for segment in segments))
    return {
        "is_settled": np.array([segment.is_settled for segment in segments], dtype=np.uint8),
        "group": np.array([groups.index(segment.group) for segment in segments], dtype=np.int32),
    }


def count_slots_by_group(segments: Sequence[Segment]) -> list[int]:
    """Return the number of slots in all segments of each group, in the order of the segments."""
    counts: dict[str, int] = {}
    for segment in segments:
        counts[segment.group] = counts.get(segment.group, 0) + len(segment.slots)
    return list(counts.values())


def count_last_segments(segments: Sequence[Segment], count: int) -> int:
    """Return how many segments the last `count` groups have."""
    groups = list(dict.fromkeys(segment.group for segment in segments))
    return sum(segment.group in groups[len(groups) - count :] for segment in segments)


def make_segment_readers(
    segments: Sequence[Segment], snapshot: Packed, match_counts: MatchCounts | None = None
) -> list[Reader]:
    """Return a reader of each segment, in their order."""
    covers = [segment.packed for segment in segments if not segment.is_graph]
    cover_readers = iter(make_readers(covers, snapshot, match_counts) if covers else [])
    return [
        make_reader(one.packed, snapshot, match_counts) if one.is_graph else next(cover_readers) for one in segments
    ]


def count_groups_to_merge(sizes: list[int], new_slots: int) -> int:
    """Count the smallest groups of segments to merge with `new_slots` new slots.

    `sizes` has the slots of each group, the largest first.
    """
    merged = 0
    while merged < len(sizes) and sizes[-1 - merged] < MERGE_RATIO * new_slots:
        new_slots += sizes[-1 - merged]
        merged += 1
    return merged


def build_segment(snapshot: Snapshot, slots: I32, marginals: Marginals | None) -> Segment:
    """Build a segment of the slots, and compile its kernel."""
    return compile_kernel(Segment.create(slots, build_index(snapshot, slots, marginals)), snapshot)


def compile_kernel(segment: Segment, snapshot: Snapshot) -> Segment:
    """Compile the matching kernel of a segment, if necessary, so that the first match need not wait for it."""
    make_segment_readers([segment], Packed(snapshot))[0].match(NO_EVENTS)
    return segment
