"""ARRAYS -> INDEX -> MATCHES: the engines of the product, one folder each; `shared/` has what several engines use."""

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
from tellwhen.engines.shared.fallback import complete, explain_refusal

__all__ = [
    "Engine",
    "EngineInfo",
    "Option",
    "complete",
    "create",
    "engine_spec",
    "engines_supporting",
    "explain_refusal",
    "find_engine",
    "list_engines",
]

import_engines(__name__)
