"""`dewey`: leaves annotated with Dewey IDs, which an expression is evaluated over in their order."""

from tellwhen.papers.a_tree.dewey.engine import Dewey

__all__ = ["Dewey"]
