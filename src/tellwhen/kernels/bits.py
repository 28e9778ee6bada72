"""Bits of words."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tellwhen.kernels.jit import inline


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit that is set. At least one must be."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def count_bits(typing_context: Any, word: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@inline
def bitmap_words(members):
    """Words of a bitmap with a bit for each member."""
    return (members + 63) >> 6
