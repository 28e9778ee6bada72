"""`bop`: expressions evaluated only with enough satisfied leaves (A-Tree, section 2)."""

from tellwhen.papers.a_tree.bop.engine import BoP

__all__ = ["BoP"]
