"""Interning of predicates: equal predicates share one number, found in a hash table.

The table uses open addressing. An entry is the number of a predicate plus 1; an empty entry is 0.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import CONJUNCTION
from tellwhen.kernels.jit import inline, kernel

LONG_CONJUNCTION = 64
"""Longest conjunction whose repeated predicates are found by comparing all pairs; in longer ones they are marked."""


@inline
def hash_predicate(predicates, p):
    """Return a hash of the domain, the quantifier and the intervals of predicate p."""
    h = np.uint64(predicates.domain[p]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(predicates.every[p]) + np.uint64(1)
    for i in range(predicates.start[p], predicates.start[p + 1]):
        h = (h ^ np.uint64(predicates.low[i])) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(29)) ^ np.uint64(predicates.high[i])) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel
def fill_table(table, predicates, count):
    """Enter the first `count` predicates, all different, into a table of zeros whose size is a power of two."""
    mask = np.uint64(table.size - 1)
    for p in range(count):
        h = hash_predicate(predicates, p) & mask
        while table[h] != 0:
            h = (h + np.uint64(1)) & mask
        table[h] = p + 1


@kernel
def intern(table, known, count, new, numbers, q):
    """Find each new predicate from q on among the known ones, or append it, and write its number to `numbers`.

    `known` has room for all of them. Return the number of known predicates, and the first new predicate that is left:
    the caller enlarges the table when it is half full.
    """
    mask = np.uint64(table.size - 1)
    while q < new.domain.size and 2 * count < table.size:
        begin = new.start[q]
        length = new.start[q + 1] - begin
        h = hash_predicate(new, q) & mask
        while table[h] != 0:
            p = table[h] - 1
            at = known.start[p]
            if (
                known.domain[p] == new.domain[q]
                and known.every[p] == new.every[q]
                and known.start[p + 1] - at == length
            ):
                i = 0
                while (
                    i < length and known.low[at + i] == new.low[begin + i] and known.high[at + i] == new.high[begin + i]
                ):
                    i += 1
                if i == length:
                    break
            h = (h + np.uint64(1)) & mask
        if table[h] == 0:
            known.domain[count] = new.domain[q]
            known.every[count] = new.every[q]
            at = known.start[count]
            for i in range(length):
                known.low[at + i] = new.low[begin + i]
                known.high[at + i] = new.high[begin + i]
            known.start[count + 1] = at + length
            count += 1
            table[h] = count
        numbers[q] = table[h] - 1
        q += 1
    return count, q


@kernel
def link(kind, start, code, numbers, marks):
    """Replace the literals in `code` by the numbers of their predicates, and drop repeated ones of a conjunction.

    Rewrite `start` to match, and return the new length of `code`. If some conjunction is longer than LONG_CONJUNCTION,
    `marks` has a zero for every predicate.
    """
    written = 0
    begin = start[0]
    for s in range(kind.size):
        end = start[s + 1]
        first = written
        start[s] = first
        if kind[s] != CONJUNCTION:
            for i in range(begin, end):
                word = code[i]
                code[written] = numbers[word] if (i - begin) % 3 == 0 and word >= 0 else word
                written += 1
        elif end - begin > LONG_CONJUNCTION:
            for i in range(begin, end):
                p = numbers[code[i]]
                code[written] = p
                written += marks[p] != s + 1
                marks[p] = s + 1
        else:
            for i in range(begin, end):
                p = numbers[code[i]]
                code[written] = p  # also the sentinel that ends the search
                j = first
                while code[j] != p:
                    j += 1
                written += j == written
        begin = end
    start[kind.size] = written
    return written
