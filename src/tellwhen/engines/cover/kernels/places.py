"""Place predicates on nodes. A node is a stretch of the spaces of one domain, on which a term waits.

    spaces       0 1 2 3 4 5 6 7        level 2, aligned:   0-3  4-7
    level 0      | | | | | | | |        level 2, shifted:   0-1  2-5  6-7
    level 1      |-|-|-|-|
    level 1, shifted  |-|-|-|-|         a range waits on the smallest node that encloses it

A *key* is a domain, a variant (level and shift) and a node in one number. Each value lies on one node of every variant.
Each range fits a node of the first level that is wide enough for it, or of the next level. An event without a value on
the node has none in the range.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.build_arrays import PredicateLists, Ranges, SpaceMass
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

NODE_BITS, VARIANT_BITS = 32, 7
"""A key has the node in its low 32 bits, then the variant, then the domain."""

ALWAYS = -1
"""The key of terms that are tested on every event."""

PLACEMENT_PRICE = 1e-5
"""Added to the price, a share of the events, for every node that a predicate waits on, because it takes memory."""

SPLIT_MAX = 32
"""Up to 32 ranges of a predicate may have nodes of their own; more ranges wait on one node that encloses them all."""


@inline
def find_enclosing_node(first, last):
    """Return the variant and the number of the smallest node around spaces first..last of a domain."""
    level = 0
    while True:
        if first >> level == last >> level:
            return 2 * level, first >> level
        half = (1 << level) >> 1
        if level > 0 and (first + half) >> level == (last + half) >> level:
            return 2 * level + 1, (first + half) >> level
        level += 1


@inline
def compute_shift(variant):
    """Return by how many spaces the nodes of a variant are shifted."""
    return (1 << (variant >> 1)) >> 1 if variant & 1 else 0


@inline
def estimate_node_share(mass, origin, spaces, variant, node):
    """Return the expected share of the events with a value on the node."""
    begin = (node << (variant >> 1)) - compute_shift(variant)
    end = begin + (1 << (variant >> 1))
    return mass[origin + min(end, spaces)] - mass[origin + max(begin, 0)]


@inline
def estimate_share(mass, origin, spaces, first, last):
    """Return the expected share of the events with a value on the node around spaces first..last."""
    variant, node = find_enclosing_node(first, last)
    return estimate_node_share(mass, origin, spaces, variant, node)


@inline
def price_predicate(p, ranges, spaces):
    """Return the price of predicate p as a part of a cover, negative if its ranges should have nodes of their own.

    A negated predicate is true of nearly every value. It waits for all values of its domain, and has twice that price.
    """
    domain, cut_start, mass = ranges.domain[p], spaces.cut_start, spaces.mass
    origin, size = cut_start[domain] + domain, cut_start[domain + 1] - cut_start[domain] + 1
    if ranges.negated[p]:
        return 2.0 * estimate_share(mass, origin, size, 0, size - 1) + PLACEMENT_PRICE
    begin, end = ranges.start[p], ranges.start[p + 1]
    whole = (
        estimate_share(mass, origin, size, ranges.first[begin] - origin, ranges.last[end - 1] - origin)
        + PLACEMENT_PRICE
    )
    if end - begin == 1 or end - begin > SPLIT_MAX:
        return whole
    apart = 0.0
    for i in range(begin, end):
        apart += estimate_share(mass, origin, size, ranges.first[i] - origin, ranges.last[i] - origin) + PLACEMENT_PRICE
    return -apart if apart < whole else whole


@kernel
def price_predicates(ranges, spaces, prices, is_apart):
    """Write the price of every predicate, and whether its ranges have nodes of their own."""
    ranges, spaces = unpack(ranges, Ranges), unpack(spaces, SpaceMass)
    for p in range(prices.size):
        price = price_predicate(p, ranges, spaces)
        prices[p], is_apart[p] = abs(price), price < 0


@inline
def make_key(domain, variant, node):
    """Return the key of a node."""
    return ((np.int64(domain) << VARIANT_BITS) | variant) << NODE_BITS | node


@kernel
def write_keys(covers, ranges, is_apart, cut_start, keys, owners):
    """Write the keys that every term waits on, and the number of the term; return how many.

    If the arrays are empty, only count.
    """
    covers, ranges = unpack(covers, PredicateLists), unpack(ranges, Ranges)
    count = 0
    for s in range(covers.start.size - 1):
        for k in range(covers.start[s], covers.start[s + 1]):
            p = covers.predicate[k]
            domain = ranges.domain[p]
            origin = cut_start[domain] + domain
            begin, end = ranges.start[p], ranges.start[p + 1]
            step = 1 if is_apart[p] else max(1, end - begin)
            for i in range(begin, max(end, begin + 1), step):
                if keys.size > 0:
                    first, last = np.int64(0), cut_start[domain + 1] - cut_start[domain]
                    if not ranges.negated[p]:
                        first, last = ranges.first[i] - origin, ranges.last[i + step - 1] - origin
                    variant, node = find_enclosing_node(first, last)
                    keys[count], owners[count] = make_key(domain, variant, node), s
                count += 1
        if covers.start[s] == covers.start[s + 1]:
            if keys.size > 0:
                keys[count], owners[count] = ALWAYS, s
            count += 1
    return count


@kernel
def write_ranges(predicates, first, last, cut_start, start, firsts, lasts):
    """Convert the intervals of every predicate to ranges of spaces; return how many ranges there are.

    The ranges of a negated predicate are the spaces outside its intervals: it is true if no value lies in them.
    first[i]..last[i] are the spaces of interval i. If the arrays are empty, only count.
    """
    count = 0
    for p in range(predicates.domain.size):
        domain = predicates.domain[p]
        free = cut_start[domain] + domain  # the first space behind the intervals seen so far
        for i in range(predicates.start[p], predicates.start[p + 1]):
            low, high = (free, first[i] - 1) if predicates.every[p] else (first[i], last[i])
            if low <= high:
                if firsts.size > 0:
                    firsts[count], lasts[count] = low, high
                count += 1
            free = last[i] + 1
        end = cut_start[domain + 1] + domain
        if predicates.every[p] and free <= end:
            if firsts.size > 0:
                firsts[count], lasts[count] = free, end
            count += 1
        start[p + 1] = count
    return count
