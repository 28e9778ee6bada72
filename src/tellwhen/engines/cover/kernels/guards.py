"""What must an event have at least, in 64 bits? The guard of a posting.

A domain, and a value on it, have a bit each, by a hash. An event has the bits of all its domains and values. A guard
has the bits of all predicates that must hold, and the event must have them all; or, with the bit ANY, the bits of some
of which one must hold. A guard may pass an event that lacks something, but never stops one that has it all.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel

ANY = np.uint64(1 << 63)
"""The event needs one of the bits; otherwise all of them."""

ALL = ~np.uint64(0)
HASH_BITS = 63
NO_SPACE = -1

LISTED_MAX = 8
"""The most values of a set that have a bit each in a guard with ANY; a larger set has the domain's bit instead."""


@inline
def hash_bit(domain, space):
    """The bit of a value's space on a domain; of the domain itself for NO_SPACE."""
    word = (np.uint64(domain) << np.uint64(32)) + np.uint64(space + 1)
    word = (word ^ (word >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(1) << (((word >> np.uint64(32)) * np.uint64(HASH_BITS)) >> np.uint64(32))


@inline
def hash_event(index, events, event, scratch):
    """The bits of all domains and values of an event; all bits if it has an interval."""
    bits = ANY
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:
            low = scratch.low[i - begin]
            if low != scratch.high[i - begin]:
                return ALL
            bits |= hash_bit(domain, NO_SPACE) | hash_bit(domain, low)
    return bits


@inline
def hash_predicate(p, ranges, is_any):
    """The bits of a predicate: of its value, or else of its domain; with `is_any`, of several values."""
    begin, end = ranges.start[p], ranges.start[p + 1]
    if not ranges.negated[p] and end - begin <= (LISTED_MAX if is_any else 1):
        bits = np.uint64(0)
        for i in range(begin, end):
            if ranges.first[i] != ranges.last[i]:
                return hash_bit(ranges.domain[p], NO_SPACE)
            bits |= hash_bit(ranges.domain[p], ranges.first[i])
        return bits
    return hash_bit(ranges.domain[p], NO_SPACE)


@kernel
def write_guards(terms, conjunct, seconds, ranges, guard):
    """The guard of every posting: all predicates that its term must satisfy or, without any, those of a second cover.

    `conjunct` is (start, column, predicate) by term, `seconds` (start, predicate).
    """
    conjunct_start, _, conjunct_predicate = conjunct
    second_start, second_predicate = seconds
    for k in range(terms.size):
        s = terms[k]
        bits = np.uint64(0)
        if conjunct_start[s] < conjunct_start[s + 1]:
            for i in range(conjunct_start[s], conjunct_start[s + 1]):
                bits |= hash_predicate(conjunct_predicate[i], ranges, False)
        elif second_start[s] < second_start[s + 1]:
            bits = ANY
            for i in range(second_start[s], second_start[s + 1]):
                bits |= hash_predicate(second_predicate[i], ranges, True)
        guard[k] = bits
