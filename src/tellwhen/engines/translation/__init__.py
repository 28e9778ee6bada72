"""`translation`: any expression as conjunctions, in an engine of conjunctions."""

from tellwhen.engines.translation.engine import Translation

__all__ = ["Translation"]
