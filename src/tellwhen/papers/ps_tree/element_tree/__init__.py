"""The PS-Tree of the paper: a tree of the elements of values (PS-Tree, section 4)."""

from tellwhen.papers.ps_tree.element_tree.tree import ElementTree

__all__ = ["ElementTree"]
