"""`psthash`: a hash table of combinations of predicate spaces (PS-Tree, section 6)."""

from tellwhen.papers.ps_tree.psthash.engine import PSTHash

__all__ = ["PSTHash"]
