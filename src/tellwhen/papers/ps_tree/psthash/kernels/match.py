"""Match by a hash table of combinations of predicate spaces (PSTHash; PS-Tree, section 6)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import next_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.truth import forget_true, note_true
from tellwhen.papers.ps_tree.kernels.records import emit_if_true, emit_waiting, max_waiting, prefetch
from tellwhen.papers.ps_tree.psthash.arrays import PSTHashIndex, PSTHashScratch


@inline
def bucket_of(table, keys, key):
    """The index in the table of the number of a key, or the empty one where it belongs."""
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
def enter_spaces(index, scratch, events, event):
    """List the event's spaces that are in some key, ascending, each once, and mark them; returns how many."""
    common, spaces, is_present = index.common, scratch.spaces, scratch.is_present
    count = 0
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < common.cut_start.size - 1:
            space = space_of(common.cut_start, common.cuts, domain, events.low[i])
            last = space
            if not events.single_valued[event]:
                last = space_of(common.cut_start, common.cuts, domain, events.high[i])
            while space <= last:
                if index.key_sizes[space] and not is_present[space]:
                    is_present[space] = 1
                    spaces[count] = space
                    count += 1
                space += 1
    spaces[:count].sort()
    return count


@inline
def leave_spaces(scratch, count):
    """Leave `is_present` all zero again."""
    for k in range(count):
        scratch.is_present[scratch.spaces[k]] = 0


@inline
def select_usable(index, scratch, count, size):
    """List in `usable` those of the event's spaces that are in keys of this size; returns how many."""
    spaces, usable = scratch.spaces, scratch.usable
    found = 0
    for k in range(count):
        usable[found] = spaces[k]
        found += (index.key_sizes[spaces[k]] >> np.uint8(size - 1)) & 1
    return found


@inline
def count_combinations(count, size):
    """How many ways there are to choose `size` of `count`, as a float: there may be very many."""
    ways = 1.0
    for n in range(size):
        ways *= (count - n) / (n + 1)
    return max(ways, 0.0)


@inline
def next_combination(chosen, count, size):
    """Advance `chosen` to the next `size` of `count` indices, in lexicographic order; False after the last one."""
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
def look_up(index, scratch, count, size, found):
    """Find the keys that are combinations of `size` of the `count` usable spaces; returns the new end of `hits`."""
    key, chosen, hits = scratch.key, scratch.chosen, scratch.hits
    for n in range(index.keys.shape[1]):
        key[n], chosen[n] = -1, n
    more = count >= size
    while more:
        for n in range(size):
            key[n] = scratch.usable[chosen[n]]
        number = index.table[bucket_of(index.table, index.keys, key)] - 1
        hits[found] = number
        found += number >= 0
        more = next_combination(chosen, count, size)
    return found


@inline
def scan_keys(index, scratch):
    """Find all keys whose spaces the event has, by testing each key; returns how many."""
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
    """List in `hits` all keys whose spaces are among the event's; returns how many.

    All combinations of the event's spaces are looked up. If there are more of them than keys, all keys are tested.
    """
    sizes = index.keys.shape[1]
    combinations = 0.0
    for size in range(1, sizes + 1):
        combinations += count_combinations(select_usable(index, scratch, count, size), size)
    if combinations > index.keys.shape[0]:
        return scan_keys(index, scratch)
    found = 0
    for size in range(1, sizes + 1):
        found = look_up(index, scratch, select_usable(index, scratch, count, size), size, found)
    return found


@inline
def count_postings(index, scratch, found):
    """Postings in the lists of the keys found."""
    list_start = index.common.list_start
    postings = 0
    for h in range(found):
        postings += list_start[scratch.hits[h] + 1] - list_start[scratch.hits[h]]
    return postings


@inline
def emit_listed(index, snapshot, scratch, single_valued, found, out, written):
    """Write the conjunctions in the lists of the keys found that are true; returns the new end."""
    common, hits = index.common, scratch.hits
    list_start = common.list_start
    loaded = 0
    for h in range(found):
        # Prefetch the first record of the next list, too.
        loaded += common.records[common.postings[list_start[hits[min(h + 1, found - 1)]]]]
        begin, end = list_start[hits[h]], list_start[hits[h] + 1]
        scratch.effort[0] += end - begin
        for k in range(begin, end):
            loaded += prefetch(common, k, end)
            written = emit_if_true(common.postings[k], index, snapshot, scratch, single_valued, out, written)
    scratch.common.prefetched[0] = loaded
    return written


@kernel
def match_combinations(index, snapshot, scratch, events, out, event):
    """Exact for single-valued events; finds too much for others. effort[0] counts the conjunctions tested."""
    index, snapshot = unpack(index, PSTHashIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, PSTHashScratch), borrow(events, Events), borrow(out, Matches)
    working = scratch.common
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        spaces = enter_spaces(index, scratch, events, e)
        found = find_keys(index, scratch, spaces)
        leave_spaces(scratch, spaces)
        candidates = count_postings(index, scratch, found) + max_waiting(index, events, e)
        if candidates > out.slot.size - written:
            return e
        count = note_true(index.common.stabbing, events, e, working.runs, working.truth, working.satisfied)
        next_event(working.stamps)
        written = emit_listed(index, snapshot, scratch, events.single_valued[e], found, out, written)
        written = emit_waiting(index, snapshot, scratch, events, e, out, written)
        forget_true(working.truth, working.satisfied, count)
        out.start[e + 1] = written
    return events.single_valued.size
