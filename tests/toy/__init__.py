"""`toy`: the smallest engine. Copied into `tellwhen/engines/`, this folder is all that it needs."""

from tellwhen.engines.toy.engine import Toy

__all__ = ["Toy"]
