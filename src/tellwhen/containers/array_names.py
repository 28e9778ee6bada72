"""Conversion of nested NamedTuples of arrays to arrays by dotted name, in which stores and engines are saved.

>>> from typing import NamedTuple
>>> Inner = NamedTuple("Inner", [("start", np.ndarray)])
>>> Outer = NamedTuple("Outer", [("lists", Inner), ("count", int)])
>>> named = flatten(Outer(Inner(np.array([0, 2])), 7))
>>> named
{'lists.start': array([0, 2]), 'count': array([7])}
>>> unflatten(Outer, named)
Outer(lists=Inner(start=array([0, 2])), count=7)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

import numpy as np

Kind = TypeVar("Kind", bound=tuple[Any, ...])


def flatten(value: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return all arrays of a NamedTuple by name, those of a nested one as `outer.inner`. An int becomes an array."""
    named: dict[str, np.ndarray] = {}
    for field, item in value._asdict().items():
        if hasattr(item, "_fields"):
            named |= flatten(item, f"{prefix}{field}.")
        else:
            named[prefix + field] = np.array([item]) if isinstance(item, int) else item
    return named


def unflatten(kind: type[Kind], named: Mapping[str, np.ndarray], prefix: str = "") -> Kind:
    """Rebuild the NamedTuple from which `flatten` made `named`."""
    values = []
    for field, hint in get_type_hints(kind).items():
        if hasattr(hint, "_fields"):
            values.append(unflatten(hint, named, f"{prefix}{field}."))
        else:
            array = named[prefix + field]
            values.append(int(array[0]) if hint is int else array)
    return kind(*values)


def select_prefix(named: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Select the arrays whose names begin with a prefix and a dot, and remove both from their names."""
    return {name.removeprefix(f"{prefix}."): a for name, a in named.items() if name.startswith(f"{prefix}.")}
