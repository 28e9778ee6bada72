"""Prefetching: a load that starts before its result is needed, so that cache misses overlap."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1
"""Arguments of llvm.prefetch: for reading, into all levels of the cache, of data instead of code."""


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Start to load the cache line of array[index].

    For a matrix, `index` counts elements row by row.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        where = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [where, word(READ), word(KEEP), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
