"""A program of tests -> its disjunctive or conjunctive normal form, as bit masks over its distinct predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import ACCEPT, CLEAR, SET
from tellwhen.kernels.jit import kernel

WIDTH = 64
"""Distinct predicates, and registers, that a mask can hold."""

PATHS = 64
"""Paths that may be walked per allowed row: some are dead ends, some repeat others."""


@kernel
def distinct_tests(code, tests, local):
    """List the distinct predicates in `tests`, and each instruction's number of its predicate in `local`.

    Returns how many, or -1 when there are more predicates or registers than a mask holds.
    """
    count = 0
    for i in range(0, code.size, 3):
        test = code[i]
        if test < 0:
            if -1 - test >= WIDTH:
                return -1
            continue
        k = 0
        while k < count and tests[k] != test:
            k += 1
        if k == count:
            if count == WIDTH:
                return -1
            tests[k] = test
            count += 1
        local[i // 3] = k
    return count


@kernel
def absorb(found, count, row):
    """Add a row unless one of its parts is there already; rows it is a part of go. Returns the new count."""
    for k in range(count):
        if found[k] & row == found[k]:
            return count
    kept = 0
    for k in range(count):
        if found[k] & row != row:
            found[kept] = found[k]
            kept += 1
    found[kept] = row
    return kept + 1


@kernel
def normal_form(code, local, goal, found):
    """Walk every path to the goal. On one to ACCEPT the tests answered yes make a row of the disjunctive form, on one to
    REJECT those answered no a clause of the conjunctive form.

    All others may be dropped, because the program is monotone: a true predicate never turns a match into none. Returns
    the number of rows in `found`, or -1 when they, or the paths, are too many. `found` has one place to spare.
    """
    one = np.uint64(1)
    # Each branch leaves at most one path behind, and a predicate is branched on once per path.
    stack = np.empty((WIDTH + 1, 3), dtype=np.uint64)
    places = np.empty(WIDTH + 1, dtype=np.int64)
    places[0] = 0
    stack[0, 0] = stack[0, 1] = stack[0, 2] = np.uint64(0)
    waiting = 1
    walked = 0
    count = 0
    while waiting > 0:
        waiting -= 1
        at = places[waiting]
        true, false, registers = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        walked += 1
        if walked > PATHS * found.size:
            return -1
        while at >= 0:
            test, yes, no = code[3 * at], code[3 * at + 1], code[3 * at + 2]
            if test >= 0:
                bit = one << np.uint64(local[at])
                if true & bit == 0 and false & bit == 0:
                    places[waiting] = no
                    stack[waiting, 0] = true
                    stack[waiting, 1] = false | bit
                    stack[waiting, 2] = registers
                    waiting += 1
                    true |= bit
                at = yes if true & bit != 0 else no
            else:
                bit = one << np.uint64(-1 - test)
                if no == SET:
                    registers |= bit
                    at = yes
                elif no == CLEAR:
                    registers &= ~bit
                    at = yes
                else:
                    at = yes if registers & bit != 0 else no
        if at == goal:
            count = absorb(found, count, true if goal == ACCEPT else false)
            if count == found.size:
                return -1
    return count
