"""`bdd`: one shared binary decision diagram (BDD) of all expressions (A-Tree, section 2)."""

from tellwhen.papers.a_tree.bdd.engine import BDD

__all__ = ["BDD"]
