"""`opindex`, `opindex-plain` and `opindex-cnf`: pivot attributes and sorted predicate lists."""

from tellwhen.papers.op_index.cnf import OpIndexCNF
from tellwhen.papers.op_index.engine import OpIndex, OpIndexPlain

__all__ = ["OpIndex", "OpIndexCNF", "OpIndexPlain"]
