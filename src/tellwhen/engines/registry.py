"""The registry of engines: find one by name, list all, and make one from its spec.

An engine is a folder in `engines/` or anywhere below `papers/` whose `__init__` imports a subclass of `Engine` with a
name. Importing the folder registers the class, so a new engine needs no other line anywhere. The engines of `papers/`
are imported on the first request for a name that is not in `engines/`, or for all names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any, NamedTuple

import numpy as np

from tellwhen.engines.base import REGISTRY, Capability, Engine, Option, Source
from tellwhen.errors import EngineError, abbreviate


class EngineInfo(NamedTuple):
    """Name, summary, capabilities and options of an engine, as `tellwhen.list_engines` returns them."""

    name: str
    summary: str
    supports: frozenset[Capability]
    options: Mapping[str, Option]


@cache
def import_engines(package: str) -> None:
    """Import every folder below a package that has an `engine.py`, so that its engines register themselves.

    The package is named by a string: the product must not depend on `papers/`.
    """
    spec = find_spec(package)
    assert spec is not None
    for module in walk_packages(spec.submodule_search_locations, f"{package}."):
        if module.name.endswith(".engine"):
            import_module(module.name.removesuffix(".engine"))


def load_engines() -> Mapping[str, type[Engine]]:
    """Return all engines by name, those of the papers too."""
    import_engines("tellwhen.engines")
    import_engines("tellwhen.papers")
    return REGISTRY


def find_engine(name: str) -> type[Engine] | None:
    """Return the engine of a name, or None; import the papers' engines only if the product has no such engine."""
    return REGISTRY.get(name) or load_engines().get(name)


def list_engines_supporting(capability: Capability) -> list[str]:
    """Return the names of the engines that have a capability."""
    return sorted(name for name, engine in load_engines().items() if capability in engine.supports)


def list_engines() -> list[EngineInfo]:
    """List all engines with their capabilities and options.

    Returns
    -------
    list of EngineInfo
        All engines in the order of their names.

    Examples
    --------
    >>> import tellwhen as tw
    >>> [info.name for info in tw.list_engines() if info.name.startswith("betree")]
    ['betree', 'betree-batch']
    """
    return [
        EngineInfo(name, engine.summary, engine.supports, engine.options)
        for name, engine in sorted(load_engines().items())
    ]


def format_spec(name: str, options: Mapping[str, Any]) -> str:
    """Return an engine with its options as a spec: `betree` and {"max_cap": 5} make `betree:max_cap=5`."""
    for option, value in options.items():
        if not isinstance(value, int | np.integer) or (isinstance(value, bool) and option != "strict"):
            raise EngineError(f"{name}: {option} must be a whole number, not {abbreviate(value)}")
    given = ",".join(f"{option}={int(value)}" for option, value in options.items())
    if not given:
        return name
    return f"{name},{given}" if ":" in name else f"{name}:{given}"


def create(spec: str, source: Source) -> Engine:
    """Create an engine over a store.

    Parameters
    ----------
    spec
        The name of the engine, perhaps with options: `betree`, `betree:max_cap=5,min_size=3`.
    source
        The store to index.

    Raises
    ------
    EngineError
        If there is no such engine or option, or a value is out of range.
    """
    name, colon, rest = (part.strip() for part in spec.partition(":")) if isinstance(spec, str) else (spec, "", "")
    engine = find_engine(name) if isinstance(name, str) else None
    if engine is None:
        raise EngineError(f"there is no engine {name!r}; there are {', '.join(sorted(load_engines()))}")
    if colon and not rest:
        raise EngineError(f"{engine.name}: expected an option and its value behind the colon; omit the colon otherwise")
    given: dict[str, int] = {}
    for text in rest.split(",") if colon else []:
        option, number = _parse_option(engine, text)
        if option in given:
            raise EngineError(f"{engine.name}: {option} is given twice")
        given[option] = number
    return engine(source, **given)


def _parse_option(engine: type[Engine], text: str) -> tuple[str, int]:
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in engine.options:
        known = ", ".join(f"{name} ({option.meaning})" for name, option in engine.options.items())
        raise EngineError(f"{engine.name} has no option {name!r}; it has {known or 'none'}")
    _, least, most, _ = engine.options[name]
    if not re.fullmatch("-?[0-9]{1,18}", value):
        raise EngineError(f"{engine.name}: {name} must be a whole number, not {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise EngineError(f"{engine.name}: {name} must be at least {least} and at most {most}, not {number}")
    return name, number
