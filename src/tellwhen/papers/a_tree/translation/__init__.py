"""`translation`: any expression as conjunctions, in an engine of conjunctions."""

from tellwhen.papers.a_tree.translation.engine import Translation

__all__ = ["Translation"]
