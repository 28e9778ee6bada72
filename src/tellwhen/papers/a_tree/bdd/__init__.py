"""`bdd`: one shared binary decision diagram of all expressions."""

from tellwhen.papers.a_tree.bdd.engine import BDD

__all__ = ["BDD"]
