"""Relaxed indexes of a store that grows: one of most slots, and smaller ones of those that came since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.scores import Scores
from tellwhen.compile.store import Store
from tellwhen.containers.array_names import flatten
from tellwhen.engines.shared.calls import Packed, make_sizes, release_memory, take_scratch
from tellwhen.engines.shared.stabbing import make_satisfied_sizes
from tellwhen.engines.shared.top_k import Best, Heaps, rank_in_parts
from tellwhen.kernels.arrays import F64, I32, Events, Snapshot
from tellwhen.language.computation import get_weighted_name
from tellwhen.relaxed.arrays import TALLY_COLUMNS, RelaxedIndex, RelaxedScratch
from tellwhen.relaxed.build import build
from tellwhen.relaxed.kernels.match import RUN_COLUMNS, rank_relaxed

RATIO = 4
"""New slots are indexed by themselves, together with the last indexes that have less than four times as many."""


class _Built(NamedTuple):
    """An index of the slots first:last, and the snapshot that it was made of."""

    first: int
    last: int
    packed: Packed
    snapshot: Packed
    names: dict[str, int]  # the rank of each attribute
    sizes: RelaxedScratch


class View(NamedTuple):
    """A store as a reader sees it."""

    snapshot: Snapshot
    moves: int
    """How often its points have moved: an index from before knows others."""
    attributes: Attributes

    @classmethod
    def of(cls, store: Store) -> View:
        """The store as it is now."""
        return cls(store.snapshot(), store.relabellings, store.attributes)

    def only(self, keeps: Callable[[I32], np.ndarray]) -> View:
        """As if all other subscriptions had been removed."""
        subscriptions = self.snapshot.subscriptions
        kept = keeps(np.arange(len(subscriptions.died), dtype=np.int32))
        died = np.where(kept, subscriptions.died, 0).astype(subscriptions.died.dtype)
        return self._replace(
            snapshot=self.snapshot._replace(subscriptions=subscriptions._replace(died=died), removed=1)
        )


class Relaxed:
    """What is indexed of one store so far. Any thread may rank."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._lock = threading.Lock()  # one thread builds
        self._moves = -1
        self._built: list[_Built] = []  # one behind the other, each much smaller than the one before it

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        return sum(array.nbytes for one in self._built for array in flatten(one.packed.arrays).values())

    def best(self, view: View, events: Events, k: int, factors: Mapping[str, float]) -> Best:
        """The k best of each event."""
        indexes = self._indexes(view)
        return rank_in_parts(lambda some: _ranked(indexes, view.snapshot, some, k, factors), events, k)

    def _indexes(self, view: View) -> list[_Built]:
        with self._lock:
            last = len(view.snapshot.subscriptions.kind)
            if view.moves < self._moves:  # an old reader: what is indexed has points that it does not know
                return [self._index(view, 0, last)]
            if view.moves > self._moves:
                self._built = []
            if not self._built or last > self._built[-1].last:
                kept, first = [*self._built], self._built[-1].last if self._built else 0
                while kept and kept[-1].last - kept[-1].first < RATIO * (last - first):
                    first = kept.pop().first
                self._built, self._moves = [*kept, self._index(view, first, last)], view.moves
            return self._built

    def _index(self, view: View, first: int, last: int) -> _Built:
        snapshot = view.snapshot
        attributes = [get_weighted_name(domain.attribute) for domain in view.attributes.domains[: snapshot.domains]]
        ranks = {name: rank for rank, name in enumerate(sorted(set(attributes)))}
        rank_of = np.array([ranks[name] for name in attributes], dtype=np.int32)
        slots = np.arange(first, last, dtype=np.int32)  # removed ones too: another reader may still see them
        weights = self._scores.weights  # before the names: another thread may add some of both
        names = np.array([ranks.get(name, -1) for name in self._scores.names], dtype=np.int32)
        index = build(snapshot, slots, rank_of, weights, names)
        return _Built(first, last, Packed(index), Packed(snapshot), ranks, _sizes(index, snapshot))


def _ranked(indexes: list[_Built], snapshot: Snapshot, events: Events, k: int, factors: Mapping[str, float]) -> Best:
    heaps, packed = Heaps.make_empty(events, k), Packed(snapshot)
    for built in indexes:
        scratch = take_scratch(built.sizes)
        arguments = built.packed.addresses, built.snapshot.addresses, packed.addresses, scratch.packed, tuple(events)
        rank_relaxed(*arguments, _factors(factors, built.names), *heaps)
        release_memory(scratch)
    return heaps.sort()


def _factors(given: Mapping[str, float], ranks: Mapping[str, int]) -> F64:
    """By attribute; empty if there are none."""
    if not given:
        return np.zeros(0)
    found = np.ones(len(ranks))
    for name, factor in given.items():
        if name in ranks:
            found[ranks[name]] = factor
    return found


def _sizes(index: RelaxedIndex, snapshot: Snapshot) -> RelaxedScratch:
    sizes: RelaxedScratch = make_sizes(
        RelaxedScratch,
        found=make_satisfied_sizes(snapshot),
        runs=RUN_COLUMNS * (len(index.attribute) + 1),
        tally=TALLY_COLUMNS * len(index.slot) + 1,
        seen=len(index.part_number) + 1,
        touched=len(index.slot) + 1,
        stack=int(np.diff(index.code_start).max(initial=0)) + 1,
        registers=snapshot.registers + 1,
    )
    return sizes
