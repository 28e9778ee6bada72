"""Build and walk posting lists by size (k-index; BE-Tree, section 7.2, and OpIndex, section 3).

Each segment of a domain has a list of the conjunctions with a predicate that covers it: ranges are enumerated, segment
by segment. Conjunctions are numbered by size: those of one size are one piece of every list. An event matches a
conjunction of size n that is in n of the lists of its values. All lists are walked together, and conjunctions that
cannot be in n of them are skipped.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, Events, Matches, Snapshot
from tellwhen.kernels.emit import emit, next_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import first_at_least
from tellwhen.kernels.spaces import find_space
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.be_tree.kindex.arrays import Coverage, KIndexIndex, KIndexScratch


@inline
def covers(coverage, p, segment):
    """Does one of predicate p's intervals cover the segment?"""
    for i in range(coverage.start[p], coverage.start[p + 1]):
        if coverage.first[i] <= segment <= coverage.last[i]:
            return True
    return False


@inline
def accepts_on(coverage, p, domain):
    """Is it a predicate on the domain that does not exclude?"""
    return coverage.domain[p] == domain and not coverage.excluded[p]


@inline
def is_repeated(coverage, code, begin, j):
    """Does the conjunction have an earlier accepting predicate on the domain of code[j]? They are one in the lists."""
    for k in range(begin, j):
        if accepts_on(coverage, code[k], coverage.domain[code[j]]):
            return True
    return False


@inline
def is_accepted(coverage, code, j, end, segment):
    """Do all later accepting predicates of the conjunction on the domain of code[j] cover the segment?"""
    for k in range(j + 1, end):
        if accepts_on(coverage, code[k], coverage.domain[code[j]]) and not covers(coverage, code[k], segment):
            return False
    return True


@kernel
def place_conjunctions(start, code, coverage, segments):
    """Put every conjunction into the lists of the segments that it accepts: count, then place, ascending in each list.

    A list holds 2 * conjunction + 1, or 2 * conjunction where the conjunction excludes the segment; what is excluded
    stands before what is accepted.
    """
    coverage = unpack(coverage, Coverage)
    list_start = np.zeros(segments + 2, dtype=np.int64)
    postings = np.empty(0, dtype=np.int32)
    for placing in range(2):
        for c in range(start.size - 1):
            for accepting in range(2):
                for j in range(start[c], start[c + 1]):
                    p = code[j]
                    if coverage.excluded[p] == accepting or (accepting and is_repeated(coverage, code, start[c], j)):
                        continue
                    for i in range(coverage.start[p], coverage.start[p + 1]):
                        for segment in range(coverage.first[i], coverage.last[i] + 1):
                            if accepting and not is_accepted(coverage, code, j, start[c + 1], segment):
                                continue
                            if placing:
                                postings[list_start[segment + 1]] = 2 * c + accepting
                            list_start[segment + 1] += 1
        if not placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            postings = np.empty(convert_to_offsets(list_start), dtype=np.int32)
    return list_start[:-1], postings


@inline
def open_lists(index, cursors, events, event):
    """The lists of the segments that the event's values lie in, and that of the conjunctions of size 0; how many."""
    domains = index.cut_start.size - 1
    last = index.list_start.size - 2
    cursors.begin[0], cursors.end[0] = index.list_start[last], index.list_start[last + 1]
    count = 1
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < domains:
            segment = find_space(index.cut_start, index.cuts, domain, events.low[i])
            cursors.begin[count], cursors.end[count] = index.list_start[segment], index.list_start[segment + 1]
            count += cursors.begin[count] < cursors.end[count]
    return count


@inline
def sort_in(cursors, position, live):
    """The list at this position of the order moves right to where its key belongs; those behind are sorted."""
    order = cursors.order
    mine = order[position]
    key = cursors.key[mine]
    while position + 1 < live:
        following = order[position + 1]
        if cursors.key[following] >= key:
            break
        order[position] = following
        position += 1
    order[position] = mine


@inline
def open_size(postings, cursors, count, low, high):
    """Set the cursors to the postings low:high, those of one size; returns how many lists have any."""
    live = 0
    for k in range(count):
        at = first_at_least(postings, cursors.begin[k], cursors.end[k], low)
        stop = first_at_least(postings, at, cursors.end[k], high)
        if at < stop:
            cursors.at[k], cursors.stop[k], cursors.key[k] = at, stop, postings[at]
            cursors.order[live] = k
            live += 1
    for position in range(live - 2, -1, -1):
        sort_in(cursors, position, live)
    return live


@inline
def advance(postings, cursors, front, live, key):
    """Move all cursors before `key` to it or beyond, and sort their lists in again; returns the new front.

    Lists that are at their end are left behind the front.
    """
    moved = front
    while moved < live:
        k = cursors.order[moved]
        if cursors.key[k] >= key:
            break
        stop = cursors.stop[k]
        at = first_at_least(postings, cursors.at[k], stop, key)
        cursors.at[k] = at
        cursors.key[k] = postings[at] if at < stop else HIGHEST
        moved += 1
    keep = moved
    for position in range(moved - 1, front - 1, -1):
        k = cursors.order[position]
        if cursors.key[k] != HIGHEST:
            keep -= 1
            cursors.order[keep] = k
    for position in range(moved - 1, keep - 1, -1):
        sort_in(cursors, position, live)
    return keep


@kernel
def conjoin(index, snapshot, scratch, events, out, event):
    """Exact for single-valued events; finds nothing for others. effort[0] counts the conjunctions tested."""
    index, snapshot = unpack(index, KIndexIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, KIndexScratch), borrow(events, Events), borrow(out, Matches)
    postings, cursors, size_start = index.postings, scratch.cursors, index.size_start
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        count = open_lists(index, cursors, events, e) if events.single_valued[e] else 0
        next_event(scratch.stamps)
        for size in range(min(size_start.size - 1, count)):
            need = max(1, size)
            live = open_size(postings, cursors, count, 2 * size_start[size], 2 * size_start[size + 1])
            front = 0
            while live - front >= need:
                first = cursors.key[cursors.order[front]]
                # The next conjunction that can be in `need` lists; what it excludes comes before what it accepts.
                least = cursors.key[cursors.order[front + need - 1]] >> 1 << 1
                scratch.effort[0] += 1
                if least >> 1 == first >> 1:
                    if first & 1:
                        if written == out.slot.size:
                            return e
                        written = emit(index.slot[first >> 1], snapshot, scratch.stamps, out, written)
                    least += 2
                front = advance(postings, cursors, front, live, least)
        out.start[e + 1] = written
    return events.single_valued.size
