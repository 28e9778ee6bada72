"""`psthash`: a hash table of combinations of predicate spaces."""

from tellwhen.engines.psthash.engine import PSTHash

__all__ = ["PSTHash"]
