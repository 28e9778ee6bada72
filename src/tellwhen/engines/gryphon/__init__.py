"""`gryphon`: a tree of tests, one attribute after the other."""

from tellwhen.engines.gryphon.engine import Gryphon

__all__ = ["Gryphon"]
