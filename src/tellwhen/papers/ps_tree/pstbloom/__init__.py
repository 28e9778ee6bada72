"""`pstbloom`: posting lists of predicate spaces, with Bloom signatures (PS-Tree, section 5)."""

from tellwhen.papers.ps_tree.pstbloom.engine import PSTBloom

__all__ = ["PSTBloom"]
