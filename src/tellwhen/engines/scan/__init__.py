"""`scan`: test every subscription."""

from tellwhen.engines.scan.engine import Scan

__all__ = ["Scan"]
