"""Base class of the engines that keep a tree for every expression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Call, CallReader, Refiner, Union
from tellwhen.kernels.arrays import Snapshot
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees, expand_trees
from tellwhen.papers.a_tree.shared.verify import check_postings, check_slots


class TreeEngine(BulkEngine):
    """An engine that finds the predicates of an event, then by posting lists the expressions with such leaves.

    Both steps are exact for all events, and so are the matches of a subclass. The index of a subclass has `posted`, its
    `LeafPostings`.
    """

    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "leaves": Option(
            LEAVES_MAX, 1, LEAVES_MAX, "leaves of a tree, XORs written out; an expression with more runs as a program"
        ),
    }

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        self._index = self._build_index(snapshot, expand_trees(snapshot, self._built, self.option["leaves"]))

    @abstractmethod
    def _build_index(self, snapshot: Snapshot, trees: Trees) -> Any:
        """Build the index of the trees."""

    @abstractmethod
    def _make_call(self, snapshot: Snapshot) -> Call:
        """Return the call of the match kernel on the index."""

    def _index_reader(self, refiner: Refiner) -> Reader:
        found = CallReader(self._make_call(self.source.snapshot()))
        return Union([found, refiner]) if self._pending.count else found

    def verify(self) -> None:
        if self._index is not None:
            posted, snapshot = self._index.posted, self.source.snapshot()
            check_slots(posted, self._built, snapshot)
            trees = expand_trees(snapshot, posted.slot[: posted.trees], LEAVES_MAX)
            assert len(trees.slot) == posted.trees, "an expression has a tree in the index but none in the store"
            check_postings(posted, snapshot, trees)
            self._verify_trees(trees)

    @abstractmethod
    def _verify_trees(self, trees: Trees) -> None:
        """Check what the subclass stores of each tree against the trees of the store."""
