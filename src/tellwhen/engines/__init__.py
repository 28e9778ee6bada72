"""ARRAYS -> INDEX -> MATCHES: one file per algorithm, each an `Engine` that registers itself by name."""

from tellwhen.engines import (
    betree,
    counting,
    gryphon,
    kindex,
    opindex,
    opindex_cnf,
    propagation,
    pstbloom,
    psthash,
    scan,
)
from tellwhen.engines.base import REGISTRY, Engine, EngineInfo, Option
from tellwhen.engines.planner import create, engines

__all__ = [
    "REGISTRY",
    "Engine",
    "EngineInfo",
    "Option",
    "betree",
    "counting",
    "create",
    "engines",
    "gryphon",
    "kindex",
    "opindex",
    "opindex_cnf",
    "propagation",
    "pstbloom",
    "psthash",
    "scan",
]
