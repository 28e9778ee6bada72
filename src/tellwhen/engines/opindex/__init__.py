"""`opindex`, `opindex-plain` and `opindex-cnf`: pivot attributes and sorted predicate lists."""

from tellwhen.engines.opindex.cnf import OpIndexCNF
from tellwhen.engines.opindex.engine import OpIndex, OpIndexPlain

__all__ = ["OpIndex", "OpIndexCNF", "OpIndexPlain"]
