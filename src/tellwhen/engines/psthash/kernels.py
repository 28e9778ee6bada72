"""Match by a hash table of combinations of predicate spaces (PSTHash; PS-Tree, section 6)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.propagation.kernels import forget_true, note_true
from tellwhen.engines.pstree.records import AHEAD, accepts, emit_waiting, most_waiting, slot_of
from tellwhen.kernels.emit import emit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import MAX_RUNS, to_begins


@kernel
def choose(start, predicate, rank, domain_of, chosen):
    """For every conjunction the places of its most selective predicates, on different domains; -1 where there are no more."""
    for conjunction in range(start.size - 1):
        for n in range(chosen.shape[1]):
            best = -1
            for j in range(start[conjunction], start[conjunction + 1]):
                p = predicate[j]
                if best >= 0 and rank[predicate[best]] <= rank[p]:
                    continue
                fresh = True
                for m in range(n):
                    fresh &= domain_of[predicate[chosen[conjunction, m]]] != domain_of[p]
                if fresh:
                    best = j
            chosen[conjunction, n] = best
            if best < 0:
                break


@inline
def slot_of_key(table, keys, key):
    """Where the number of a key is in the table, or an empty place if it has none."""
    mixed = np.uint64(0)
    for n in range(key.size):
        mixed = (mixed ^ np.uint64(np.uint32(key[n]))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mask = np.uint64(table.size - 1)
    at = mixed & mask
    while table[at] != 0:
        same = True
        for n in range(key.size):
            same &= keys[table[at] - 1, n] == key[n]
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def enumerate_keys(access, depth, pair_start, domain_of, start, first, last):
    """The keys of every conjunction: all combinations of a space of each of its first `depth` access predicates.

    Returns the number of the key for each pair of conjunction and key, all different keys, and the hash table of them.
    """
    most = access.shape[1]
    pairs = np.empty(pair_start[-1], dtype=np.int32)
    keys = np.empty((1024, most), dtype=np.int32)
    table = np.zeros(4096, dtype=np.int32)
    key = np.empty(most, dtype=np.int32)
    mine, interval, space = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    known = 0
    for conjunction in range(depth.size):
        size = depth[conjunction]
        if size == 0:
            continue
        # By domain, so that the spaces of a key ascend.
        for n in range(size):
            p = access[conjunction, n]
            at = n
            while at > 0 and domain_of[mine[at - 1]] > domain_of[p]:
                mine[at] = mine[at - 1]
                at -= 1
            mine[at] = p
        key[:] = -1
        for n in range(size):
            interval[n] = start[mine[n]]
            space[n] = first[interval[n]]
            key[n] = space[n]
        for pair in range(pair_start[conjunction], pair_start[conjunction + 1]):
            at = slot_of_key(table, keys, key)
            if table[at] == 0:
                if known == keys.shape[0]:
                    grown = np.empty((2 * known, most), dtype=np.int32)
                    grown[:known] = keys
                    keys = grown
                keys[known] = key
                known += 1
                table[at] = known
            pairs[pair] = table[at] - 1
            if 2 * known > table.size:
                table = np.zeros(2 * table.size, dtype=np.int32)
                for k in range(known):
                    table[slot_of_key(table, keys, keys[k])] = k + 1
            # The next combination: the last predicate moves on, and where it is through the one before.
            for n in range(size - 1, -1, -1):
                space[n] += 1
                if space[n] > last[interval[n]]:
                    interval[n] += 1
                    if interval[n] == start[mine[n] + 1]:
                        interval[n] = start[mine[n]]
                        space[n] = first[interval[n]]
                        key[n] = space[n]
                        continue
                    space[n] = first[interval[n]]
                key[n] = space[n]
                break
    return pairs, keys[:known].copy(), table


@kernel
def place_pairs(order, begin, pair_start, pairs, keys):
    """Put conjunctions, in their new order, into the lists of their keys: count, then place."""
    list_start = np.zeros(keys + 2, dtype=np.int64)
    conjunctions = np.empty(0, dtype=np.int64)
    for placing in range(2):
        for r in range(order.size):
            for pair in range(pair_start[order[r]], pair_start[order[r] + 1]):
                if placing:
                    conjunctions[list_start[pairs[pair] + 1]] = begin[r]
                list_start[pairs[pair] + 1] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            conjunctions = np.empty(to_begins(list_start), dtype=np.int64)
    return list_start[:-1], conjunctions


@kernel
def note_sizes(keys, sizes):
    """Which sizes of keys a space occurs in."""
    for k in range(keys.shape[0]):
        size = 0
        while size < keys.shape[1] and keys[k, size] >= 0:
            size += 1
        for n in range(size):
            sizes[keys[k, n]] |= np.uint8(1 << (size - 1))


@inline
def with_size(near, count, sizes, size, out):
    """Those of the spaces that are in keys of the size; returns how many."""
    found = 0
    for k in range(count):
        out[found] = near[k]
        found += (sizes[near[k]] >> np.uint8(size - 1)) & 1
    return found


@inline
def combinations(count, size):
    """How many there are, as a float: there may be very many."""
    found = 1.0
    for n in range(size):
        found *= (count - n) / (n + 1)
    return max(found, 0.0)


@inline
def go_through(keys, has, hits):
    """All keys whose spaces the event has; returns how many."""
    found = 0
    for k in range(keys.shape[0]):
        hit = True
        for n in range(keys.shape[1]):
            hit &= keys[k, n] < 0 or has[keys[k, n]] != 0
        hits[found] = k
        found += hit
    return found


@inline
def look_up(table, keys, some, usable, size, key, chosen, hits, found):
    """The keys that are combinations of `size` of the usable spaces; returns the new end of the list of them."""
    key[:] = -1
    for n in range(size):
        chosen[n] = n
    n = 0
    while usable >= size and n >= 0:
        for m in range(size):
            key[m] = some[chosen[m]]
        number = table[slot_of_key(table, keys, key)] - 1
        hits[found] = number
        found += number >= 0
        # The next combination: the last place that can moves on, those behind it follow.
        n = size - 1
        while n >= 0 and chosen[n] == usable - size + n:
            n -= 1
        if n >= 0:
            chosen[n] += 1
            for m in range(n + 1, size):
                chosen[m] = chosen[m - 1] + 1
    return found


@kernel
def match_combinations(
    domains, stab_keys, stab_start, members, cut_start, cuts, sizes, table, keys, list_start, conjunctions, waiting, records,
    died, version, removed, truth, satisfied, near, some, has, hits, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    All combinations of the event's spaces are looked up, unless there are fewer keys than that: then all keys are gone
    through. Exact for single-valued events, and for others no match is missing. effort[0] counts the conjunctions looked at.
    """
    begins, ends = np.empty(MAX_RUNS, dtype=np.int64), np.empty(MAX_RUNS, dtype=np.int64)
    known, most = cut_start.size - 1, keys.shape[1]
    key, chosen = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    written = start[event]
    for e in range(event, single_valued.size):
        first, last = entry_start[e], entry_start[e + 1]
        # The event's spaces, each once, that are in some key.
        count = 0
        for i in range(first, last):
            domain = entry_domain[i]
            if domain < known:
                space = space_of(cut_start, cuts, domain, entry_low[i])
                upto = space
                if not single_valued[e]:
                    upto = space_of(cut_start, cuts, domain, entry_high[i])
                while space <= upto:
                    if sizes[space] and not has[space]:
                        has[space] = 1
                        near[count] = space
                        count += 1
                    space += 1
        near[:count].sort()
        tries = 0.0
        for size in range(1, most + 1):
            tries += combinations(with_size(near, count, sizes, size, some), size)
        found = 0
        if tries > keys.shape[0]:
            found = go_through(keys, has, hits)
        else:
            for size in range(1, most + 1):
                usable = with_size(near, count, sizes, size, some)
                found = look_up(table, keys, some, usable, size, key, chosen, hits, found)
        for k in range(count):
            has[near[k]] = 0
        candidates = most_waiting(waiting, entry_domain, first, last)
        for k in range(found):
            candidates += list_start[hits[k] + 1] - list_start[hits[k]]
        if candidates > out.size - written:
            return e
        true = note_true(
            domains, stab_keys, stab_start, members, entry_domain, entry_low, entry_high, first, last,
            begins, ends, truth, satisfied,
        )  # fmt: skip
        stamps[-1] += 1
        asked = 0
        for h in range(found):
            following = list_start[hits[min(h + 1, found - 1)]]
            asked += records[conjunctions[following]]
            top, bottom = list_start[hits[h]], list_start[hits[h] + 1]
            effort[0] += bottom - top
            for k in range(top, bottom):
                asked += records[conjunctions[min(k + AHEAD, bottom - 1)]]
                at = conjunctions[k]
                if accepts(records, at, truth):
                    written = emit(slot_of(records, at, single_valued[e]), stamps, removed, died, version, out, written)
        written = emit_waiting(
            waiting, records, 1, entry_domain, first, last, single_valued[e], truth, stamps, removed, died, version, effort,
            out, written,
        )  # fmt: skip
        forget_true(truth, satisfied, true)
        satisfied[0] = asked  # or asking would be left out
        start[e + 1] = written
    return single_valued.size
