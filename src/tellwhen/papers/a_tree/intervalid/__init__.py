"""`intervalid`: expressions whose leaves are annotated with interval IDs (A-Tree, section 2)."""

from tellwhen.papers.a_tree.intervalid.engine import IntervalID

__all__ = ["IntervalID"]
