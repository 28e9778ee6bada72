"""`kindex`: posting lists by size, attribute and value."""

from tellwhen.papers.be_tree.kindex.engine import KIndex

__all__ = ["KIndex"]
