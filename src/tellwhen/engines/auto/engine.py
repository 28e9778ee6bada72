"""`auto`, the default engine: segments with an index of `cover` or `atree`, merged in the background."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.live_slots import select_alive
from tellwhen.containers.growing import Growing
from tellwhen.engines.atree.kernels.match import match_tree
from tellwhen.engines.atree.verify import check_index as check_graph
from tellwhen.engines.auto.bands import BAND_LIMITS, BandLimits, Bounds
from tellwhen.engines.auto.index_choice import TRIAL_LIMITS, TrialLimits
from tellwhen.engines.auto.reader import SegmentsReader
from tellwhen.engines.auto.segments import (
    Segment,
    count_groups_to_merge,
    count_last_segments,
    count_slots_by_group,
    describe_segments,
    restore_segments,
)
from tellwhen.engines.auto.upkeep import IndexChoice, Merge
from tellwhen.engines.base import INDEX_AT_ONCE, AccessPath, Engine, MatchCounts, Option, Reader, Source, Undo, Upkeep
from tellwhen.engines.cover.arrays import CoverIndex
from tellwhen.engines.cover.kernels.match import match_cover
from tellwhen.engines.cover.postings import (
    ABSENT,
    find_slots_by_domain,
    find_slots_tested_singly,
    find_slots_tested_together,
)
from tellwhen.engines.cover.verify import check_index
from tellwhen.engines.shared.bulk import list_pending_path
from tellwhen.kernels.arrays import F64, I32
from tellwhen.kernels.jit import is_compiled_or_cached

PENDING_MAX = 256
"""Make a segment once more than 256 subscriptions are pending, since these are tested one by one."""

UNCOMPILED_PENDING_MAX = 2_048
"""PENDING_MAX while the kernels of `cover` are not compiled, so that a small index never waits for the compiler."""

FASTEST, COVER, ATREE = range(3)
"""Values of the option `layout`."""

SETTLED_MIN = 1_024
"""Try which index is faster for segments of at least 1,024 slots."""

UNCOMPILED_SETTLED_MIN = 16_384
"""SETTLED_MIN while the kernels of `atree` are not compiled."""

REST_RATIO = 10
"""After making new bands, rest 10 times as long, so that constant changes of scores take a tenth of the time."""

REMOVED_MIN = 64
"""Merge all segments once more than 64 subscriptions are removed and they exceed a quarter of all."""


class AutoLimits(NamedTuple):
    """Limits that decide when `auto` indexes, which segments it times, and how it cuts bands."""

    index_at_once: int = INDEX_AT_ONCE
    settled_min: int = SETTLED_MIN
    uncompiled_settled_min: int = UNCOMPILED_SETTLED_MIN
    trials: TrialLimits = TRIAL_LIMITS
    bands: BandLimits = BAND_LIMITS


class Auto(Engine):
    """Engine of segments, each much smaller than the one before it, and of pending slots that are in no segment yet."""

    name = "auto"
    summary = "cover or atree, in segments that are merged in the background; the default"
    supports = frozenset({"expressions"})
    has_match_counts = True
    limits: ClassVar[AutoLimits] = AutoLimits()
    options: ClassVar[Mapping[str, Option]] = {
        "pending": Option(0, 0, 1 << 30, "subscriptions tested one by one before they are indexed; 0 chooses"),
        "layout": Option(FASTEST, FASTEST, ATREE, "the index of a segment: 0 the faster one, 1 cover, 2 atree"),
    }

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._segments: tuple[Segment, ...] = ()  # the largest first
        self._pending = Growing(np.int32)  # slots
        self._removed = 0
        self._merge: Merge | None = None  # in progress
        self._is_outdated = False  # whether the segments were built for other typical events
        self._match_counts = MatchCounts()
        self._bounds = self._make_bounds()
        self._rests_until = 0.0

    def __len__(self) -> int:
        return sum(self._sizes) + self._pending.count - self._removed

    @property
    def _sizes(self) -> list[int]:
        """Number of slots of every segment."""
        return [len(segment.slots) for segment in self._segments]

    def _make_bounds(self, before: Bounds | None = None) -> Bounds:
        return Bounds(self._segments, self.source.scores, before, self.limits.bands)

    # changing

    def insert(self, slots: I32) -> None:
        self._pending.extend(slots)
        if len(slots) >= self.limits.index_at_once:
            self._merge_now(self._count_segments_to_merge())

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)

    def update_scores(self, slots: I32, scores: F64, before: int) -> None:
        if self._bounds.changes == before:
            self._bounds.update_scores(slots, scores, self.source.scores)
        else:  # an earlier change was interrupted
            self._bounds = self._make_bounds()

    def rebuild(self) -> None:
        self._match_counts = MatchCounts()  # the new index may be for other events
        if self._segments or self._pending.count > self._choose_pending_max():
            self._merge_now(len(self._segments))
        self.run_upkeep()

    def relabel(self, moves: Sequence[tuple[int, LabelMoves]]) -> None:
        self._segments = tuple(segment.relabel(moves) for segment in self._segments)
        self._bounds = self._make_bounds(self._bounds)
        if self._merge is not None:
            self._merge.moves.extend(moves)

    def mark(self) -> Undo:
        segments, pending, removed, is_outdated = self._segments, self._pending, self._removed, self._is_outdated
        bounds = self._bounds
        pending_count = pending.count

        def undo() -> None:
            self._segments, self._pending, self._removed, self._is_outdated = segments, pending, removed, is_outdated
            pending.count = pending_count
            self._bounds = bounds
            self._merge = None  # it may have seen moves that are undone now

        return undo

    # merging

    def is_due(self) -> bool:
        return self._count_due_segments() is not None or self._find_undecided() is not None

    def upkeep(self) -> Upkeep | None:
        count = self._count_due_segments()
        if count is not None:
            self._merge = self._create_merge(count)
            return self._merge
        segment = self._find_undecided()
        return None if segment is None else IndexChoice(self, segment, self.option["layout"] == ATREE)

    def _find_undecided(self) -> Segment | None:
        """Return a segment whose faster index is not known yet, or None."""
        if self.option["layout"] == COVER:
            return None
        if self.option["layout"] == ATREE:
            least = 1
        else:
            least = self.limits.settled_min if is_compiled_or_cached(match_tree) else self.limits.uncompiled_settled_min
        return next((one for one in self._segments if not one.is_settled and len(one.slots) >= least), None)

    def _count_due_segments(self) -> int | None:
        """Count the last segments that must be merged with the pending slots now; None if no merge is due."""
        total = len(self) + self._removed
        if self._removed > max(REMOVED_MIN, total // 4) or (self._is_outdated and self._segments):
            return len(self._segments)
        if self._bounds.is_disordered and time.monotonic() > self._rests_until:
            return len(self._segments)
        if self._pending.count > self._choose_pending_max():
            return self._count_segments_to_merge()
        return None

    def _count_segments_to_merge(self) -> int:
        """Count the last segments that the next merge of pending slots takes in, whether or not it is due."""
        return count_last_segments(
            self._segments, count_groups_to_merge(count_slots_by_group(self._segments), self._pending.count)
        )

    def _choose_pending_max(self) -> int:
        if self.option["pending"]:
            return self.option["pending"]
        return PENDING_MAX if self._segments or is_compiled_or_cached(match_cover) else UNCOMPILED_PENDING_MAX

    def _create_merge(self, count: int) -> Merge:
        snapshot = self.source.snapshot()
        marginals = self.source.typical().marginals_if_known(snapshot.domains)
        inputs = self._segments[len(self._segments) - count :]
        slots = np.concatenate([*(segment.slots for segment in inputs), self._pending.view])
        return Merge(self, count, self._pending.count, slots, snapshot, marginals)

    def _merge_now(self, count: int) -> None:
        self._merge = self._create_merge(count)
        self._merge.run()
        self._merge.finish()

    def adopt(self, merge: Merge) -> bool:
        """Put the result of a merge in place; False if it is obsolete, because the segments have changed since."""
        if self._merge is not merge:
            return False
        self._merge = None
        is_recut = self._bounds.is_disordered
        kept = self._segments[: len(self._segments) - merge.count]
        made = [segment.relabel(merge.moves) if merge.moves else segment for segment in merge.result]
        self._segments = (*kept, *made)
        self._pending = Growing(np.int32, self._pending.view[merge.pending :].copy())
        self._removed = self._count_removed()
        self._is_outdated = self._is_outdated and bool(kept)
        self._bounds = self._make_bounds(self._bounds)
        if merge.score_changes != self.source.scores.changes:
            self._bounds.check_disorder(self.source.scores)
        if is_recut:
            self._rests_until = time.monotonic() + REST_RATIO * merge.seconds
        return True

    def replace_segment(self, before: Segment, after: Segment) -> bool:
        """Replace a segment by one with another index of the same slots; return False if the segment is gone."""
        if not any(one is before for one in self._segments):
            return False
        self._segments = tuple(after if one is before else one for one in self._segments)
        self._bounds = self._make_bounds(self._bounds)
        self._removed = self._count_removed()
        if after.is_graph:
            self._match_counts = MatchCounts()  # the old counts do not apply to the new index
        return True

    # reading

    def reader(self) -> Reader:
        return SegmentsReader(
            self._segments, self._pending.view, self.source.snapshot(), self._match_counts, self._bounds
        )

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"pending": self._pending.view, **describe_segments(self._segments)}
        for segment in self._segments:
            named |= segment.name_arrays()
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._segments = tuple(restore_segments(arrays))
        self._pending = Growing(np.int32, arrays["pending"])
        self._bounds = self._make_bounds()
        self._removed = self._count_removed()

    def _count_removed(self) -> int:
        snapshot = self.source.snapshot()
        mine = (*(segment.slots for segment in self._segments), self._pending.view)
        return sum(len(slots) - len(select_alive(snapshot, slots)) for slots in mine)

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "pending": self._pending.count,
            "segments": self._sizes,
            "in atree": sum(len(segment.slots) for segment in self._segments if segment.is_graph),
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }

    def list_access_paths(self) -> list[AccessPath]:
        found: dict[int, int] = {}
        snapshot = self.source.snapshot()
        indexes = self._list_cover_indexes()
        for index in indexes:
            for domain, slots in find_slots_by_domain(index).items():
                found[domain] = found.get(domain, 0) + len(select_alive(snapshot, slots))
        paths = [AccessPath(count, "wait for", domain) for domain, count in found.items()]
        at_once = sum(
            len(select_alive(snapshot, find_slots_tested_together(index))) for index in self._list_cover_indexes()
        )
        if at_once:
            paths.append(AccessPath(at_once, "are tested on every event, up to 512 at a time"))
        shared = sum(len(select_alive(snapshot, segment.slots)) for segment in self._segments if segment.is_graph)
        if shared:
            why = ", which was faster when measured here" if self.option["layout"] == FASTEST else ""
            paths.append(AccessPath(shared, f"are in a graph in which equal parts are one node (atree){why}"))
        return paths + list_pending_path(len(select_alive(snapshot, self._pending.view)))

    def list_bands(self) -> list[tuple[int, float]]:
        bounds = self._bounds
        return [(len(self._segments[place].slots), float(bounds.score[place])) for place in bounds.list_best_first()]

    def find_always_tested(self) -> I32:
        is_absent = self._is_often_absent()
        found = [find_slots_tested_singly(index, is_absent) for index in self._list_cover_indexes()]
        slots = np.concatenate([self._pending.view[:0], *found])
        return np.sort(select_alive(self.source.snapshot(), slots))

    def _list_cover_indexes(self) -> list[CoverIndex]:
        """Return the indexes of all segments that are indexed by `cover`, not by `atree`."""
        return [segment.packed.arrays for segment in self._segments if not segment.is_graph]

    def _is_often_absent(self) -> NDArray[np.bool_]:
        """Return by domain whether it is the presence domain of an attribute that most events lack, or may lack."""
        is_presence = self.source.is_presence()
        marginals = self.source.typical().marginals_if_known(len(is_presence))
        if marginals is not None:
            domain = np.repeat(np.arange(len(is_presence)), np.diff(marginals.start))
            absent = np.bincount(domain, marginals.share * (marginals.point == ABSENT), len(is_presence))
            is_presence = is_presence & (absent > 0.5)
        return is_presence

    def match_counts(self) -> MatchCounts:
        return self._match_counts

    def adapt(self) -> None:
        self._is_outdated = True
        self._merge = None  # it began for other events
        self._match_counts = MatchCounts()

    def verify(self) -> None:
        snapshot = self.source.snapshot()
        mine = [*(segment.slots for segment in self._segments), self._pending.view]
        slots = np.concatenate(mine)
        assert len(np.unique(slots)) == len(slots), "a slot is in two places"
        assert self._removed == self._count_removed()
        for segment in self._segments:
            check = check_graph if segment.is_graph else check_index
            check(segment.packed.arrays, segment.slots, snapshot)
