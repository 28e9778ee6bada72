"""`cover`: covers find candidates, programs decide."""

from tellwhen.engines.cover.engine import Cover

__all__ = ["Cover"]
