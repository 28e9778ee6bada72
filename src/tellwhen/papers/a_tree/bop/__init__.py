"""`bop`: counts the satisfied leaves of expressions, and evaluates those that have enough of them."""

from tellwhen.papers.a_tree.bop.engine import BoP

__all__ = ["BoP"]
