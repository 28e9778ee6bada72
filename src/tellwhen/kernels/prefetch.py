"""Ask for memory before it is needed, so that cache misses overlap."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1
"""What LLVM wants to know: it will be read, it is worth all levels of the cache, and it is no code."""


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Begin to load the cache line of array[index]; of a matrix, of the element that `index` counts to, row by row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        where = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [where, word(READ), word(KEEP), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
