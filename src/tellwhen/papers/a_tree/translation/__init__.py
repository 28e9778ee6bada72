"""`translation`: expressions in disjunctive normal form, in an engine of conjunctions (A-Tree, section 2)."""

from tellwhen.papers.a_tree.translation.engine import Translation

__all__ = ["Translation"]
