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

NEAR_MAX = 32
"""The most ranges of a list that is copied behind every program that tests it; longer lists are shared."""


@inline
def put_list(p, ranges, words, at):
    """Write the ranges of predicate p; returns the end."""
    for i in range(ranges.start[p], ranges.start[p + 1]):
        words[at], words[at + 1] = ranges.first[i], ranges.last[i]
        at += 2
    return at


@inline
def count_list_words(p, ranges):
    """Words of the list of predicate p behind a program."""
    count = ranges.start[p + 1] - ranges.start[p]
    return 0 if count == 1 or count > NEAR_MAX else 2 * count


@inline
def put_test(p, ranges, shared, base, words, at, tail):
    """Write the test of predicate p, without its jump, and its list to `tail`; returns the new tail.

    shared[p] is where its list is, if it is a shared one. `base` is where `words` will begin in the index.
    """
    begin, end = ranges.start[p], ranges.start[p + 1]
    is_range = end - begin == 1
    head = ranges.domain[p] << FLAG_BITS | (RANGE if is_range else LIST) | (NEGATED * ranges.negated[p])
    flag = POINTS
    for i in range(begin, end):
        if ranges.first[i] != ranges.last[i]:
            flag = 0
    words[at + HEAD] = head | flag
    if is_range:
        words[at + FIRST], words[at + LAST] = ranges.first[begin], ranges.last[begin]
    else:
        is_near = end - begin <= NEAR_MAX
        words[at + FIRST], words[at + LAST] = base + tail if is_near else shared[p], end - begin
        if is_near:
            tail = put_list(p, ranges, words, tail)
    return tail


@inline
def put_conjunction(code, start, end, ranges, prices, shared, base, words, at):
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
    tail = at
    for k in range(first, at, INSTRUCTION_WORDS):
        tail = put_test(words[k + JUMP], ranges, shared, base, words, k, tail)
        words[k + JUMP] = REJECT
    words[at - INSTRUCTION_WORDS + HEAD] |= JUMP_ON_TRUE
    words[at - INSTRUCTION_WORDS + JUMP] = ACCEPT
    return at


@inline
def put_program(code, start, end, ranges, shared, base, words, at):
    """Write the instructions of a program; returns the end, or -1 if one of them needs two jumps.

    None does: a compiled test goes on to the next instruction on one of its sides, or it is the last one.
    """
    tail = at + (end - start) // 3 * INSTRUCTION_WORDS
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
                tail = put_test(test, ranges, shared, base, words, at, tail)
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
def measure_programs(kind, start, code, ranges, lengths):
    """The words of every term's program: its length, its instructions, and the lists that they test."""
    for s in range(kind.size):
        words = 1
        for i in range(start[s], start[s + 1], 1 if kind[s] == CONJUNCTION else 3):
            words += INSTRUCTION_WORDS
            if code[i] >= 0:
                words += count_list_words(code[i], ranges)
        lengths[s] = words if words > 1 else 1 + INSTRUCTION_WORDS


@kernel
def write_lists(ranges, shared, words):
    """Write the lists that are shared; shared[p] is where that of predicate p begins, or -1."""
    for p in range(shared.size):
        if shared[p] >= 0:
            put_list(p, ranges, words, shared[p])


@kernel
def write_programs(kind, start, code, ranges, prices, shared, base, program, words):
    """Write the program of every term s at program[s], if that is not -1. Returns False if one cannot be written.

    See `put_test` for `shared` and `base`.
    """
    for s in range(kind.size):
        if program[s] < 0:
            continue
        first = program[s] + 1
        if kind[s] == CONJUNCTION:
            end = put_conjunction(code, start[s], start[s + 1], ranges, prices, shared, base, words, first)
        else:
            end = put_program(code, start[s], start[s + 1], ranges, shared, base, words, first)
        if end < 0:
            return False
        words[program[s]] = end - first
    return True
