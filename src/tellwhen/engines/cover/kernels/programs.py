"""Code of the store -> the programs that matching runs: tests of spaces, each followed by the next or by a jump."""

from __future__ import annotations

from tellwhen.engines.cover.arrays import (
    ASSIGN,
    FIRST,
    FLAG_BITS,
    HEAD,
    INSTRUCTION_WORDS,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LIST,
    NEGATED,
    POINTS,
    RANGE,
    REGISTER,
)
from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, REJECT, SET
from tellwhen.kernels.jit import inline, kernel


@inline
def put_test(p, ranges, words, at):
    """Write the test of predicate p, without its jump."""
    begin, end = ranges.start[p], ranges.start[p + 1]
    is_range = end - begin == 1
    head = ranges.domain[p] << FLAG_BITS | (RANGE if is_range else LIST) | (NEGATED * ranges.negated[p])
    flag = POINTS
    for i in range(begin, end):
        if ranges.first[i] != ranges.last[i]:
            flag = 0
    words[at + HEAD] = head | flag
    words[at + FIRST] = ranges.first[begin] if is_range else begin
    words[at + LAST] = ranges.last[begin] if is_range else end - begin


@inline
def put_conjunction(code, start, end, ranges, prices, words, at):
    """Write the tests of a conjunction, the least probable first; returns the end. Without any it is always true."""
    if start == end:
        words[at + HEAD], words[at + FIRST], words[at + LAST], words[at + JUMP] = ASSIGN, 0, 0, ACCEPT
        return at + INSTRUCTION_WORDS
    first = at
    for i in range(start, end):
        k = at  # insertion sort: move what is more probable behind it
        while k > first and prices[code[i]] < prices[words[k - INSTRUCTION_WORDS + JUMP]]:
            words[k + JUMP] = words[k - INSTRUCTION_WORDS + JUMP]
            k -= INSTRUCTION_WORDS
        words[k + JUMP] = code[i]
        at += INSTRUCTION_WORDS
    for k in range(first, at, INSTRUCTION_WORDS):
        put_test(words[k + JUMP], ranges, words, k)
        words[k + JUMP] = REJECT
    words[at - INSTRUCTION_WORDS + HEAD] |= JUMP_ON_TRUE
    words[at - INSTRUCTION_WORDS + JUMP] = ACCEPT
    return at


@inline
def put_program(code, start, end, ranges, words, at):
    """Write the instructions of a program; returns the end, or -1 if one of them needs two jumps.

    None does: a compiled test goes on to the next instruction on one of its sides, or it is the last one.
    """
    for i in range(start, end, 3):
        test, yes, no = code[i], code[i + 1], code[i + 2]
        following = (i - start) // 3 + 1
        if test < 0 and (no == SET or no == CLEAR):
            words[at + HEAD], words[at + FIRST], words[at + LAST] = ASSIGN, -1 - test, no == SET
            target = yes
        else:
            if test < 0:
                words[at + HEAD], words[at + FIRST], words[at + LAST] = REGISTER, -1 - test, 0
            else:
                put_test(test, ranges, words, at)
            if yes == following:
                target = no
            elif no == following or (no == REJECT and i + 3 == end):
                words[at + HEAD] |= JUMP_ON_TRUE
                target = yes
            else:
                return -1
        words[at + JUMP] = target * INSTRUCTION_WORDS if target >= 0 else target
        at += INSTRUCTION_WORDS
    return at


@kernel
def write_programs(kind, start, code, ranges, prices, program, words):
    """Write the program of every term s at program[s], if that is not -1. Returns False if one cannot be written."""
    for s in range(kind.size):
        if program[s] < 0:
            continue
        first = program[s] + 1
        if kind[s] == CONJUNCTION:
            end = put_conjunction(code, start[s], start[s + 1], ranges, prices, words, first)
        else:
            end = put_program(code, start[s], start[s + 1], ranges, words, first)
        if end < 0:
            return False
        words[program[s]] = end - first
    return True
