"""Which engine? By name, or `auto`: the fastest one that can take each subscription."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store
from tellwhen.engines.base import REGISTRY, Engine, EngineInfo, Reader, Union
from tellwhen.errors import EngineError
from tellwhen.kernels.arrays import I32


def engines() -> list[EngineInfo]:
    """The engines there are, with what each can do.

    >>> import tellwhen as tw
    >>> [info.name for info in tw.engines()][:4]
    ['auto', 'betree', 'betree-batch', 'counting']
    """
    return [
        EngineInfo(name, engine.summary, engine.supports, engine.options) for name, engine in sorted(REGISTRY.items())
    ]


def create(spec: str, store: Store) -> Engine:
    """A new engine over a store: its name, and perhaps options behind it, as in `betree:max_cap=5,min_size=3`."""
    name, colon, rest = (part.strip() for part in spec.partition(":")) if isinstance(spec, str) else (spec, "", "")
    engine = REGISTRY.get(name) if isinstance(name, str) else None
    if engine is None:
        raise EngineError(f"there is no engine {name!r}; there are {', '.join(sorted(REGISTRY))}")
    given: dict[str, int] = {}
    for text in rest.split(",") if colon else []:
        option, number = _option(engine, text)
        if option in given:
            raise EngineError(f"{engine.name}: {option} is given twice")
        given[option] = number
    return engine(store, **given)


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


class Auto(Engine):
    """Sends each subscription to the first engine that takes it."""

    name = "auto"
    summary = "counting, and scan for what counting cannot take"
    supports = frozenset({"delete", "interval_events", "expressions"})
    order = ("counting", "scan")

    def __init__(self, store: Store, **given: int) -> None:
        super().__init__(store, **given)
        self._engines = [REGISTRY[name](store) for name in self.order]
        self._owner = Growing(np.uint8)  # by slot: which engine has it

    def __len__(self) -> int:
        return sum(len(engine) for engine in self._engines)

    def insert(self, slots: I32) -> None:
        self._owner.extend(np.zeros(len(self.store) - self._owner.count, dtype=np.uint8))
        for number, engine in enumerate(self._engines):
            taken = engine.takes(slots)
            self._owner.data[slots[taken]] = number
            engine.insert(slots[taken])
            slots = slots[~taken]

    def delete(self, slots: I32) -> None:
        for number, engine in enumerate(self._engines):
            mine = slots[self._owner.data[slots] == number]
            if len(mine):
                engine.delete(mine)

    def rebuild(self) -> None:
        for engine in self._engines:
            engine.rebuild()

    def reader(self) -> Reader:
        readers = [engine.reader() for engine in self._engines if len(engine)]
        return readers[0] if len(readers) == 1 else Union(readers)

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"owner": self._owner.view}
        for engine in self._engines:
            named |= {f"{engine.name}.{name}": array for name, array in engine.arrays().items()}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._owner = Growing(np.uint8, arrays["owner"])
        for engine in self._engines:
            prefix = engine.name + "."
            engine.restore({name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)})

    def stats(self) -> dict[str, Any]:
        each = {engine.name: engine.stats() for engine in self._engines}
        total = {key: sum(stats[key] for stats in each.values()) for key in ("subscriptions", "removed", "bytes")}
        return {**total, **each}
