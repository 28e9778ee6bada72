"""OpIndex (VLDB 2014): pivot attributes and sorted predicate lists, as `opindex`, `opindex-plain` and `opindex-cnf`."""

from tellwhen.papers.op_index.cnf import OpIndexCNF
from tellwhen.papers.op_index.engine import OpIndex, OpIndexPlain

__all__ = ["OpIndex", "OpIndexCNF", "OpIndexPlain"]
