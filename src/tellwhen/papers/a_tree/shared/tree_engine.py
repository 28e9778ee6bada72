"""What do engines have in common that keep a tree for every expression? Building in bulk, reading, checking."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Call, CallReader, Refiner, Union
from tellwhen.kernels.arrays import I32, I64, NEVER, Snapshot
from tellwhen.papers.a_tree.shared.postings import Posted
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees, asked_by, expanded


class TreeEngine(BulkEngine):
    """Finds the predicates that an event satisfies, then the expressions that ask for them, by their postings.

    What it finds so far is exact for all events, and so is what a subclass makes of it. Its index has a `posted`.
    """

    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "leaves": Option(
            LEAVES_MAX, 1, LEAVES_MAX, "most leaves of an expression, XORs written out; beyond, its program decides"
        ),
    }

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        self._index = self._indexed(snapshot, expanded(snapshot, self._built, self.option["leaves"]))

    @abstractmethod
    def _indexed(self, snapshot: Snapshot, trees: Trees) -> Any:
        """The index of the trees."""

    @abstractmethod
    def _call(self, snapshot: Snapshot) -> Call:
        """The kernel that matches, with the index."""

    def _index_reader(self, refiner: Refiner) -> Reader:
        found = CallReader(self._call(self.source.snapshot()))
        return Union([found, refiner]) if self._pending.count else found

    def verify(self) -> None:
        if self._index is not None:
            posted, snapshot = self._index.posted, self.source.snapshot()
            check_slots(posted, self._built, snapshot)
            trees = expanded(snapshot, posted.slot[: posted.trees], LEAVES_MAX)
            assert len(trees.slot) == posted.trees, "what has a tree in the index has none in the store"
            check_postings(posted, snapshot, trees)
            self._verify_trees(trees)

    @abstractmethod
    def _verify_trees(self, trees: Trees) -> None:
        """Check what the subclass keeps of each tree, given the trees as the store has them."""


def check_slots(posted: Posted, built: I32, snapshot: Snapshot) -> None:
    """Every slot that can be true is indexed once."""
    kept = np.concatenate([posted.slot, posted.always])
    can_be_true = built[snapshot.subscriptions.kind[built] != NEVER]
    assert np.array_equal(np.sort(kept), np.sort(can_be_true)), "a slot is not indexed, or one too many is"
    assert 0 <= posted.trees <= len(posted.slot)


def check_postings(posted: Posted, snapshot: Snapshot, trees: Trees) -> None:
    """Every leaf of a tree is posted, and every predicate of what has no tree once; all of them can be stabbed."""
    start, expression = posted.start, posted.expression
    assert start[0] == 0, "the first list does not begin at 0"
    assert start[-1] == len(expression), "the last list does not end with the postings"
    assert (np.diff(start) >= 0).all(), "lists overlap"
    predicate = np.repeat(np.arange(len(start) - 1), np.diff(start))
    is_same = predicate[1:] == predicate[:-1]
    assert (np.diff(expression)[is_same] >= 0).all(), "a list is not ascending"
    number, asked = asked_by(snapshot, posted.slot)
    by_code = _pairs(number, asked)[number >= posted.trees]
    wanted = np.sort(np.concatenate([_pairs(*trees.leaves()), by_code]))
    assert np.array_equal(np.sort(_pairs(expression, predicate)), wanted), "a leaf is not posted, or one too many is"
    assert np.array_equal(np.unique(wanted), _pairs(number, asked)), "a tree does not ask for what its code asks for"
    assert np.array_equal(np.unique(posted.stabbing.members), np.unique(asked)), "a predicate cannot be stabbed"


def _pairs(expression: I32, predicate: I32 | I64) -> I64:
    return expression.astype(np.int64) << 32 | predicate


def leaves_of(posted: Posted) -> tuple[I32, I32, I64]:
    """By leaf of all trees its expression, annotation and predicate, in this order."""
    predicate = np.repeat(np.arange(len(posted.start) - 1), np.diff(posted.start))
    order = np.lexsort((predicate, posted.annotation, posted.expression))
    order = order[posted.expression[order] < posted.trees]
    return posted.expression[order], posted.annotation[order], predicate[order]
