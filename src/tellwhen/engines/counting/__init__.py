"""`counting`: count satisfied predicates per conjunction."""

from tellwhen.engines.counting.engine import Counting

__all__ = ["Counting"]
