"""`pstbloom`: posting lists by predicate space, with Bloom signatures."""

from tellwhen.papers.ps_tree.pstbloom.engine import PSTBloom

__all__ = ["PSTBloom"]
