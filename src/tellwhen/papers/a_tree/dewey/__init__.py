"""`dewey`: expressions whose leaves are annotated with Dewey IDs (A-Tree, section 2)."""

from tellwhen.papers.a_tree.dewey.engine import Dewey

__all__ = ["Dewey"]
