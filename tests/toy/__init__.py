"""`toy`, the smallest engine. Tests copy this folder into `tellwhen/engines/`."""

from tellwhen.engines.toy.engine import Toy

__all__ = ["Toy"]
