"""`naive`: the scan that the papers compare with. It is a rival for benchmarks, not an engine of the package."""

from bench.naive.engine import NaiveScan

__all__ = ["NaiveScan"]
