"""`kindex` and `kindex-weak`: posting lists by size, attribute and value (BE-Tree, section 7.2)."""

from tellwhen.papers.be_tree.kindex.engine import KIndex, KIndexWeak

__all__ = ["KIndex", "KIndexWeak"]
