"""Subscriptions and events to measure with: seeded, the same bytes on every machine, in blocks that anyone can make."""

from tellwhen.workloads.begen import BEGen

__all__ = ["BEGen"]
