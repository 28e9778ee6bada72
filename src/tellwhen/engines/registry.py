"""Which engines are there, and how is one made by name?

An engine is a folder beside this file whose `__init__` imports a subclass of `Engine` with a name. `engines/__init__`
imports all folders, so a new engine needs no other line anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tellwhen.engines.base import REGISTRY, Capability, Engine, Option, Source
from tellwhen.errors import EngineError, shown


class EngineInfo(NamedTuple):
    """What `tellwhen.list_engines()` lists."""

    name: str
    summary: str
    supports: frozenset[Capability]
    options: Mapping[str, Option]


def list_engines() -> list[EngineInfo]:
    """All engines, with what each can do.

    >>> import tellwhen as tw
    >>> [info.name for info in tw.list_engines() if info.name.startswith("betree")]
    ['betree', 'betree-batch']
    """
    return [
        EngineInfo(name, engine.summary, engine.supports, engine.options) for name, engine in sorted(REGISTRY.items())
    ]


def engine_spec(name: str, options: Mapping[str, Any]) -> str:
    """The one-string form of an engine and its options: `betree` and {"max_cap": 5} make `betree:max_cap=5`."""
    for option, value in options.items():
        if not isinstance(value, int | np.integer) or (isinstance(value, bool) and option != "strict"):
            raise EngineError(f"{name}: {option} is a whole number, not {shown(value)}")
    given = ",".join(f"{option}={int(value)}" for option, value in options.items())
    if not given:
        return name
    return f"{name},{given}" if ":" in name else f"{name}:{given}"


def create(spec: str, source: Source) -> Engine:
    """A new engine over a store, from its spec: `betree`, or with options `betree:max_cap=5,min_size=3`."""
    name, colon, rest = (part.strip() for part in spec.partition(":")) if isinstance(spec, str) else (spec, "", "")
    engine = REGISTRY.get(name) if isinstance(name, str) else None
    if engine is None:
        raise EngineError(f"there is no engine {name!r}; there are {', '.join(sorted(REGISTRY))}")
    if colon and not rest:
        raise EngineError(f"{engine.name}: an option and its value are missing behind the colon, or omit the colon")
    given: dict[str, int] = {}
    for text in rest.split(",") if colon else []:
        option, number = _option(engine, text)
        if option in given:
            raise EngineError(f"{engine.name}: {option} is given twice")
        given[option] = number
    return engine(source, **given)


def _option(engine: type[Engine], text: str) -> tuple[str, int]:
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in engine.options:
        known = ", ".join(f"{name} ({option.meaning})" for name, option in engine.options.items())
        raise EngineError(f"{engine.name} has no option {name!r}; it has {known or 'none'}")
    _, least, most, _ = engine.options[name]
    if not re.fullmatch("-?[0-9]{1,18}", value):
        raise EngineError(f"{engine.name}: {name} is a whole number, not {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise EngineError(f"{engine.name}: {name} is at least {least} and at most {most}, not {number}")
    return name, number
