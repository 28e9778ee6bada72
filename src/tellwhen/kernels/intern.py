"""One id per distinct predicate: an open-addressing hash table over the predicates' arrays."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel

LONG = 64  # beyond so many predicates, sorting finds the repeated ones faster than comparing all pairs


@kernel
def hash_of(domain, every, low, high, start, end):
    """A mixing hash of a predicate's domain, quantifier and intervals."""
    h = np.uint64(domain) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(every) + np.uint64(1)
    for i in range(start, end):
        for point in (low[i], high[i]):
            h ^= np.uint64(point)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel
def same(a, p, b, q):
    """Are predicate p of `a` and predicate q of `b` one predicate?"""
    start, other = a.start[p], b.start[q]
    length = a.start[p + 1] - start
    if a.domain[p] != b.domain[q] or a.every[p] != b.every[q] or length != b.start[q + 1] - other:
        return False
    for i in range(length):
        if a.low[start + i] != b.low[other + i] or a.high[start + i] != b.high[other + i]:
            return False
    return True


@kernel
def place(table, predicates, count):
    """Enter the first `count` predicates into an empty table of ids + 1; its size is a power of two."""
    mask = np.uint64(table.size - 1)
    for p in range(count):
        h = hash_of(
            predicates.domain[p], predicates.every[p], predicates.low, predicates.high,
            predicates.start[p], predicates.start[p + 1],
        ) & mask  # fmt: skip
        while table[h] != 0:
            h = (h + np.uint64(1)) & mask
        table[h] = p + 1


@kernel
def intern(table, known, count, new, ids, q):
    """Find or append the new predicates from q on; `known` has room for all of them, and their ids go to `ids`.

    Returns the count of known predicates, and where it stopped: at the end, or when the table is half full.
    """
    domain, every, starts, low, high = new
    mask = np.uint64(table.size - 1)
    while q < domain.size and 2 * count < table.size:
        start, end = starts[q], starts[q + 1]
        h = hash_of(domain[q], every[q], low, high, start, end) & mask
        while table[h] != 0 and not same(known, table[h] - 1, new, q):
            h = (h + np.uint64(1)) & mask
        if table[h] == 0:
            known.domain[count] = domain[q]
            known.every[count] = every[q]
            at = known.start[count]
            for i in range(start, end):
                known.low[at + i - start] = low[i]
                known.high[at + i - start] = high[i]
            known.start[count + 1] = at + end - start
            count += 1
            table[h] = count
        ids[q] = table[h] - 1
        q += 1
    return count, q


@kernel
def link(kind, start, code, ids, conjunction_kind):
    """Replace literals by predicate ids, in place; a conjunction loses its repeated predicates.

    Returns the new length of `code`; `start` is rewritten to match.
    """
    written = 0
    begin = start[0]
    for s in range(kind.size):
        end = start[s + 1]
        first = written
        if kind[s] == conjunction_kind:
            if end - begin > LONG:
                for p in np.unique(ids[code[begin:end]]):
                    code[written] = p
                    written += 1
                end_of_conjunction = begin
            else:
                end_of_conjunction = end
            for i in range(begin, end_of_conjunction):
                p = ids[code[i]]
                repeated = False
                for j in range(first, written):
                    if code[j] == p:
                        repeated = True
                        break
                if not repeated:
                    code[written] = p
                    written += 1
        else:
            for i in range(begin, end, 3):
                test = code[i]
                code[written] = ids[test] if test >= 0 else test
                code[written + 1] = code[i + 1]
                code[written + 2] = code[i + 2]
                written += 3
        begin = end
        start[s] = first
    start[kind.size] = written
    return written
