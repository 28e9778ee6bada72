"""`kindex`: posting lists by size, attribute and value (BE-Tree, section 7.2)."""

from tellwhen.papers.be_tree.kindex.engine import KIndex

__all__ = ["KIndex"]
