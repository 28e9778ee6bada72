"""Operations on the bits of words."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tellwhen.kernels.jit import inline


@intrinsic
def find_lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the number of the lowest bit that is set. At least one must be set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def count_bits(typing_context: Any, word: Any) -> Any:
    """Count the bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@inline
def count_bitmap_words(members):
    """Return the number of words of a bitmap with one bit per member."""
    return (members + 63) >> 6
