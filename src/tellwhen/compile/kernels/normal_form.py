"""Normal form of a program: its conjunctions or clauses as bit masks over its distinct predicates.

The program is monotone: if the branch on false is satisfied, so is the branch on true. So a test means "(the test AND
the branch on true) OR the branch on false", and equally "(the test OR the branch on false) AND the branch on true". The
form of a state is made of the forms of the two states after it, so paths that meet again are walked once.

The caller allocates all arrays, since allocation within a kernel takes a second longer to compile.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import ACCEPT, CLEAR, SET
from tellwhen.kernels.jit import inline, kernel

MAX_CONJUNCTIONS = 64
"""Most conjunctions, or clauses, of one program, unless an engine sets another limit."""

MASK_BITS = 64
"""Most distinct predicates of a program, and most registers: each has one bit of an int64."""

MAX_STATES = 4_096
"""Most states of a program. A state is an instruction together with the contents of the registers there."""

NEXT, REGISTERS, ON_TRUE, ON_FALSE, STATE_WORDS = 0, 1, 2, 3, 4
"""Columns of a state: the next state at the same instruction, the registers, and the two states that follow."""


@kernel
def list_distinct_tests(code, tests, local):
    """Write the distinct predicates of the program to `tests`, and return their number.

    local[i] becomes the position in `tests` of the predicate of instruction i. Return -1 if there are more
    predicates or registers than bits in a mask.
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
    """Write every state of the program to `states`, and return their number, or -1 if there are too many.

    A state is an instruction and the registers that are still needed there. needed[i] becomes the mask of the registers
    that are read at instruction i or later. The states at instruction i are a list: first_state[i],
    states[first_state[i], NEXT] and so on, up to -1. A state is followed by another one, or by ACCEPT or REJECT. Behind
    an instruction that is no test, both sides are the same. Jumps lead only forward.
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
    """Add a mask to the form of a state, and drop the supersets of the mask. Return False if the form is full.

    A mask with a subset in the form adds nothing.
    """
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
def build_normal_form(code, local, goal, first_state, states, forms):
    """Write the normal form of every state to `forms`, and return the number of masks of the program, which is state 0.

    The goal ACCEPT gives the conjunctions of the disjunctive normal form, REJECT the clauses of the conjunctive one.
    State s has the masks forms[s, :forms[s, -1]]; the last column is their number. Return -1 if some state has more
    masks than `forms` has columns for.
    """
    near = 0 if goal == ACCEPT else 1  # the side on which the test is part of the conjunction or clause
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
