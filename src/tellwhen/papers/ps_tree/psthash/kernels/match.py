"""Kernels that match by a hash table of combinations of predicate spaces (PSTHash; PS-Tree, section 6)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.evaluate import is_conjunction_true
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import find_space
from tellwhen.papers.ps_tree.arrays import EngineFunctions
from tellwhen.papers.ps_tree.kernels.match import match_events
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS, emit_if_true, prefetch_record
from tellwhen.papers.ps_tree.psthash.arrays import PSTHashIndex, PSTHashScratch


@inline
def find_bucket(table, keys, key):
    """Return the index in the table of the number of a key, or the empty index where the key belongs."""
    mixed = np.uint64(0)
    for n in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(np.uint32(key[n]))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mask = np.uint64(table.size - 1)
    at = mixed & mask
    while table[at] != 0:
        same = True
        for n in range(keys.shape[1]):
            same &= keys[table[at] - 1, n] == key[n]
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@inline
def list_spaces(index, scratch, events, event):
    """List the event's spaces that are in any key, ascending, each once, and mark these spaces; returns how many.

    In place of a gap, the spaces before and behind it are listed: a predicate that covers a gap covers one of them.
    """
    common, spaces, is_present = index.common, scratch.spaces, scratch.is_present
    count = gaps = 0
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < common.cut_start.size - 1:
            space = index.key_space[find_space(common.cut_start, common.cuts, domain, events.low[i])]
            last = space
            if not events.single_valued[event]:
                last = index.key_space[find_space(common.cut_start, common.cuts, domain, events.high[i])]
            if space < 0 or last < 0:
                gaps += 1
                space = space if space >= 0 else -1 - space
                last = last if last >= 0 else -last
            while space <= last:
                if index.key_sizes[space] and not is_present[space]:
                    is_present[space] = 1
                    spaces[count] = space
                    count += 1
                space += 1
    scratch.gaps[0] = gaps
    spaces[:count].sort()
    return count


@inline
def clear_spaces(scratch, count):
    """Make `is_present` all zero again."""
    for k in range(count):
        scratch.is_present[scratch.spaces[k]] = 0


@inline
def list_usable_spaces(index, scratch, count, size):
    """List in `usable` the event's spaces that are in keys of this size; returns how many."""
    spaces, usable = scratch.spaces, scratch.usable
    found = 0
    for k in range(count):
        usable[found] = spaces[k]
        found += (index.key_sizes[spaces[k]] >> np.uint8(size - 1)) & 1
    return found


@inline
def count_combinations(count, size):
    """Return the number of ways to choose `size` of `count`, as a float: it may be very large."""
    ways = 1.0
    for n in range(size):
        ways *= (count - n) / (n + 1)
    return max(ways, 0.0)


@inline
def set_next_combination(chosen, count, size):
    """Advance `chosen` to the next `size` of `count` indices, in lexicographic order; returns False after the last."""
    n = size - 1
    while n >= 0 and chosen[n] == count - size + n:
        n -= 1
    if n < 0:
        return False
    chosen[n] += 1
    for m in range(n + 1, size):
        chosen[m] = chosen[m - 1] + 1
    return True


@inline
def look_up_combinations(index, scratch, count, size, found):
    """Look up the keys that combine `size` of the `count` usable spaces; returns the new end of `hits`."""
    key, chosen, hits = scratch.key, scratch.chosen, scratch.hits
    for n in range(index.keys.shape[1]):
        key[n], chosen[n] = -1, n
    more = count >= size
    while more:
        for n in range(size):
            key[n] = scratch.usable[chosen[n]]
        number = index.table[find_bucket(index.table, index.keys, key)] - 1
        hits[found] = number
        found += number >= 0
        more = set_next_combination(chosen, count, size)
    return found


@inline
def scan_keys(index, scratch):
    """List in `hits` all keys that combine only spaces of the event, by a test of each key; returns how many."""
    keys, hits = index.keys, scratch.hits
    found = 0
    for k in range(keys.shape[0]):
        hit = True
        for n in range(keys.shape[1]):
            hit &= keys[k, n] < 0 or scratch.is_present[keys[k, n]] != 0
        hits[found] = k
        found += hit
    return found


@inline
def find_keys(index, scratch, count):
    """List in `hits` all keys that combine only spaces of the event; returns how many.

    All combinations of the event's spaces are looked up. If there are more combinations than keys, all keys are tested.
    """
    sizes = index.keys.shape[1]
    combinations = 0.0
    for size in range(1, sizes + 1):
        combinations += count_combinations(list_usable_spaces(index, scratch, count, size), size)
    if combinations > index.keys.shape[0]:
        return scan_keys(index, scratch)
    found = 0
    for size in range(1, sizes + 1):
        found = look_up_combinations(index, scratch, list_usable_spaces(index, scratch, count, size), size, found)
    return found


@inline
def count_postings(index, scratch, keys):
    """Return the number of postings in the lists of the first `keys` keys in `hits`."""
    list_start = index.common.list_start
    postings = 0
    for h in range(keys):
        postings += list_start[scratch.hits[h] + 1] - list_start[scratch.hits[h]]
    return postings


@inline
def find_lists(index, scratch, events, event):
    """Find the keys of an event; returns how many, and the postings in their lists."""
    spaces = list_spaces(index, scratch, events, event)
    found = find_keys(index, scratch, spaces)
    clear_spaces(scratch, spaces)
    return found, count_postings(index, scratch, found)


@inline
def are_known_predicates_true(at, index, scratch):
    """Return whether the access predicates of the record at `at` are true."""
    records = index.common.records
    begin = at + HEAD_WORDS + records[at + 1]
    end = begin
    while end < begin + index.common.known_words and records[end] >= 0:
        end += 1
    return is_conjunction_true(records, begin, end, scratch.common.truth)


@inline
def emit_by_key(index, snapshot, scratch, events, event, lists, out, written):
    """Write the true conjunctions in the lists of the keys found; returns the new end of the output.

    A key implies its access predicates, unless a space was listed in place of a gap.
    """
    common, hits = index.common, scratch.hits
    is_exact = events.single_valued[event] != 0 and scratch.gaps[0] == 0
    list_start = common.list_start
    loaded = 0
    for h in range(lists):
        # Prefetch the first record of the next list, too.
        loaded += common.records[common.postings[list_start[hits[min(h + 1, lists - 1)]]]]
        begin, end = list_start[hits[h]], list_start[hits[h] + 1]
        scratch.effort[0] += end - begin
        for k in range(begin, end):
            loaded += prefetch_record(common, k, end)
            at = common.postings[k]
            if is_exact or are_known_predicates_true(at, index, scratch):
                written = emit_if_true(at, index, snapshot, scratch, is_exact, out, written)
    scratch.common.prefetched[0] = loaded
    return written


@inline
def clear_nothing(index, scratch, events, event):
    """Do nothing, in place of a step that clears marks: `find_lists` leaves none."""


@kernel
def match_by_keys(index, snapshot, scratch, events, out, event):
    """Match by the combinations of an event's spaces; see `match_events`."""
    index, snapshot = unpack(index, PSTHashIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, PSTHashScratch), borrow(events, Events), borrow(out, Matches)
    steps = EngineFunctions(find_lists, emit_by_key, clear_nothing)
    return match_events(index, snapshot, scratch, events, out, event, steps)
