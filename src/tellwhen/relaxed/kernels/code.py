"""Run the code of a part, which is in postfix form."""

from __future__ import annotations

from tellwhen.kernels.jit import inline
from tellwhen.kernels.truth import is_true
from tellwhen.relaxed.arrays import AND, LOAD, OPERATIONS, STORE


@inline
def run_part(index, part, truth, scratch):
    """Return whether a part is true, given the bits of the true predicates. Uses the scratch's stack and registers."""
    stack, registers, depth = scratch.stack, scratch.registers, 0
    for i in range(index.code_start[part], index.code_start[part + 1]):
        word = index.code[i]
        if word >= 0:
            stack[depth] = is_true(truth, word)
            depth += 1
            continue
        kind, operand = (-1 - word) % OPERATIONS, (-1 - word) // OPERATIONS
        if kind == STORE:
            depth -= 1
            registers[operand] = stack[depth]
        elif kind == LOAD:
            stack[depth] = registers[operand]
            depth += 1
        else:
            true = 0
            for k in range(depth - operand, depth):
                true += stack[k]
            depth -= operand
            stack[depth] = true == operand if kind == AND else true > 0
            depth += 1
    return stack[0] != 0
