"""Where does a subscription wait? On a node: a stretch of the spaces of one domain.

    spaces       0 1 2 3 4 5 6 7        level 2, aligned:   0-3  4-7
    level 0      | | | | | | | |        level 2, shifted:   0-1  2-5  6-7
    level 1      |-|-|-|-|
    level 1, shifted  |-|-|-|-|         a range waits on the smallest node that encloses it

A *key* is a domain, a variant (level and shift) and a node in one number. Each value lies on one node of every variant.
Each range fits a node of the first level that is wide enough for it, or of the next one. An event that misses the node
misses the range.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel

NODE_BITS, VARIANT_BITS = 32, 7
"""A key has the node in its low 32 bits, then the variant, then the domain."""

ALWAYS = -1
"""The key of what every event must be tested against."""

PLACEMENT_PRICE = 1e-5
"""Added to the price, a share of the events, for every node that a predicate is placed on: it takes memory."""

SPLIT_MAX = 32
"""The most ranges of a predicate that may be placed one by one; more are placed on one node that encloses them all."""


@inline
def find_enclosing_node(first, last):
    """The variant and the number of the smallest node around spaces first..last, counted from the domain's first."""
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
    """By how many spaces the nodes of a variant are shifted."""
    return (1 << (variant >> 1)) >> 1 if variant & 1 else 0


@inline
def estimate_node_share(mass, origin, spaces, variant, node):
    """The expected share of the events with a value on the node."""
    begin = (node << (variant >> 1)) - compute_shift(variant)
    end = begin + (1 << (variant >> 1))
    return mass[origin + min(end, spaces)] - mass[origin + max(begin, 0)]


@inline
def estimate_share(mass, origin, spaces, first, last):
    """The expected share of the events with a value on the node around spaces first..last."""
    variant, node = find_enclosing_node(first, last)
    return estimate_node_share(mass, origin, spaces, variant, node)


@inline
def price_predicate(p, ranges, cut_start, mass):
    """The price of predicate p as a part of a cover; a negative one if its ranges are better placed one by one.

    A negated predicate is true of nearly every value: it waits for all of them, and has twice that price.
    """
    domain = ranges.domain[p]
    origin, spaces = cut_start[domain] + domain, cut_start[domain + 1] - cut_start[domain] + 1
    if ranges.negated[p]:
        return 2.0 * estimate_share(mass, origin, spaces, 0, spaces - 1) + PLACEMENT_PRICE
    begin, end = ranges.start[p], ranges.start[p + 1]
    whole = (
        estimate_share(mass, origin, spaces, ranges.first[begin] - origin, ranges.last[end - 1] - origin)
        + PLACEMENT_PRICE
    )
    if end - begin == 1 or end - begin > SPLIT_MAX:
        return whole
    apart = 0.0
    for i in range(begin, end):
        apart += (
            estimate_share(mass, origin, spaces, ranges.first[i] - origin, ranges.last[i] - origin) + PLACEMENT_PRICE
        )
    return -apart if apart < whole else whole


@kernel
def price_predicates(ranges, cut_start, mass, prices, is_apart):
    """The price of every predicate, and whether its ranges are placed one by one."""
    for p in range(prices.size):
        price = price_predicate(p, ranges, cut_start, mass)
        prices[p], is_apart[p] = abs(price), price < 0


@inline
def make_key(domain, variant, node):
    """The key of a node."""
    return ((np.int64(domain) << VARIANT_BITS) | variant) << NODE_BITS | node


@kernel
def write_keys(covers, ranges, is_apart, cut_start, keys, owners):
    """Write the keys on which every subscription waits, and its number; returns how many.

    With empty arrays it only counts.
    """
    cover_start, cover = covers
    count = 0
    for s in range(cover_start.size - 1):
        for k in range(cover_start[s], cover_start[s + 1]):
            p = cover[k]
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
        if cover_start[s] == cover_start[s + 1]:
            if keys.size > 0:
                keys[count], owners[count] = ALWAYS, s
            count += 1
    return count


@kernel
def write_ranges(predicates, first, last, cut_start, start, firsts, lasts):
    """The ranges of spaces of every predicate; of a negated one, those that no value may touch. Returns how many.

    first[i]..last[i] are the spaces of interval i. With empty arrays it only counts.
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
