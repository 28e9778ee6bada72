"""`PSTreeEngine`, the base of `pstbloom` and `psthash`: PS-Trees, and conjunctions as records in posting lists.

The trees change with the conjunctions: predicates of new conjunctions are inserted, predicates of removed ones deleted.
The posting lists are then built from the spaces of the trees, in one pass.

A conjunction that would be in more than `lists_max` posting lists by its most selective predicate alone is in none. It
waits for the domain of that predicate, and is tested whenever an event carries the domain.

Deviations:

- A split of a space does not copy the records in its list.
- The predicates that an event satisfies are found once, by stabbing. The exact test of a candidate is then a few tests
  of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.engines.base import Source
from tellwhen.engines.shared.calls import make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.engines.shared.stabbing import RUNS_SIZE, build_predicate_stabbing
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.ps_tree.arrays import Assignment, CommonIndex, CommonScratch, Records, TreeState
from tellwhen.papers.ps_tree.kernels.records import lay_out_records, place_postings
from tellwhen.papers.ps_tree.tree import PSTree, collect_intervals

NO_DOMAINS = np.zeros(0, dtype=np.int32)
"""Records without domains."""


class PSTreeEngine(ConjunctionEngine):
    """An engine that keeps PS-Trees of the predicates by which conjunctions are found."""

    predicates_max = 1 << 12
    lists_max: ClassVar[int] = 256
    """Posting lists that a conjunction may be in by its most selective predicate alone."""

    def __init__(self, source: Source, **options: int) -> None:
        self._reset_trees()
        super().__init__(source, **options)

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
        """Insert and delete predicates until the trees have exactly these, with repetition; return the new spaces."""
        snapshot = self.source.snapshot()
        times = np.bincount(predicate, minlength=len(snapshot.predicates.domain)).astype(np.int32)
        added = times.astype(np.int64)
        added[: len(self._times)] -= self._times
        self._trees.ensure_domains(snapshot.domains)
        self._trees.insert(*collect_intervals(snapshot.predicates, added))
        self._times = times
        return self._trees.number_spaces(snapshot.predicates, np.flatnonzero(times))

    def _build_common(
        self,
        conjunctions: Conjunctions,
        spaces: Spaces,
        assignment: Assignment,
        record_domain: I32 = NO_DOMAINS,
        known_words: int = 0,
    ) -> tuple[CommonIndex, Records]:
        """Build the arrays of both engines, and the records; `lay_out_records` describes the last two arguments."""
        snapshot = self.source.snapshot()
        order, waiting = self._order_records(assignment)
        records = lay_out_records(order, conjunctions, assignment.is_known, self._rank, record_domain, known_words)
        lists = place_postings(order[: waiting[0]], records.begin, assignment.ranges, assignment.lists)
        common = CommonIndex(
            stabbing=build_predicate_stabbing(snapshot.predicates, snapshot.domains, conjunctions.predicate),
            cut_start=spaces.cut_start,
            cuts=spaces.cuts,
            list_start=lists.start,
            postings=lists.postings,
            waiting=records.begin[waiting],
            records=records.words,
            predicate_words=2 if len(record_domain) else 1,
            known_words=known_words,
        )
        return common, records

    def _order_records(self, assignment: Assignment) -> tuple[I64, I64]:
        """Return the conjunctions in the order of records, and the position of the first that waits for each domain.

        CommonIndex describes this order.
        """
        snapshot, access, ranges, lists = self.source.snapshot(), assignment.access, assignment.ranges, assignment.lists
        is_listed = ranges.begin < ranges.end
        is_waiting = ~is_listed & (access >= 0)
        group = np.full(len(access), lists + snapshot.domains, dtype=np.int64)
        group[is_listed] = ranges.first[ranges.begin[is_listed]]
        group[is_waiting] = lists + snapshot.predicates.domain[access[is_waiting]]
        order = np.argsort(group, kind="stable")
        self._waiting = int(np.count_nonzero(is_waiting))
        return order, np.searchsorted(group[order], lists + np.arange(snapshot.domains + 2))

    def _measure_common(self, snapshot: Snapshot) -> Any:
        """Return CommonScratch with the lengths of its arrays in their place."""
        return make_sizes(
            CommonScratch,
            runs=RUNS_SIZE,
            truth=len(self._times) // 64 + 1,
            satisfied=len(self._times) + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            prefetched=1,
        )

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
