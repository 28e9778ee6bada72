"""`intervalid`: leaves annotated with intervals, that a satisfied expression joins without a gap."""

from tellwhen.engines.intervalid.engine import IntervalID

__all__ = ["IntervalID"]
