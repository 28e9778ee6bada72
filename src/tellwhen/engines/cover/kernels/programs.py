"""Translate code of the store to the programs that matching runs: tests of spaces, with one jump each."""

from __future__ import annotations

from tellwhen.compile.extract import Extract
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
from tellwhen.engines.cover.build_arrays import PredicateFacts, ProgramWords, Ranges
from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, REJECT, SET
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

NEAR_MAX = 32
"""A list of up to 32 ranges is copied behind every program that tests it; a longer list is shared by all programs."""


@inline
def put_list(p, ranges, words, at):
    """Write the ranges of predicate p; return the end."""
    for i in range(ranges.start[p], ranges.start[p + 1]):
        words[at], words[at + 1] = ranges.first[i], ranges.last[i]
        at += 2
    return at


@inline
def count_list_words(p, ranges):
    """Return the number of words of predicate p's list behind a program."""
    count = ranges.start[p + 1] - ranges.start[p]
    return 0 if count == 1 or count > NEAR_MAX else 2 * count


@inline
def put_test(p, ranges, out, at, tail):
    """Write the test of predicate p at `at`, without its jump, and its list at `tail`; return the end of the list."""
    words = out.words
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
        words[at + FIRST], words[at + LAST] = out.base + tail if is_near else out.shared[p], end - begin
        if is_near:
            tail = put_list(p, ranges, words, tail)
    return tail


@inline
def put_conjunction(terms, s, ranges, prices, out, at):
    """Write the tests of a conjunction, the least probable first; return the end. Without tests it is always true."""
    code, start, end, words = terms.code, terms.start[s], terms.start[s + 1], out.words
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
        tail = put_test(words[k + JUMP], ranges, out, k, tail)
        words[k + JUMP] = REJECT
    words[at - INSTRUCTION_WORDS + HEAD] |= JUMP_ON_TRUE
    words[at - INSTRUCTION_WORDS + JUMP] = ACCEPT
    return at


@inline
def put_program(terms, s, ranges, out, at):
    """Write the instructions of a program; return the end, or -1 if an instruction needs two jumps.

    No compiled program has such a test: each goes on to the next test on one of its sides, or it is the last one.
    """
    code, start, end, words = terms.code, terms.start[s], terms.start[s + 1], out.words
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
                tail = put_test(test, ranges, out, at, tail)
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
def measure_programs(terms, ranges, lengths):
    """Count the words of every term's program: its length, its instructions, and the lists that they test."""
    terms, ranges = unpack(terms, Extract), unpack(ranges, Ranges)
    for s in range(terms.kind.size):
        words = 1
        for i in range(terms.start[s], terms.start[s + 1], 1 if terms.kind[s] == CONJUNCTION else 3):
            words += INSTRUCTION_WORDS
            if terms.code[i] >= 0:
                words += count_list_words(terms.code[i], ranges)
        lengths[s] = words if words > 1 else 1 + INSTRUCTION_WORDS


@kernel
def write_lists(ranges, shared, words):
    """Write the lists that are shared; shared[p] is where that of predicate p begins, or -1."""
    ranges = unpack(ranges, Ranges)
    for p in range(shared.size):
        if shared[p] >= 0:
            put_list(p, ranges, words, shared[p])


@kernel
def write_programs(terms, facts, program, out):
    """Write the program of every term s at program[s], if that is not -1; return False if one cannot be written."""
    terms, facts, out = unpack(terms, Extract), unpack(facts, PredicateFacts), unpack(out, ProgramWords)
    for s in range(terms.kind.size):
        if program[s] < 0:
            continue
        first = program[s] + 1
        if terms.kind[s] == CONJUNCTION:
            end = put_conjunction(terms, s, facts.ranges, facts.price, out, first)
        else:
            end = put_program(terms, s, facts.ranges, out, first)
        if end < 0:
            return False
        out.words[program[s]] = end - first
    return True
