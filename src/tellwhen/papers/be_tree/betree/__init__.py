"""`betree` and `betree-batch`: partition by attribute, then by value."""

from tellwhen.papers.be_tree.betree.engine import BETree, BETreeBatch

__all__ = ["BETree", "BETreeBatch"]
