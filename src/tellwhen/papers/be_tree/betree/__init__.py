"""`betree` and `betree-batch`: a tree that partitions by attribute and clusters by value (BE-Tree)."""

from tellwhen.papers.be_tree.betree.engine import BETree, BETreeBatch

__all__ = ["BETree", "BETreeBatch"]
