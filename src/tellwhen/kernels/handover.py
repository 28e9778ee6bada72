"""Handover of arrays from Python to a kernel by address: a NamedTuple inside, one int64 array outside.

    packed = pack(index)                      # Python, once: |address length|address length|...
    index = unpack(packed, BETreeIndex)       # kernel, at its top: a BETreeIndex of the same arrays

To pass 20 arrays takes 2.7 us a call in a NamedTuple, 1.1 us as separate arguments, and 0.2 us as one packed array.
Unpacked arrays have no owner, so Numba counts no references to them, not even where a hot loop reads a field.

Packing takes a microsecond per array: too long for arrays that live for one call, such as those of an event. A caller
passes these in a plain tuple, which costs no more than separate arguments; `borrow(events, Events)` gives them names
and drops their owners.

A packed array does not keep alive what it points to: the caller of `pack` must hold on to the arrays.

A *kind* is a NamedTuple class whose fields are annotated with an array type of `kernels/arrays.py`, with `int`, or with
another kind. The kind alone fixes the order of the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload
from numba.np.numpy_support import carray

from tellwhen.kernels.arrays import I64, ArrayLayout


class _Leaf(NamedTuple):
    """An array field of a kind, or an int field if `dimensions` is 0. Other fields are nested kinds."""

    name: str
    dtype: np.dtype[Any]
    dimensions: int

    @property
    def words(self) -> int:
        return 1 + self.dimensions


@cache
def _read_fields(kind: Any) -> list[tuple[str, Any]]:
    """Return (name, field) for the fields of a NamedTuple class; a field is a `_Leaf` or a nested class."""
    fields: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if hint is int:
            fields.append((name, _Leaf(name, np.dtype(np.int64), 0)))
        elif hasattr(hint, "_fields"):
            fields.append((name, hint))
        else:
            layout = _find_layout(hint)
            if layout is None:
                raise TypeError(
                    f"{kind.__name__}.{name} is declared as {hint}, but a kernel needs an array type of "
                    "kernels/arrays.py such as I32, an int, or a NamedTuple of these"
                )
            fields.append((name, _Leaf(name, np.dtype(layout.dtype), layout.dimensions)))
    return fields


def _find_layout(hint: Any) -> ArrayLayout | None:
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, ArrayLayout)), None)


def pack(value: Any) -> I64:
    """Return the addresses and shapes of all arrays of a NamedTuple, in the order of its fields, also nested ones."""
    return np.array(list(_iterate_words(value)), dtype=np.int64)


def _iterate_words(value: Any) -> Iterator[int]:
    kind: Any = type(value)
    for (name, field), item in zip(_read_fields(kind), value, strict=True):
        if not isinstance(field, _Leaf):
            yield from _iterate_words(item)
        elif field.dimensions == 0:
            yield int(item)
        else:
            if item.dtype != field.dtype or item.ndim != field.dimensions or not item.flags.c_contiguous:
                raise TypeError(
                    f"{kind.__name__}.{name} must be a contiguous array of {field.dtype} with {field.dimensions} "
                    f"dimensions, not {item.dtype} with {item.ndim}; convert it with np.ascontiguousarray"
                )
            yield item.__array_interface__["data"][0]
            yield from item.shape


def allocate_arrays(sizes: Any) -> Any:
    """Allocate the arrays of a NamedTuple, filled with zeros.

    `sizes` has a length in place of each array. The arrays are longer by a quarter.
    """
    kind: Any = type(sizes)
    return kind(
        *(
            np.zeros(size * 5 // 4 + 1, dtype=field.dtype) if isinstance(field, _Leaf) else allocate_arrays(size)
            for (_, field), size in zip(_read_fields(kind), sizes, strict=True)
        )
    )


def unpack(packed: I64, kind: Any) -> Any:
    """Return the packed arrays as a `kind`. Works in kernels only."""
    raise NotImplementedError("unpack() works in kernels only; Python code has the arrays themselves")


def borrow(arrays: tuple[Any, ...], kind: Any) -> Any:
    """Return the arrays of a tuple as a `kind` without owners. Works in kernels only; the caller keeps them alive."""
    raise NotImplementedError("borrow() works in kernels only; Python code has the arrays themselves")


@intrinsic
def _pointer(typing_context: Any, address: Any, item: Any) -> Any:
    """Convert an address to a pointer to items of a NumPy type."""
    pointer = types.CPointer(item.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64, item), generate


@overload(unpack, strict=False)
def _unpack(packed: Any, kind: Any) -> Any:
    names = {"carray": carray, "pointer": _pointer}
    source, _ = _build_unpacking(kind.instance_class, 0, names)
    return _define("packed, kind", source, names)


def _build_unpacking(kind: Any, at: int, names: dict[str, Any]) -> tuple[str, int]:
    """Return the expression that makes a `kind` of the words from `at` on, and the offset behind these words."""
    arguments = []
    for _, field in _read_fields(kind):
        if not isinstance(field, _Leaf):
            argument, at = _build_unpacking(field, at, names)
        else:
            argument = f"packed[{at}]"
            if field.dimensions:
                names[field.dtype.name] = field.dtype.type
                shape = ", ".join(f"packed[{at + 1 + d}]" for d in range(field.dimensions))
                argument = f"carray(pointer({argument}, {field.dtype.name}), ({shape},))"
            at += field.words
        arguments.append(argument)
    names[kind.__name__] = kind
    return f"{kind.__name__}({', '.join(arguments)})", at


@overload(borrow, strict=False)
def _borrow(arrays: Any, kind: Any) -> Any:
    kind = kind.instance_class
    names = {"carray": carray, "pointer": _pointer, "int64": np.int64, kind.__name__: kind}
    arguments = []
    for n, (name, leaf) in enumerate(_read_fields(kind)):
        names[name] = leaf.dtype.type
        arguments.append(f"carray(pointer(int64(arrays[{n}].ctypes.data), {name}), arrays[{n}].shape)")
    return _define("arrays, kind", f"{kind.__name__}({', '.join(arguments)})", names)


def _define(parameters: str, expression: str, names: dict[str, Any]) -> Any:
    """Define a function that returns `expression`.

    Numba requires this form of an implementation that depends on a type.
    """
    exec(f"def implementation({parameters}):\n    return {expression}", names)
    return names["implementation"]
