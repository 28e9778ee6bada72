"""What do `pstbloom` and `psthash` share? PS-Trees, and conjunctions as records in posting lists by predicate space.

The trees change with the conjunctions: predicates of new ones are inserted, those of removed ones deleted. The posting
lists are then built from the spaces of the trees, in one pass.

Deviations: a split of a space does not copy the records in its list. The predicates that an event satisfies are found
once, by stabbing, so that testing a candidate exactly is a few tests of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.named import flatten, unflatten
from tellwhen.engines.base import Source
from tellwhen.engines.shared.conjunctions import ConjunctionEngine
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.engines.shared.stabbing import RUNS_SIZE, build_for
from tellwhen.kernels.arrays import I32, I64, U8, Snapshot
from tellwhen.papers.ps_tree.arrays import CommonIndex, CommonScratch, TreeState
from tellwhen.papers.ps_tree.kernels.records import lay_records
from tellwhen.papers.ps_tree.tree import PSTree, intervals_of

NO_LIST = -1


class Access(NamedTuple):
    """How conjunctions are found."""

    first_list: I64  # by conjunction: the first list that it is in, or NO_LIST
    predicate: I64  # by conjunction: its most selective predicate, or -1 without predicates
    is_known: U8  # by predicate of a conjunction: 1 if it is true whenever the conjunction is found in a list
    lists: int


class Layout(NamedTuple):
    """The records of conjunctions."""

    order: I64  # conjunctions in the order of their records
    listed: int  # the first ones, which are in lists; the others wait for a domain, or have no predicates
    begin: I64  # where each record begins, in that order
    waiting: I64  # where the records that wait for each domain begin, as in CommonIndex
    records: I32


class PSTreeEngine(ConjunctionEngine):
    """Keeps PS-Trees of the predicates by which conjunctions are found."""

    predicates_max = 1 << 12

    def __init__(self, source: Source, **given: int) -> None:
        self._reset_trees()
        super().__init__(source, **given)

    def _reset_trees(self) -> None:
        self._trees = PSTree()
        self._times = np.zeros(0, dtype=np.int32)
        self._rank = np.zeros(0, dtype=np.int32)
        self._waiting = 0

    @property
    def _state(self) -> TreeState:
        return TreeState(self._trees.arrays, self._times, self._rank, self._waiting)

    def rebuild(self) -> None:
        self._reset_trees()
        super().rebuild()

    def merge(self) -> None:
        super().rebuild()

    def _update_trees(self, predicate: I32) -> Spaces:
        """Make these the predicates in the trees, with repetition, by inserting and deleting the difference."""
        snapshot = self.source.snapshot()
        times = np.bincount(predicate, minlength=len(snapshot.predicates.domain)).astype(np.int32)
        added = times.astype(np.int64)
        added[: len(self._times)] -= self._times
        self._trees.ensure_domains(snapshot.domains)
        self._trees.insert(*intervals_of(snapshot.predicates, added))
        self._times = times
        return self._trees.spaces(snapshot.predicates, np.flatnonzero(times))

    def _lay_out(self, conjunctions: Conjunctions, access: Access, rank: I32, record_domain: I32) -> Layout:
        """Records in the order that CommonIndex describes. See `lay_records` for `record_domain`."""
        snapshot = self.source.snapshot()
        is_listed = access.first_list != NO_LIST
        waits = ~is_listed & (access.predicate >= 0)
        group = np.where(is_listed, access.first_list, access.lists + snapshot.domains)
        group[waits] = access.lists + snapshot.predicates.domain[access.predicate[waits]]
        order = np.argsort(group, kind="stable")
        waiting = np.searchsorted(group[order], access.lists + np.arange(snapshot.domains + 2))
        begin, records = lay_records(order, conjunctions, access.is_known, rank, record_domain)
        self._waiting = int(np.count_nonzero(waits))
        return Layout(order, int(waiting[0]), begin, begin[waiting], records)

    def _common(
        self, conjunctions: Conjunctions, spaces: Spaces, layout: Layout, lists: tuple[I64, I64], predicate_words: int
    ) -> CommonIndex:
        """The arrays of both engines. `lists` is where the posting lists begin, and the postings."""
        snapshot = self.source.snapshot()
        list_start, postings = lists
        return CommonIndex(
            stabbing=build_for(snapshot.predicates, snapshot.domains, conjunctions.predicate),
            cut_start=spaces.cut_start,
            cuts=spaces.cuts,
            list_start=list_start,
            postings=postings,
            waiting=layout.waiting,
            records=layout.records,
            predicate_words=predicate_words,
        )

    def _common_sizes(self, snapshot: Snapshot) -> CommonScratch:
        """The scratch of both engines, with lengths in place of arrays."""
        kind: Any = CommonScratch
        sizes: CommonScratch = kind(
            runs=RUNS_SIZE,
            truth=len(self._times) // 64 + 1,
            satisfied=len(self._times) + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            prefetched=1,
        )
        return sizes

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | flatten(self._state, "state.")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        trees, self._times, self._rank, self._waiting = unflatten(TreeState, arrays, "state.")
        self._trees = PSTree(trees)

    def stats(self) -> dict[str, Any]:
        return super().stats() | {
            "spaces": len(self._trees),
            "postings": len(self._index.common.postings),
            "waiting": self._waiting,
        }
