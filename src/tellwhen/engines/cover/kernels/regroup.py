"""Move terms from small clusters to shared ones, which are cheaper to open.

Opening a cluster costs two cache misses, however few members it has, and each member costs little more. A term that
must satisfy several predicates may wait on any node around any of them. It moves to the node where

    share of the events that open it  x  (cost of opening / members + cost of a member)

is least, given where the other terms wait.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.build_arrays import (
    KeyedPostings,
    KeyTable,
    NodeCandidates,
    NodeChoice,
    Ranges,
    SpaceMass,
    TermColumns,
)
from tellwhen.engines.cover.kernels.places import estimate_node_share, make_key
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

OPENING_NANOSECONDS, MEMBER_NANOSECONDS = 60.0, 2.0
"""Nanoseconds to open a cluster, and to test a member of it."""

SETTLED_MEMBERS_MIN = 64
"""The terms of a cluster with at least 64 members stay in it: it is worth opening."""

PRICE_RATIO = 8.0
"""A node is not considered if more than 8 times as many events open it as the best one."""

ROUNDS = 4
"""Rounds in which the terms of small clusters may move again."""

SMALL_MEMBERS_MAX = 16
"""A cluster with fewer than 16 members is small."""

KEY_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inline
def find_place(table, key):
    """Return the place of a key in the hash table, or the free place that it would take."""
    keys = table.key
    mask = np.uint64(keys.size - 1)
    mixed = np.uint64(key)
    # The high bits of a key are its domain. They must reach the low bits of the hash too.
    mixed = (mixed ^ mixed >> np.uint64(33)) * KEY_MULTIPLIER
    at = (mixed ^ mixed >> np.uint64(29)) & mask
    while keys[at] != 0 and keys[at] != key + 2:
        at = (at + np.uint64(1)) & mask
    return at


@inline
def count_key(table, key):
    """Count a posting with this key. A new key is not counted once the table is two thirds full."""
    at = find_place(table, key)
    if table.key[at] == 0:
        if 3 * table.used[0] >= 2 * table.key.size:
            return
        table.key[at] = key + 2  # never 0, not even for ALWAYS
        table.used[0] += 1
    table.members[at] += 1


@inline
def count_postings_of_key(table, key):
    """Return the number of postings with this key."""
    at = find_place(table, key)
    return table.members[at] if table.key[at] != 0 else np.int64(0)


@inline
def find_least_share(s, conjunct, ranges, mass):
    """Return the least share of the events that lies around a predicate which term s must satisfy."""
    least = 1e300
    for k in range(conjunct.start[s], conjunct.start[s + 1]):
        p = conjunct.predicate[k]
        if not ranges.negated[p]:
            first, last = ranges.first[ranges.start[p]], ranges.last[ranges.start[p + 1] - 1]
            least = min(least, mass[last + 1] - mass[first])
    return least


@inline
def list_nodes(s, conjunct, ranges, spaces, candidates):
    """List the nodes that term s may wait on in `candidates`; return how many."""
    cut_start, mass = spaces.cut_start, spaces.mass
    limit = PRICE_RATIO * find_least_share(s, conjunct, ranges, mass) + 1e-12
    count = np.int64(0)
    for k in range(conjunct.start[s], conjunct.start[s + 1]):
        p = conjunct.predicate[k]
        if ranges.negated[p]:
            continue
        domain = ranges.domain[p]
        origin, size = cut_start[domain] + domain, cut_start[domain + 1] - cut_start[domain] + 1
        first, last = ranges.first[ranges.start[p]] - origin, ranges.last[ranges.start[p + 1] - 1] - origin
        level = 0
        while True:
            for shifted in range(2 if level > 0 else 1):
                half = ((1 << level) >> 1) if shifted else 0
                node = (first + half) >> level
                if node != (last + half) >> level:
                    continue
                variant = 2 * level + shifted
                share = estimate_node_share(mass, origin, size, variant, node)
                if share <= limit:
                    candidates.key[count], candidates.share[count] = make_key(domain, variant, node), share
                    candidates.predicate[count] = p
                    count += 1
            if (1 << level) >= size or mass[last + origin + 1] - mass[first + origin] > limit:
                break
            level += 1
    return count


@inline
def choose_node(count, candidates, table, members_min):
    """Return the cheapest of the candidates with enough members, or -1."""
    best, least = np.int64(-1), 1e300
    for k in range(count):
        members = count_postings_of_key(table, candidates.key[k])
        cost = candidates.share[k] * (OPENING_NANOSECONDS / max(1, members) + MEMBER_NANOSECONDS)
        if members >= members_min and cost < least:
            best, least = k, cost
    return best


@kernel
def find_movable_terms(postings, conjunct, is_movable):
    """Find the terms in clusters of few members that must satisfy some predicate; `is_movable` is false before."""
    postings, conjunct = unpack(postings, KeyedPostings), unpack(conjunct, TermColumns)
    keys, terms = postings.key, postings.term
    begin = 0
    while begin < keys.size:
        end = begin
        while end < keys.size and keys[end] == keys[begin]:
            end += 1
        for k in range(begin, end):
            s = terms[k]
            if end - begin < SETTLED_MEMBERS_MIN and conjunct.start[s] < conjunct.start[s + 1]:
                is_movable[s] = True
        begin = end


@kernel
def count_candidates(postings, conjunct, is_movable, ranges, spaces, candidates, table):
    """Count the postings that stay, and every node that a movable term may wait on, in an empty table."""
    postings, conjunct = unpack(postings, KeyedPostings), unpack(conjunct, TermColumns)
    ranges, spaces = unpack(ranges, Ranges), unpack(spaces, SpaceMass)
    candidates, table = unpack(candidates, NodeCandidates), unpack(table, KeyTable)
    for k in range(postings.key.size):
        if not is_movable[postings.term[k]]:
            count_key(table, postings.key[k])
    for s in range(is_movable.size):
        if is_movable[s]:
            for k in range(list_nodes(s, conjunct, ranges, spaces, candidates)):
                count_key(table, candidates.key[k])


@inline
def count_choices(postings, choice, table):
    """Count all postings from zero, those of moved terms on their new nodes."""
    table.members[:] = 0
    for k in range(postings.key.size):
        if choice.key[postings.term[k]] < 0:
            count_key(table, postings.key[k])
    for s in range(choice.key.size):
        if choice.key[s] >= 0:
            count_key(table, choice.key[s])


@kernel
def choose_nodes(postings, conjunct, is_movable, ranges, spaces, candidates, table, choice):
    """Choose a node for every movable term, from a table of all candidates; `choice` is -1 before.

    First every term takes the cheapest node, as if all terms that may wait there did. Then the terms on nodes with few
    members choose again, among the nodes that have become popular.
    """
    postings, conjunct = unpack(postings, KeyedPostings), unpack(conjunct, TermColumns)
    ranges, spaces = unpack(ranges, Ranges), unpack(spaces, SpaceMass)
    candidates, table = unpack(candidates, NodeCandidates), unpack(table, KeyTable)
    choice = unpack(choice, NodeChoice)
    for s in range(is_movable.size):
        if is_movable[s]:
            best = choose_node(list_nodes(s, conjunct, ranges, spaces, candidates), candidates, table, 1)
            if best >= 0:
                choice.key[s], choice.predicate[s] = candidates.key[best], candidates.predicate[best]
    for _ in range(ROUNDS):
        count_choices(postings, choice, table)
        for s in range(is_movable.size):
            if choice.key[s] >= 0 and count_postings_of_key(table, choice.key[s]) < SMALL_MEMBERS_MAX:
                count = list_nodes(s, conjunct, ranges, spaces, candidates)
                best = choose_node(count, candidates, table, SMALL_MEMBERS_MAX)
                if best >= 0:
                    choice.key[s], choice.predicate[s] = candidates.key[best], candidates.predicate[best]
