"""Guards: 64 bits per posting that reject most events before the program runs, like a Bloom filter.

Every domain has a bit, and so has every value on it, by a hash. An event has the bits of all its domains and values. A
guard has the bits of all predicates that must be true, and the event must have them all. With the bit ANY, a guard has
the bits of predicates of which one must be true, and the event must have one of them. A guard may pass an event that
does not match; it never rejects one that does.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.build_arrays import PredicateLists, Ranges, TermColumns
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

ANY = np.uint64(1 << 63)
"""This bit says that the event needs one of the other bits instead of all."""

ALL = ~np.uint64(0)
HASH_BITS = 63
NO_SPACE = -1

LISTED_MAX = 8
"""In a guard with ANY, each of up to 8 values of a set has its own bit; a larger set has the bit of its domain."""


@inline
def hash_bit(domain, space):
    """Return the bit of a space of a domain, or of the domain itself for NO_SPACE."""
    word = (np.uint64(domain) << np.uint64(32)) + np.uint64(space + 1)
    word = (word ^ (word >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(1) << (((word >> np.uint64(32)) * np.uint64(HASH_BITS)) >> np.uint64(32))


@inline
def hash_event(index, events, event, scratch):
    """Return the bits of all domains and values of an event; all bits if the event has an interval."""
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
    """Return the bit of a predicate's value, with `is_any` the bits of several values; else the bit of its domain."""
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
def write_guards(terms, conjunct, covers, ranges, guard):
    """Write the guard of every posting, as bits.

    A guard has the bits of all predicates that the term requires. A term that requires none has the bits of a second
    cover with the bit ANY, or no bits.
    """
    conjunct, covers, ranges = unpack(conjunct, TermColumns), unpack(covers, PredicateLists), unpack(ranges, Ranges)
    for k in range(terms.size):
        s = terms[k]
        bits = np.uint64(0)
        if conjunct.start[s] < conjunct.start[s + 1]:
            for i in range(conjunct.start[s], conjunct.start[s + 1]):
                bits |= hash_predicate(conjunct.predicate[i], ranges, False)
        elif covers.start[s] < covers.start[s + 1]:
            bits = ANY
            for i in range(covers.start[s], covers.start[s + 1]):
                bits |= hash_predicate(covers.predicate[i], ranges, True)
        guard[k] = bits
