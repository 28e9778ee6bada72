"""`naive`: the scan that the papers compare with. A rival for benchmarks, not an engine of the package."""

from bench.naive.engine import NaiveScan

__all__ = ["NaiveScan"]
