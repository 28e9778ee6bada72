"""How are the keys of conjunctions enumerated, and the conjunctions of a key listed? (PSTHash; PS-Tree, section 6.)"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import to_begins
from tellwhen.papers.ps_tree.psthash.arrays import Cursor, KeyTable
from tellwhen.papers.ps_tree.psthash.kernels.match import bucket_of


@kernel
def choose_access(conjunctions, rank, predicate_domain, chosen):
    """Row c of `chosen` becomes the indices of the most selective predicates of conjunction c, on different domains.

    It has -1 behind the last one.
    """
    _, start, predicate = conjunctions
    for c in range(start.size - 1):
        for n in range(chosen.shape[1]):
            best = -1
            for j in range(start[c], start[c + 1]):
                p = predicate[j]
                if best >= 0 and rank[predicate[best]] <= rank[p]:
                    continue
                is_new = True
                for m in range(n):
                    is_new &= predicate_domain[predicate[chosen[c, m]]] != predicate_domain[p]
                if is_new:
                    best = j
            chosen[c, n] = best
            if best < 0:
                break


@inline
def first_key(cursor, access, c, predicates, spaces):
    """Set the cursor to the first key of conjunction c, the first space of each access predicate; returns its size."""
    size = 0
    while size < access.shape[1] and access[c, size] >= 0:
        # In the order of the domains, so that the spaces of a key ascend.
        at = size
        while at > 0 and predicates.domain[cursor.predicate[at - 1]] > predicates.domain[access[c, size]]:
            cursor.predicate[at] = cursor.predicate[at - 1]
            at -= 1
        cursor.predicate[at] = access[c, size]
        size += 1
    for n in range(access.shape[1]):
        cursor.key[n] = -1
    for n in range(size):
        cursor.interval[n] = predicates.start[cursor.predicate[n]]
        cursor.space[n] = spaces.first[cursor.interval[n]]
        cursor.key[n] = cursor.space[n]
    return size


@inline
def next_key(cursor, size, predicates, spaces):
    """Advance the last access predicate to its next space.

    Behind its last space it starts again, and the access predicate before it advances.
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


@kernel
def rehash(known):
    """Put all keys into the table, which is empty."""
    known = borrow(known, KeyTable)
    for k in range(known.used[0]):
        known.table[bucket_of(known.table, known.keys, known.keys[k])] = k + 1


@kernel
def enumerate_keys(access, pair_start, pairs, predicates, spaces, known, cursor, done):
    """Number the keys of every conjunction: all combinations of a space of each of its access predicates.

    Row c of `access` has the access predicates of conjunction c that make its keys, then -1. pairs[pair_start[c] + k]
    becomes the number of its key k. Starts at conjunction `done`, and returns the first one whose keys did not fit.
    """
    predicates, spaces = borrow(predicates, Predicates), borrow(spaces, Spaces)
    known, cursor = borrow(known, KeyTable), borrow(cursor, Cursor)
    count = known.used[0]
    for c in range(done, pair_start.size - 1):
        if count + pair_start[c + 1] - pair_start[c] > known.keys.shape[0]:
            known.used[0] = count
            return c
        size = first_key(cursor, access, c, predicates, spaces)
        for pair in range(pair_start[c], pair_start[c + 1]):
            at = bucket_of(known.table, known.keys, cursor.key)
            if known.table[at] == 0:
                for n in range(known.keys.shape[1]):
                    known.keys[count, n] = cursor.key[n]
                count += 1
                known.table[at] = count
            pairs[pair] = known.table[at] - 1
            next_key(cursor, size, predicates, spaces)
    known.used[0] = count
    return pair_start.size - 1


@kernel
def list_by_key(order, begin, pair_start, pairs, keys):
    """Posting lists of keys: count, then place. `keys` is the number of keys.

    Conjunction order[r] has its record at begin[r]. Returns where the lists begin, and the postings.
    """
    list_start = np.zeros(keys + 2, dtype=np.int64)
    postings = np.empty(0, dtype=np.int64)
    for placing in range(2):
        for r in range(order.size):
            for pair in range(pair_start[order[r]], pair_start[order[r] + 1]):
                if placing:
                    postings[list_start[pairs[pair] + 1]] = begin[r]
                list_start[pairs[pair] + 1] += 1
        if not placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            postings = np.empty(to_begins(list_start), dtype=np.int64)
    return list_start[:-1], postings


@kernel
def sizes_by_space(keys, spaces):
    """By space: the sizes of the keys that it is in, as PSTHashIndex.key_sizes. `spaces` is the number of spaces."""
    sizes = np.zeros(spaces, dtype=np.uint8)
    for k in range(keys.shape[0]):
        size = 0
        while size < keys.shape[1] and keys[k, size] >= 0:
            size += 1
        for n in range(size):
            sizes[keys[k, n]] |= np.uint8(1 << (size - 1))
    return sizes
