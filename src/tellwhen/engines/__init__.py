"""ARRAYS -> INDEX -> MATCHES: one folder per algorithm, found by itself; `shared/` has what several of them use."""

from importlib import import_module
from pkgutil import iter_modules

from tellwhen.engines.base import Engine, Option
from tellwhen.engines.beside import Beside, complete
from tellwhen.engines.registry import EngineInfo, create, engine_spec, list_engines

__all__ = ["Beside", "Engine", "EngineInfo", "Option", "complete", "create", "engine_spec", "list_engines"]

for _module in iter_modules(__path__):
    if _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
