"""`atree`: one graph of all expressions, in which equal parts are one node."""

from tellwhen.engines.atree.engine import ATree

__all__ = ["ATree"]
