"""`gryphon`: a tree of tests, one attribute after the other."""

from tellwhen.papers.be_tree.gryphon.engine import Gryphon

__all__ = ["Gryphon"]
