"""Ranking by the weights of parts, over a store that grows: all slots with a true part, or all matches.

The slots are divided into segments with an index each: one of most slots, and smaller ones of the slots added later.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.scores import Scores
from tellwhen.compile.store import Store
from tellwhen.containers.array_names import flatten
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Packed, make_sizes, release_memory, take_scratch
from tellwhen.engines.shared.stabbing import make_satisfied_sizes
from tellwhen.engines.shared.top_k import Best, Heaps, rank_in_parts
from tellwhen.kernels.arrays import F64, I32, Events, Snapshot
from tellwhen.language.computation import get_weighted_name
from tellwhen.relaxed.arrays import TALLY_COLUMNS, MatchIndex, MatchScratch, RelaxedIndex, RelaxedScratch
from tellwhen.relaxed.build import build_index, build_match_index
from tellwhen.relaxed.kernels.match import RUN_COLUMNS, rank_relaxed
from tellwhen.relaxed.kernels.weigh import rank_matches

MERGE_RATIO = 4
"""Merge the last segments with the new slots while they have less than four times as many slots."""


class _Segment(NamedTuple):
    """An index of the slots first:last, and the snapshot that it was built from."""

    first: int
    last: int
    packed: Packed  # a RelaxedIndex or a MatchIndex
    snapshot: Packed
    attribute_ranks: dict[str, int]  # by name of an attribute
    sizes: Any  # the sizes of the scratch


class StoreView(NamedTuple):
    """A store as a reader sees it."""

    snapshot: Snapshot
    relabellings: int
    """The number of relabelled dictionaries so far. An index that was built before the last one has other points."""
    attributes: Attributes

    @classmethod
    def from_store(cls, store: Store) -> StoreView:
        """Return a view of the store as it is now."""
        return cls(store.snapshot(), store.relabellings, store.attributes)

    def select(self, is_selected: Callable[[I32], np.ndarray]) -> StoreView:
        """Return a view in which all slots are removed for which `is_selected` returns False."""
        subscriptions = self.snapshot.subscriptions
        mask = is_selected(np.arange(len(subscriptions.died), dtype=np.int32))
        died = np.where(mask, subscriptions.died, 0).astype(subscriptions.died.dtype)
        return self._replace(
            snapshot=self.snapshot._replace(subscriptions=subscriptions._replace(died=died), removed=1)
        )


class _Ranker(ABC):
    """Indexes of the parts of a store that grows, built when they are first used. Any thread may rank."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._lock = threading.Lock()  # held while segments are built
        self._relabellings = -1  # those of the view that the segments were built from
        self._segments: list[_Segment] = []  # by slot; each is much smaller than the one before it

    @abstractmethod
    def _build_index(self, *arguments: Any) -> Any:
        """Build the index of some slots; the arguments are those of `build_index`."""

    @abstractmethod
    def _make_scratch_sizes(self, index: Any, snapshot: Snapshot) -> Any:
        """Return the scratch of a kernel with lengths in place of arrays, for `take_scratch`."""

    @property
    def bytes(self) -> int:
        """Size of the arrays of all segments."""
        return sum(array.nbytes for segment in self._segments for array in flatten(segment.packed.arrays).values())

    def _update_segments(self, view: StoreView) -> list[_Segment]:
        """Return segments of all slots of a view; build those that are missing."""
        with self._lock:
            last = len(view.snapshot.subscriptions.kind)
            if view.relabellings < self._relabellings:  # an old reader: its points differ from those of the segments
                return [self._build_segment(view, 0, last)]
            if view.relabellings > self._relabellings:
                self._segments = []
            if not self._segments or last > self._segments[-1].last:
                segments, first = [*self._segments], self._segments[-1].last if self._segments else 0
                while segments and segments[-1].last - segments[-1].first < MERGE_RATIO * (last - first):
                    first = segments.pop().first
                self._segments = [*segments, self._build_segment(view, first, last)]
                self._relabellings = view.relabellings
            return self._segments

    def _build_segment(self, view: StoreView, first: int, last: int) -> _Segment:
        snapshot = view.snapshot
        attributes = [get_weighted_name(domain.attribute) for domain in view.attributes.domains[: snapshot.domains]]
        ranks = {name: rank for rank, name in enumerate(sorted(set(attributes)))}
        domain_attribute = np.array([ranks[name] for name in attributes], dtype=np.int32)
        slots = np.arange(first, last, dtype=np.int32)  # with removed slots: another reader may still see them
        weights = self._scores.weights  # read before the names: another thread may add weights with new names
        name_attribute = np.array([ranks.get(name, -1) for name in self._scores.names], dtype=np.int32)
        index = self._build_index(snapshot, slots, domain_attribute, weights, name_attribute)
        sizes = self._make_scratch_sizes(index, snapshot)
        return _Segment(first, last, Packed(index), Packed(snapshot), ranks, sizes)


class RelaxedRanker(_Ranker):
    """Relaxed ranking of the slots of one store: all slots with a true part."""

    def rank(self, view: StoreView, events: Events, k: int, factors: Mapping[str, float]) -> Best:
        """Return the k best slots of each event; `factors` multiply weights, by name of an attribute."""
        segments, snapshot = self._update_segments(view), Packed(view.snapshot)

        def rank_part(part: Events) -> Best:
            heaps = Heaps.make_empty(part, k)
            for segment in segments:
                scratch = take_scratch(segment.sizes)
                arguments = segment.packed.addresses, segment.snapshot.addresses, snapshot.addresses, scratch.packed
                rank_relaxed(*arguments, tuple(part), _order_factors(factors, segment.attribute_ranks), *heaps)
                release_memory(scratch)
            return heaps.sort()

        return rank_in_parts(rank_part, events, k)

    def _build_index(self, *arguments: Any) -> RelaxedIndex:
        return build_index(*arguments)

    def _make_scratch_sizes(self, index: RelaxedIndex, snapshot: Snapshot) -> Any:
        return make_sizes(
            RelaxedScratch,
            satisfied=make_satisfied_sizes(snapshot),
            runs=RUN_COLUMNS * (len(index.attribute) + 1),
            tally=TALLY_COLUMNS * len(index.slot) + 1,
            part_stamp=len(index.part_owner) + 1,
            candidates=len(index.slot) + 1,
            **_measure_code(index, snapshot),
        )


class MatchRanker(_Ranker):
    """Ranking of matches by the weights of their true parts."""

    def rank(self, view: StoreView, reader: Reader, events: Events, k: int, factors: Mapping[str, float]) -> Best:
        """Return the k best of the slots that the reader finds; `factors` multiply weights, by name of an attribute."""
        segments = self._update_segments(view)

        def rank_part(part: Events) -> Best:
            heaps, matches = Heaps.make_empty(part, k), tuple(reader.match(part))
            for segment in segments:
                scratch = take_scratch(segment.sizes)
                arguments = segment.packed.addresses, segment.snapshot.addresses, scratch.packed, tuple(part), matches
                rank_matches(*arguments, _order_factors(factors, segment.attribute_ranks), *heaps)
                release_memory(scratch)
            return heaps.sort()

        return rank_in_parts(rank_part, events, k)

    def _build_index(self, *arguments: Any) -> MatchIndex:
        return build_match_index(*arguments)

    def _make_scratch_sizes(self, index: MatchIndex, snapshot: Snapshot) -> Any:
        predicate_words = len(snapshot.predicates.domain) // 64 + 1
        code = _measure_code(index, snapshot)
        return make_sizes(MatchScratch, first_entry=snapshot.domains, truth=predicate_words, **code)


def _measure_code(index: RelaxedIndex | MatchIndex, snapshot: Snapshot) -> dict[str, int]:
    """Return the sizes of the arrays that run the code of parts."""
    return {"stack": int(np.diff(index.code_start).max(initial=0)) + 1, "registers": snapshot.registers + 1}


def _order_factors(factors: Mapping[str, float], ranks: Mapping[str, int]) -> F64:
    """Return the factors by rank of the attribute. Without factors, return an empty array: all are 1."""
    if not factors:
        return np.zeros(0)
    factor_by_rank = np.ones(len(ranks))
    for name, factor in factors.items():
        if name in ranks:
            factor_by_rank[ranks[name]] = factor
    return factor_by_rank
