"""`pstbloom`: posting lists by predicate space, with Bloom signatures."""

from tellwhen.engines.pstbloom.engine import PSTBloom

__all__ = ["PSTBloom"]
