"""ARRAYS -> INDEX -> MATCHES: the engines of the product, one folder each; `shared/` has what several engines use."""

from tellwhen.engines.base import Engine, Option
from tellwhen.engines.registry import (
    EngineInfo,
    create,
    find_engine,
    format_spec,
    import_engines,
    list_engines,
    list_engines_supporting,
)
from tellwhen.engines.shared.fallback import create_with_fallback, explain_refusal

__all__ = [
    "Engine",
    "EngineInfo",
    "Option",
    "create",
    "create_with_fallback",
    "explain_refusal",
    "find_engine",
    "format_spec",
    "list_engines",
    "list_engines_supporting",
]

import_engines(__name__)
