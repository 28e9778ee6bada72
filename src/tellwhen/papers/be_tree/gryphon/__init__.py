"""`gryphon`: a tree that tests one attribute after the other (BE-Tree, section 7.2)."""

from tellwhen.papers.be_tree.gryphon.engine import Gryphon

__all__ = ["Gryphon"]
