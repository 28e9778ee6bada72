"""`cover`: a cover finds candidates, a program decides."""

from tellwhen.engines.cover.engine import Cover

__all__ = ["Cover"]
