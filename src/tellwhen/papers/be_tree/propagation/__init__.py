"""`propagation`: clusters of conjunctions behind access predicates."""

from tellwhen.papers.be_tree.propagation.engine import Propagation

__all__ = ["Propagation"]
