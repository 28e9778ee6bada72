"""ARRAYS -> INDEX -> MATCHES: the product's engines, one folder each; `shared/` has what several of them use."""

from tellwhen.engines.base import Engine, Option
from tellwhen.engines.registry import (
    EngineInfo,
    create,
    engine_spec,
    engines_supporting,
    find_engine,
    import_engines,
    list_engines,
)
from tellwhen.engines.shared.fallback import Beside, complete

__all__ = [
    "Beside",
    "Engine",
    "EngineInfo",
    "Option",
    "complete",
    "create",
    "engine_spec",
    "engines_supporting",
    "find_engine",
    "list_engines",
]

import_engines(__name__)
