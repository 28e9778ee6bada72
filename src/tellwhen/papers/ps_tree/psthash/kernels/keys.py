"""Kernels that choose the access predicates of conjunctions and enumerate their keys (PSTHash; PS-Tree, section 6)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ps_tree.psthash.arrays import KeyCursor, KeyTable
from tellwhen.papers.ps_tree.psthash.kernels.match import find_bucket


@inline
def has_unused_domain(p, predicate, predicate_domain, chosen, count):
    """Return whether none of the chosen predicates, predicate[j] for j in chosen[:count], is on the domain of p."""
    for m in range(count):
        if predicate_domain[predicate[chosen[m]]] == predicate_domain[p]:
            return False
    return True


@kernel
def choose_access(conjunctions, rank, predicate_domain, chosen):
    """Fill row c of `chosen` with the indexes of the most selective predicates of conjunction c on different domains.

    The last index is followed by -1.
    """
    start, predicate = conjunctions.start, conjunctions.predicate
    for c in range(start.size - 1):
        for n in range(chosen.shape[1]):
            best = -1
            for j in range(start[c], start[c + 1]):
                is_better = best < 0 or rank[predicate[j]] < rank[predicate[best]]
                if is_better and has_unused_domain(predicate[j], predicate, predicate_domain, chosen[c], n):
                    best = j
            chosen[c, n] = best
            if best < 0:
                break


@inline
def sort_by_domain(access, predicates, sorted_access):
    """Fill `sorted_access` with access predicates, which end before a -1, by domain; returns how many.

    Spaces are numbered in the order of domains, so the spaces of a key then ascend.
    """
    size = 0
    while size < access.size and access[size] >= 0:
        at = size
        while at > 0 and predicates.domain[sorted_access[at - 1]] > predicates.domain[access[size]]:
            sorted_access[at] = sorted_access[at - 1]
            at -= 1
        sorted_access[at] = access[size]
        size += 1
    return size


@inline
def set_first_key(cursor, size, predicates, spaces):
    """Set the cursor to the first key of its access predicates: the first space of each."""
    for n in range(cursor.key.size):
        cursor.key[n] = -1
    for n in range(size):
        cursor.interval[n] = predicates.start[cursor.predicate[n]]
        cursor.space[n] = spaces.first[cursor.interval[n]]
        cursor.key[n] = cursor.space[n]


@inline
def set_next_key(cursor, size, predicates, spaces):
    """Advance the cursor to the next key, a combination of one space of each access predicate.

    The last access predicate takes its next space. After its last space it returns to its first one, and the access
    predicate before it advances.
    """
    for n in range(size - 1, -1, -1):
        is_done = False
        cursor.space[n] += 1
        if cursor.space[n] > spaces.last[cursor.interval[n]]:
            cursor.interval[n] += 1
            is_done = cursor.interval[n] == predicates.start[cursor.predicate[n] + 1]
            if is_done:
                cursor.interval[n] = predicates.start[cursor.predicate[n]]
            cursor.space[n] = spaces.first[cursor.interval[n]]
        cursor.key[n] = cursor.space[n]
        if not is_done:
            break


@inline
def number_key(known, key):
    """Return the number of a key, which is added if it is new. The table must have room for it."""
    at = find_bucket(known.table, known.keys, key)
    if known.table[at] == 0:
        for n in range(key.size):
            known.keys[known.used[0], n] = key[n]
        known.used[0] += 1
        known.table[at] = known.used[0]
    return known.table[at] - 1


@kernel
def fill_table(known):
    """Enter all keys into an empty table."""
    known = borrow(known, KeyTable)
    for k in range(known.used[0]):
        known.table[find_bucket(known.table, known.keys, known.keys[k])] = k + 1


@kernel
def enumerate_keys(makers, predicates, spaces, cursor, known, pairs, done):
    """Assign numbers to the keys of the conjunctions from `done` on; returns the first whose keys did not fit.

    pairs[pair_start[c] + k] becomes the number of key k of conjunction c, in the order of the cursor.
    """
    predicates, spaces = borrow(predicates, Predicates), borrow(spaces, Spaces)
    known, cursor = borrow(known, KeyTable), borrow(cursor, KeyCursor)
    pair_start = makers.pair_start
    for c in range(done, pair_start.size - 1):
        if known.used[0] + pair_start[c + 1] - pair_start[c] > known.keys.shape[0]:
            return c
        size = sort_by_domain(makers.access[c], predicates, cursor.predicate)
        set_first_key(cursor, size, predicates, spaces)
        for pair in range(pair_start[c], pair_start[c + 1]):
            pairs[pair] = number_key(known, cursor.key)
            set_next_key(cursor, size, predicates, spaces)
    return pair_start.size - 1


@kernel
def find_key_sizes(keys, spaces):
    """Return by space the sizes of the keys that contain it, as bits (`PSTHashIndex.key_sizes`).

    `spaces` is the number of spaces.
    """
    sizes = np.zeros(spaces, dtype=np.uint8)
    for k in range(keys.shape[0]):
        size = 0
        while size < keys.shape[1] and keys[k, size] >= 0:
            size += 1
        for n in range(size):
            sizes[keys[k, n]] |= np.uint8(1 << (size - 1))
    return sizes
