"""Checks that decide whether an engine is right; they ship with the package."""

from tellwhen.testing.engine_checks import check_engine

__all__ = ["check_engine"]
