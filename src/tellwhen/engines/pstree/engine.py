"""What have pstbloom and psthash in common? Conjunctions that wait in lists by predicate space, and PS-Trees that know these.

The trees change with the conjunctions: what is new is inserted, what is gone deleted. The lists are then laid out anew from the
spaces, in one pass.

Deviations: a record is not copied whenever a space splits; and the predicates that an event makes true are found once,
by stabbing, so that looking at a candidate whole is a few tests of bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.compile.store import Store
from tellwhen.engines.base import prefixed, unprefixed
from tellwhen.engines.pstree.arrays import PSTreeArrays
from tellwhen.engines.pstree.records import HEAD
from tellwhen.engines.pstree.tree import PSTree, intervals_of
from tellwhen.engines.shared.conjunctions import ConjunctionEngine
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import I32, I64, Predicates, Stabbing

MAX_LISTS = 256
"""Lists that a conjunction may be in. One with no access predicate so narrow waits for its domain instead."""


Place = tuple[list[int], tuple[Hashable, ...] | int]
"""Of a conjunction: predicates that are known to hold when it is found, and where it is found."""


class Record(NamedTuple):
    """What stands together about a conjunction."""

    slot: int
    tested: list[int]
    domain: list[int]


class PSTreeEngine(ConjunctionEngine):
    """Keeps PS-Trees of the predicates that conjunctions are found by."""

    longest = 1 << 12
    layout: ClassVar[Any]
    """The NamedTuple of the index: the stabbing index first."""

    with_domains: ClassVar[bool]
    """Have records the domains of their predicates?"""

    _index: Any

    def __init__(self, store: Store, **given: int) -> None:
        self._plant()
        super().__init__(store, **given)

    def _plant(self) -> None:
        self._trees = PSTree()
        self._times = np.zeros(0, dtype=np.int32)  # by predicate: how often it is in its tree
        self._waits = np.zeros(1, dtype=np.int64)  # how many conjunctions wait for a domain

    def rebuild(self) -> None:
        self._plant()
        super().rebuild()

    def merge(self) -> None:
        super().rebuild()

    def _grown(self, predicate: I32) -> Spaces:
        """The spaces, after the trees have taken in and given back what makes their predicates these."""
        snapshot = self.store.snapshot()
        times = np.bincount(predicate, minlength=len(snapshot.predicates.domain)).astype(np.int32)
        added = times.astype(np.int64)
        added[: len(self._times)] -= self._times
        self._trees.know(snapshot.domains)
        self._trees.insert(*intervals_of(snapshot.predicates, added))
        self._times = times
        return self._trees.spaces(snapshot.predicates, np.flatnonzero(times))

    def _scratch_sizes(self) -> tuple[tuple[str, int, Any], ...]:
        predicates = len(self._times)
        return ("truth", predicates // 64 + 1, np.uint64), ("satisfied", predicates + 1, np.int32)

    def _index_arrays(self) -> dict[str, np.ndarray]:
        stabbing, *rest = self._index
        named = dict(zip(self.layout._fields[1:], rest, strict=True)) | {"times": self._times, "waits": self._waits}
        return named | prefixed("stabbing", stabbing) | prefixed("trees", self._trees.arrays)

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        stabbing = unprefixed("stabbing", Stabbing, arrays)
        self._index = self.layout(stabbing, *(arrays[name] for name in self.layout._fields[1:]))
        self._trees = PSTree(unprefixed("trees", PSTreeArrays, arrays))
        self._times, self._waits = arrays["times"], arrays["waits"]

    def stats(self) -> dict[str, Any]:
        return super().stats() | {
            "spaces": len(self._trees),
            "postings": len(self._index.conjunctions),
            "waiting": int(self._waits[0]),
        }

    def _verify_trees(self, predicate: I32) -> Spaces:
        """They hold these predicates, and the index knows the spaces that they have."""
        predicates = self.store.snapshot().predicates
        times = np.bincount(predicate, minlength=len(self._times))
        assert np.array_equal(times, self._times), "the trees hold other predicates than the conjunctions"
        self._trees.verify(*intervals_of(predicates, times))
        spaces = self._trees.spaces(predicates, np.flatnonzero(times))
        assert np.array_equal(spaces.cut_start, self._index.cut_start), "the index has other spaces than the trees"
        assert np.array_equal(spaces.cuts, self._index.cuts), "the index has other spaces than the trees"
        return spaces

    def _verify_conjunctions(
        self, conjunctions: Conjunctions, names: Sequence[Any], place: Callable[[list[int]], Place]
    ) -> None:
        """Every conjunction is in the lists that it should be in, and what its record has is what is still to be tested.

        `names` has what list k is for; `place` says of a conjunction's predicates which of them are not tested any more, and
        the names of its lists, or the domain it waits for (the number of domains if for none).
        """
        _, start, predicate = conjunctions
        expected: Counter[tuple[int, tuple[int, ...], Any]] = Counter()
        for conjunction, slot in enumerate(conjunctions.slot.tolist()):
            mine = predicate[start[conjunction] : start[conjunction + 1]].tolist()
            known, where = place(mine)
            tested = Counter(mine) - Counter(known)
            expected[slot, tuple(sorted(tested.elements())), where] += 1
        records = self._records()
        assert {*records, len(self._index.records)}.issuperset(self._index.waiting.tolist()), "a record is cut in two"
        lists: dict[int, list[Any]] = {}
        bounds = self._index.list_start.tolist()
        for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
            for at in self._index.conjunctions[begin:end].tolist():
                lists.setdefault(at, []).append(name)
        found: Counter[tuple[int, tuple[int, ...], Any]] = Counter()
        for at, record in records.items():
            waits = int(np.searchsorted(self._index.waiting, at, side="right")) - 1
            found[record.slot, tuple(sorted(record.tested)), tuple(sorted(lists[at])) if waits < 0 else waits] += 1
        assert found == expected, f"found {found - expected}, expected {expected - found}"
        assert len(lists) == sum(at < self._index.waiting[0] for at in records), "a list has no such record"

    def _records(self) -> dict[int, Record]:
        """All records, by where they begin."""
        words, at = self._index.records.tolist(), 0
        found = {}
        while at < len(words):
            middle = at + HEAD + words[at + 1]
            end = middle + (words[at + 1] if self.with_domains else 0)
            found[at] = Record(words[at], words[at + HEAD : middle], words[middle:end])
            at = end
        return found


def coverage(known: Spaces, predicates: Predicates, times: I64) -> I64:
    """By space: the predicates that cover it, each as often as `times` says."""
    each = np.repeat(times, np.diff(predicates.start))
    steps = np.bincount(known.first, each, known.total + 1) - np.bincount(known.last + 1, each, known.total + 1)
    return np.cumsum(steps)[: known.total].astype(np.int64)


def covered(known: Spaces, predicates: Predicates, p: int) -> list[int]:
    """The spaces that a predicate covers."""
    begin, end = predicates.start[p], predicates.start[p + 1]
    return [s for i in range(begin, end) for s in range(known.first[i], known.last[i] + 1)]


def widths(known: Spaces, predicates: Predicates) -> I64:
    """By predicate: how many spaces it covers."""
    upto = np.concatenate([[0], np.cumsum(known.last - known.first + 1)])
    return upto[predicates.start[1:]] - upto[predicates.start[:-1]]
