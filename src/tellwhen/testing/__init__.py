"""Check of engines against the oracle, for engines of this package and of others."""

from tellwhen.testing.engine_checks import check_engine

__all__ = ["check_engine"]
