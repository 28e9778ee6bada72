"""ARRAYS -> INDEX -> MATCHES: one file per algorithm, each an `Engine` that registers itself by name."""

from tellwhen.engines import counting, gryphon, kindex, opindex, propagation, pstbloom, psthash, scan
from tellwhen.engines.base import REGISTRY, Engine, EngineInfo
from tellwhen.engines.planner import create, engines

__all__ = [
    "REGISTRY",
    "Engine",
    "EngineInfo",
    "counting",
    "create",
    "engines",
    "gryphon",
    "kindex",
    "opindex",
    "propagation",
    "pstbloom",
    "psthash",
    "scan",
]
