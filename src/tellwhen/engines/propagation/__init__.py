"""`propagation`: clusters of conjunctions behind access predicates."""

from tellwhen.engines.propagation.engine import Propagation

__all__ = ["Propagation"]
