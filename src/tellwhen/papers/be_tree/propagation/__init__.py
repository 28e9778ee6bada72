"""`propagation`: clusters of conjunctions behind access predicates (BE-Tree, section 7.2)."""

from tellwhen.papers.be_tree.propagation.engine import Propagation

__all__ = ["Propagation"]
