"""`bdd`: one shared binary decision diagram of all expressions."""

from tellwhen.engines.bdd.engine import BDD

__all__ = ["BDD"]
