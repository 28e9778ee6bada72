"""`kindex`: posting lists by size, attribute and value."""

from tellwhen.engines.kindex.engine import KIndex

__all__ = ["KIndex"]
