"""A program of tests -> its disjunctive or conjunctive normal form, as bit masks over its distinct predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import ACCEPT, CLEAR, SET
from tellwhen.kernels.jit import kernel

MASK_BITS = 64
"""Distinct predicates, and registers, that a mask can hold."""

MAX_STATES = 4_096
"""States that a program may have: places, times what is in the registers there."""


@kernel
def distinct_tests(code, tests, local):
    """List the distinct predicates in `tests`, and each instruction's number of its predicate in `local`.

    Returns how many, or -1 when there are more predicates or registers than a mask holds.
    """
    count = 0
    for i in range(0, code.size, 3):
        test = code[i]
        if test < 0:
            if -1 - test >= MASK_BITS:
                return -1
            continue
        k = 0
        while k < count and tests[k] != test:
            k += 1
        if k == count:
            if count == MASK_BITS:
                return -1
            tests[k] = test
            count += 1
        local[i // 3] = k
    return count


@kernel
def absorb(found, count, conjunction):
    """Add a conjunction unless one of its parts is there already; conjunctions it is a part of go. Returns the new count."""
    for k in range(count):
        if found[k] & conjunction == found[k]:
            return count
    kept = 0
    for k in range(count):
        if found[k] & conjunction != conjunction:
            found[kept] = found[k]
            kept += 1
    found[kept] = conjunction
    return kept + 1


@kernel
def unfold(code, head, following, branch):
    """Every state that the program can be in, a place and the registers still needed: states of place i are head[i],
    following[head[i]] and so on. branch[s] has the states after s, on true and on false, or ACCEPT or REJECT.

    Returns how many there are, or -1 when they are too many. Jumps only lead forward.
    """
    one, none = np.uint64(1), np.uint64(0)
    needed = np.zeros(head.size + 1, dtype=np.uint64)
    for at in range(head.size - 1, -1, -1):
        test, no = code[3 * at], code[3 * at + 2]
        reads = test < 0 and no != SET and no != CLEAR
        needed[at] = needed[at + 1] | (one << np.uint64(-1 - test) if reads else none)
    registers = np.zeros(following.size, dtype=np.uint64)
    head[:] = -1
    head[0], following[0] = 0, -1
    count = 1
    for at in range(head.size):
        state = head[at]
        while state >= 0:
            test, yes, no = code[3 * at], code[3 * at + 1], code[3 * at + 2]
            values = registers[state]
            if test < 0:
                bit = one << np.uint64(-1 - test)
                if no == SET:
                    values |= bit
                elif no == CLEAR:
                    values &= ~bit
                elif values & bit == none:
                    yes = no
                no = yes
            for side in range(2):
                to = no if side else yes
                if to >= 0:
                    kept = values & needed[to]
                    after = head[to]
                    while after >= 0 and registers[after] != kept:
                        after = following[after]
                    if after < 0:
                        if count == following.size:
                            return -1
                        after = count
                        count += 1
                        registers[after], following[after], head[to] = kept, head[to], after
                    to = after
                branch[state, side] = to
            state = following[state]
    return count


@kernel
def normal_form(code, local, goal, found):
    """The conjunctions of the disjunctive form for the goal ACCEPT, the clauses of the conjunctive form for REJECT.

    The program is monotone: whatever a test leads to on false implies what it leads to on true. So it means "the test
    and the one, or the other", and as well "the test or the other, and the one": with each state's form made of those
    after it, paths that meet again are walked once. Returns the number of conjunctions in `found`, or -1 when they, or the
    states, are too many. `found` has one place to spare.
    """
    size = code.size // 3
    head, following = np.empty(size, dtype=np.int64), np.empty(MAX_STATES, dtype=np.int64)
    branch = np.empty((MAX_STATES, 2), dtype=np.int64)
    states = unfold(code, head, following, branch)
    if states < 0:
        return -1
    forms, counts = np.empty((states, found.size), dtype=np.uint64), np.zeros(states, dtype=np.int64)
    near = 0 if goal == ACCEPT else 1  # the side on which the test becomes part of a conjunction
    for at in range(size - 1, -1, -1):
        state = head[at]
        while state >= 0:
            for side in range(2 if code[3 * at] >= 0 else 1):
                to = branch[state, side]
                more = np.uint64(0)
                if side == near and code[3 * at] >= 0:
                    more = np.uint64(1) << np.uint64(local[at])
                if to == goal:
                    counts[state] = absorb(forms[state], counts[state], more)
                elif to >= 0:
                    for k in range(counts[to]):
                        counts[state] = absorb(forms[state], counts[state], forms[to, k] | more)
                        if counts[state] == found.size:
                            return -1
            state = following[state]
    found[: counts[0]] = forms[0, : counts[0]]
    return counts[0]
