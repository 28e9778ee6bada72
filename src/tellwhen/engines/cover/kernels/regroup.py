"""Is the cluster of a term worth opening? A wider node may be better, if enough others wait there.

Opening a cluster costs two cache misses, however few are in it, and each member little more. So a term that must
satisfy several predicates may wait on any node around any of them, and chooses the one where

    share of the events that open it  x  (cost of opening / members + cost of a member)

is least, given where the others wait.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.kernels.places import estimate_node_share, make_key
from tellwhen.kernels.jit import inline, kernel

OPENING_NANOSECONDS, MEMBER_NANOSECONDS = 60.0, 2.0
"""Nanoseconds to open a cluster, and to test a member of it."""

SETTLED_MEMBERS_MIN = 64
"""The fewest members of a cluster that is worth its opening: they stay in it."""

PRICE_RATIO = 8.0
"""A node that is opened by more than 8 times as many events as the best one is not considered."""

ROUNDS = 4
"""Rounds in which the terms of small clusters look for a better one."""

SMALL_MEMBERS_MAX = 16
"""A cluster with fewer members is a small one."""

KEY_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inline
def find_entry(table, key):
    """Where a key is in the hash table, or the free place where it would be."""
    mask = np.uint64(table.size - 1)
    mixed = np.uint64(key)
    # The high bits of a key tell its domain: they must decide as well, where there are many domains.
    mixed = (mixed ^ mixed >> np.uint64(33)) * KEY_MULTIPLIER
    at = (mixed ^ mixed >> np.uint64(29)) & mask
    while table[at] != 0 and table[at] != key + 2:
        at = (at + np.uint64(1)) & mask
    return at


@inline
def count_key(table, counts, key, used):
    """Count a key; returns how many are in the table. A new one is not counted once the table is two thirds full."""
    at = find_entry(table, key)
    if table[at] == 0:
        if 3 * used >= 2 * table.size:
            return used
        table[at] = key + 2  # never 0, not even for ALWAYS
        used += 1
    counts[at] += 1
    return used


@inline
def find_least_share(s, conjunct, ranges, mass):
    """The share of the events on the node of a term's best predicate."""
    conjunct_start, _, predicate = conjunct
    least = 1e300
    for k in range(conjunct_start[s], conjunct_start[s + 1]):
        p = predicate[k]
        if not ranges.negated[p]:
            first, last = ranges.first[ranges.start[p]], ranges.last[ranges.start[p + 1] - 1]
            least = min(least, mass[last + 1] - mass[first])
    return least


@inline
def visit_nodes(s, conjunct, ranges, cut_start, mass, table, counts, used, least_members, is_counting):
    """Go through the nodes that a term may wait on: count them all, or find the best one.

    Returns the number of keys in the table, the best key, and its predicate; both are -1 if no node has enough members.
    """
    conjunct_start, _, predicate = conjunct
    limit = PRICE_RATIO * find_least_share(s, conjunct, ranges, mass) + 1e-12
    best, best_key, best_predicate = 1e300, np.int64(-1), np.int64(-1)
    for k in range(conjunct_start[s], conjunct_start[s + 1]):
        p = predicate[k]
        if ranges.negated[p]:
            continue
        domain = ranges.domain[p]
        origin, spaces = cut_start[domain] + domain, cut_start[domain + 1] - cut_start[domain] + 1
        first, last = ranges.first[ranges.start[p]] - origin, ranges.last[ranges.start[p + 1] - 1] - origin
        level = 0
        while True:
            for shifted in range(2 if level > 0 else 1):
                half = ((1 << level) >> 1) if shifted else 0
                node = (first + half) >> level
                if node != (last + half) >> level:
                    continue
                variant = 2 * level + shifted
                price = estimate_node_share(mass, origin, spaces, variant, node)
                if price > limit:
                    continue
                key = make_key(domain, variant, node)
                if is_counting:
                    used = count_key(table, counts, key, used)
                else:
                    at = find_entry(table, key)
                    members = counts[at] if table[at] != 0 else 0
                    cost = price * (OPENING_NANOSECONDS / max(1, members) + MEMBER_NANOSECONDS)
                    if members >= least_members and cost < best:
                        best, best_key, best_predicate = cost, key, np.int64(p)
            if (1 << level) >= spaces or mass[last + origin + 1] - mass[first + origin] > limit:
                break
            level += 1
    return used, best_key, best_predicate


@kernel
def regroup(keys, owners, conjunct, ranges, cut_start, mass, table, counts, chosen_key, chosen_predicate):
    """Choose a node for every term of a small cluster: chosen_key[s], around predicate chosen_predicate[s].

    Both are -1 for a term that stays where it is. `keys` are ascending, and owners[k] is the term of the k-th. `table`
    and `counts` are a hash table, empty, of a power of two.
    """
    conjunct_start = conjunct[0]
    terms = chosen_key.size
    for s in range(terms):
        chosen_key[s] = chosen_predicate[s] = -1
    is_small = np.zeros(terms, dtype=np.bool_)
    begin = 0
    while begin < keys.size:
        end = begin
        while end < keys.size and keys[end] == keys[begin]:
            end += 1
        for k in range(begin, end):
            if end - begin < SETTLED_MEMBERS_MIN and conjunct_start[owners[k]] < conjunct_start[owners[k] + 1]:
                is_small[owners[k]] = True
        begin = end
    used = 0
    for k in range(keys.size):
        if not is_small[owners[k]]:
            used = count_key(table, counts, keys[k], used)
    for s in range(terms):
        if is_small[s]:
            used, _, _ = visit_nodes(s, conjunct, ranges, cut_start, mass, table, counts, used, 0, True)
    for s in range(terms):
        if is_small[s]:
            _, chosen_key[s], chosen_predicate[s] = visit_nodes(
                s, conjunct, ranges, cut_start, mass, table, counts, used, 1, False
            )
    for _ in range(ROUNDS):
        counts[:] = 0
        for k in range(keys.size):
            if chosen_key[owners[k]] < 0:
                used = count_key(table, counts, keys[k], used)
        for s in range(terms):
            if chosen_key[s] >= 0:
                used = count_key(table, counts, chosen_key[s], used)
        for s in range(terms):
            if chosen_key[s] >= 0 and counts[find_entry(table, chosen_key[s])] < SMALL_MEMBERS_MAX:
                _, key, p = visit_nodes(
                    s, conjunct, ranges, cut_start, mass, table, counts, used, SMALL_MEMBERS_MAX, False
                )
                if key >= 0:
                    chosen_key[s], chosen_predicate[s] = key, p
