"""`intervalid`: leaves annotated with intervals, that a satisfied expression joins without a gap."""

from tellwhen.papers.a_tree.intervalid.engine import IntervalID

__all__ = ["IntervalID"]
