"""`auto`: the default engine."""

from tellwhen.engines.auto.engine import Auto

__all__ = ["Auto"]
