"""How do arrays get from Python into a kernel? By address, packed once: a NamedTuple inside, one int64 array outside.

    packed = pack(index)                      # Python, once: |address length|address length|...
    index = unpack(packed, BETreeIndex)       # kernel, at its top: a BETreeIndex of the same arrays

Handing over 20 arrays in a NamedTuple takes 2.7 us a call, as separate arguments 1.1 us, as one packed array 0.2 us.
Unpacked arrays have no owner, so Numba counts no references to them, even where a field is read in a hot loop.

Packing takes a microsecond an array: too long for arrays that live for one call, such as an event's. These come in a
plain tuple, which costs no more than separate arguments, and `borrow(events, Events)` gives them names and no owner.

A packed array does not keep alive what it points to: whoever packs must hold on to the arrays.

A *kind* is a NamedTuple class whose fields are annotated with an array type of `kernels/arrays.py`, with `int`, or with
another kind. It is the only place that fixes the order of the arrays.
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
    """A field that is no kind: an array, or an int where `dimensions` is 0."""

    name: str
    dtype: np.dtype[Any]
    dimensions: int

    @property
    def words(self) -> int:
        return 1 + self.dimensions


@cache
def _fields(kind: Any) -> list[tuple[str, Any]]:
    """The fields of a kind, each with its leaf, or with the kind that it is."""
    found: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if hint is int:
            found.append((name, _Leaf(name, np.dtype(np.int64), 0)))
        elif hasattr(hint, "_fields"):
            found.append((name, hint))
        else:
            layout = _array_layout(hint)
            if layout is None:
                raise TypeError(
                    f"{kind.__name__}.{name} is declared as {hint}, but a kernel needs an array type of "
                    "kernels/arrays.py such as I32, an int, or a NamedTuple of these"
                )
            found.append((name, _Leaf(name, np.dtype(layout.dtype), layout.dimensions)))
    return found


def _array_layout(hint: Any) -> ArrayLayout | None:
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, ArrayLayout)), None)


def pack(value: Any) -> I64:
    """Addresses and lengths of all arrays of a NamedTuple, nested ones included, in the order of the fields."""
    return np.array(list(_words(value)), dtype=np.int64)


def _words(value: Any) -> Iterator[int]:
    kind: Any = type(value)
    for (name, field), item in zip(_fields(kind), value, strict=True):
        if not isinstance(field, _Leaf):
            yield from _words(item)
        elif field.dimensions == 0:
            yield int(item)
        else:
            if item.dtype != field.dtype or item.ndim != field.dimensions or not item.flags.c_contiguous:
                raise TypeError(
                    f"{kind.__name__}.{name} is declared as {field.dtype} of {field.dimensions} dimensions, "
                    f"but the array has {item.dtype} of {item.ndim}, or is not contiguous"
                )
            yield item.__array_interface__["data"][0]
            yield from item.shape


def array_like(sizes: Any) -> Any:
    """Arrays of zeros for a kind whose fields are lengths instead of arrays, a quarter longer than asked for."""
    kind: Any = type(sizes)
    return kind(
        *(
            np.zeros(size * 5 // 4 + 1, dtype=field.dtype) if isinstance(field, _Leaf) else array_like(size)
            for (_, field), size in zip(_fields(kind), sizes, strict=True)
        )
    )


def unpack(packed: I64, kind: Any) -> Any:
    """The arrays that were packed, as a `kind`. For kernels only."""
    raise NotImplementedError("unpack() works in kernels; Python has the arrays themselves")


def borrow(arrays: tuple[Any, ...], kind: Any) -> Any:
    """A `kind` of the arrays of a tuple, without their owners. For kernels only; the caller keeps the arrays alive."""
    raise NotImplementedError("borrow() works in kernels")


@intrinsic
def _pointer(typing_context: Any, address: Any, item: Any) -> Any:
    """An address as a pointer to items of a NumPy type."""
    pointer = types.CPointer(item.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64, item), generate


@overload(unpack, strict=False)
def _unpack(packed: Any, kind: Any) -> Any:
    names = {"carray": carray, "pointer": _pointer}
    source, _ = _unpacking(kind.instance_class, 0, names)
    return _compiled("packed, kind", source, names)


def _unpacking(kind: Any, at: int, names: dict[str, Any]) -> tuple[str, int]:
    """The expression that makes a `kind` of the words from `at` on, and where the next one begins."""
    arguments = []
    for _, field in _fields(kind):
        if not isinstance(field, _Leaf):
            argument, at = _unpacking(field, at, names)
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
    for n, (name, leaf) in enumerate(_fields(kind)):
        names[name] = leaf.dtype.type
        arguments.append(f"carray(pointer(int64(arrays[{n}].ctypes.data), {name}), arrays[{n}].shape)")
    return _compiled("arrays, kind", f"{kind.__name__}({', '.join(arguments)})", names)


def _compiled(parameters: str, expression: str, names: dict[str, Any]) -> Any:
    """A function of one expression: the form in which Numba takes an implementation that depends on a type."""
    exec(f"def implementation({parameters}):\n    return {expression}", names)
    return names["implementation"]
