"""What are the conjunctions, or the clauses, of a program of tests? Bit masks over its distinct predicates.

The program is monotone: whatever a test leads to on false implies what it leads to on true. So a test means "the test
and what is on true, or what is on false", and equally "the test or what is on false, and what is on true". The form of
a state is made of the forms of the two states after it, so paths that meet again are walked once.

All arrays are the caller's: allocating them in a kernel takes a second longer to compile.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import ACCEPT, CLEAR, SET
from tellwhen.kernels.jit import inline, kernel

MAX_CONJUNCTIONS = 64
"""Conjunctions, or clauses, that one program may become, unless an engine says otherwise."""

MASK_BITS = 64
"""Distinct predicates of a program, and registers: each has a bit of an int64."""

MAX_STATES = 4_096
"""States that a program may have: positions in it, times the contents that the registers can have there."""

NEXT, REGISTERS, ON_TRUE, ON_FALSE, STATE_WORDS = 0, 1, 2, 3, 4
"""What is known of a state: the next one at the same position, the registers, and the two states that follow it."""


@kernel
def distinct_tests(code, tests, local):
    """List the distinct predicates in `tests`; local[i] is the number of instruction i's predicate among them.

    Returns how many there are, or -1 if there are more predicates or registers than bits in a mask.
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
def unfold(code, needed, first_state, states):
    """Find every state that the program can be in: a position, and the registers that are still needed there.

    needed[i] has the registers that are read at instruction i or later. The states at instruction i are first_state[i],
    states[first_state[i], NEXT] and so on, to -1. What follows a state is another one, or ACCEPT or REJECT; behind an
    instruction that is no test, both sides are the same. Jumps lead only forward.

    Returns the number of states, or -1 if there are too many.
    """
    read = 0
    for at in range(needed.size - 1, -1, -1):
        test, no = code[3 * at], code[3 * at + 2]
        if test < 0 and no != SET and no != CLEAR:
            read |= 1 << (-1 - test)
        needed[at] = read
        first_state[at] = -1
    count = 1
    first_state[0] = states[0, REGISTERS] = 0
    states[0, NEXT] = -1
    for at in range(first_state.size):
        state = first_state[at]
        while state >= 0:
            test, yes, no = code[3 * at], code[3 * at + 1], code[3 * at + 2]
            registers = states[state, REGISTERS]
            if test < 0:
                bit = 1 << (-1 - test)
                if no == SET:
                    registers |= bit
                elif no == CLEAR:
                    registers &= ~bit
                elif registers & bit == 0:
                    yes = no
                no = yes
            for side in range(2):
                after = target = no if side else yes
                if target >= 0:
                    kept = registers & needed[target]
                    after = first_state[target]
                    while after >= 0 and states[after, REGISTERS] != kept:
                        after = states[after, NEXT]
                    if after < 0:
                        if count == states.shape[0]:
                            return -1
                        after = count
                        count += 1
                        states[after, REGISTERS], states[after, NEXT] = kept, first_state[target]
                        first_state[target] = after
                states[state, ON_TRUE + side] = after
            state = states[state, NEXT]
    return count


@inline
def absorb(forms, state, mask):
    """Add a mask to a form unless a subset of it is there; its supersets are dropped. Returns False if that is full."""
    count = forms[state, -1]
    for k in range(count):
        if forms[state, k] & mask == forms[state, k]:
            return True
    kept = 0
    for k in range(count):
        if forms[state, k] & mask != mask:
            forms[state, kept] = forms[state, k]
            kept += 1
    if kept == forms.shape[1] - 1:
        return False
    forms[state, kept] = mask
    forms[state, -1] = kept + 1
    return True


@kernel
def normal_form(code, local, goal, first_state, states, forms):
    """The conjunctions of the disjunctive form for the goal ACCEPT, the clauses of the conjunctive form for REJECT.

    The masks of a state s are forms[s, :forms[s, -1]]. Returns how many state 0 has, the program's first,
    or -1 if some state would have more than `forms` has columns for; the last column counts.
    """
    near = 0 if goal == ACCEPT else 1  # the side on which the test becomes a part of the conjunction, or clause
    for at in range(first_state.size - 1, -1, -1):
        is_test = code[3 * at] >= 0
        state = first_state[at]
        while state >= 0:
            forms[state, -1] = 0
            for side in range(2 if is_test else 1):
                mask = 1 << local[at] if is_test and side == near else 0
                after = states[state, ON_TRUE + side]
                if after == goal and not absorb(forms, state, mask):
                    return -1
                for k in range(forms[after, -1] if after >= 0 else 0):
                    if not absorb(forms, state, forms[after, k] | mask):
                        return -1
            state = states[state, NEXT]
    return forms[0, -1]
