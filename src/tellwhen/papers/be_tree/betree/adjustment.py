"""Background work of `betree`: adjust the tree to the events that it has matched (BE-Tree, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tellwhen.engines.base import Upkeep
from tellwhen.papers.be_tree.betree.arrays import BETreeIndex
from tellwhen.papers.be_tree.betree.tree import Tree

if TYPE_CHECKING:
    from tellwhen.papers.be_tree.betree.engine import BETree


class Adjustment(Upkeep):
    """Adjustment of a copy of the tree, which then replaces the original.

    The original does not change while it is read. If subscriptions change meanwhile, the engine changes another copy,
    and drops this adjustment: `finish` then returns False.
    """

    def __init__(self, engine: BETree, tree: Tree, index: BETreeIndex) -> None:
        self._engine, self._original, self._matched = engine, tree, index
        self._snapshot = engine.source.snapshot()
        self.tree: Tree
        self.index: BETreeIndex
        self.recycled: int  # conjunctions that were inserted again

    def run(self) -> None:
        self.tree = self._original.copy()
        self.recycled = self._engine.adjust(self.tree, self._matched, self._snapshot)
        if self.recycled:
            self.index = self.tree.lay_out(self._snapshot)
        else:
            self.index = self._matched._replace(counts=np.zeros_like(self._matched.counts))

    def finish(self) -> bool:
        return self._engine.adopt(self)
