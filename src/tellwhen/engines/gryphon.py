"""`gryphon`: a tree that tests one attribute after the other (Gryphon; BE-Tree section 7.2).

Attributes are tested in one order, those that most subscriptions ask for first. Where a subscription does not care for
an attribute the papers' trees have a don't-care branch; chains of these are left out here, as Gryphon itself proposes.
Branches on single values (= and IN) are found by search, which is the tree specialised for equality; all others are
tried one by one, which is the generic tree. A node has whichever its subscriptions need.

Deviation: in the order of attributes, lines take their place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.rows import RowEngine, RowReader
from tellwhen.engines.selectivity import points
from tellwhen.kernels.arrays import I64, GryphonIndex
from tellwhen.kernels.gryphon import grow, walk


class Gryphon(RowEngine):
    """Follows all branches that an event satisfies."""

    name = "gryphon"
    summary = "a tree of tests, attribute by attribute, with don't-care branches (Gryphon)"
    longest = 1 << 12

    def _build(self) -> None:
        view = self.store.view()
        rows = self.rows()
        asked = np.bincount(view.predicates.line[rows.predicate], minlength=view.lines)
        place = np.empty(view.lines, dtype=np.int64)
        place[np.argsort(-asked, kind="stable")] = np.arange(view.lines)
        owner = np.repeat(np.arange(len(rows.slot)), np.diff(rows.start))
        order = np.lexsort((rows.predicate, place[view.predicates.line[rows.predicate]], owner))
        room = len(rows.predicate) + 1
        parent, label, end = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(len(rows.slot), np.int32)
        nodes = grow(rows.start, rows.predicate[order], parent, label, end)
        by_end = np.argsort(end, kind="stable")
        branches = self._branches(parent[1:nodes], label[1:nodes], points(view.predicates), nodes)
        slot_start = np.searchsorted(end[by_end], np.arange(nodes + 1))
        self._index = GryphonIndex(*(*branches, slot_start, rows.slot[by_end]))

    def _branches(self, parent: np.ndarray, label: np.ndarray, single: I64, nodes: int) -> tuple[np.ndarray, ...]:
        """The branches of every node, in groups of one line; those on points sorted, the others apart."""
        view = self.store.view()
        line_of, _, start, low, _ = view.predicates
        child = np.arange(1, nodes)
        is_point = single[label] > 0
        first, which = gather(start, label[is_point])
        many = np.diff(first)
        point, of = low[which], np.repeat(np.flatnonzero(is_point), many)
        order = np.lexsort((point, line_of[label[of]], parent[of]))
        point, of = point[order], of[order]
        other = np.flatnonzero(~is_point)
        other = other[np.lexsort((line_of[label[other]], parent[other]))]
        keys = parent.astype(np.int64) << 32 | line_of[label]
        groups = np.unique(keys)
        return (
            np.searchsorted(groups >> 32, np.arange(nodes + 1)),
            (groups & 0xFFFFFFFF).astype(np.int32),
            _bounds(groups, keys[of]), point, child[of].astype(np.int32),
            _bounds(groups, keys[other]), label[other], child[other].astype(np.int32),
        )  # fmt: skip

    def reader(self) -> Reader:
        view = self.store.view()
        nodes = len(self._index.group_start) - 1
        sizes = ("first", view.lines, np.int32), ("stack", nodes + 1, np.int32), ("seen", nodes, np.int64)
        return RowReader(self, walk, tuple(self._index), sizes, tail=tuple(view.predicates))

    def _index_arrays(self) -> dict[str, np.ndarray]:
        return self._index._asdict()

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = GryphonIndex(*(arrays[name] for name in GryphonIndex._fields))


def _bounds(groups: I64, keys: I64) -> I64:
    """Where the members of each group begin among sorted keys, and where the last ones end."""
    return np.append(np.searchsorted(keys, groups), len(keys))
