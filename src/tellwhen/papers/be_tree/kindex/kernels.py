"""Kernels that build and walk posting lists by size (k-index; BE-Tree, section 7.2, and OpIndex, section 3).

Each space of a domain has a list of the conjunctions with a predicate that covers the space. Conjunctions are
numbered by size, so those of one size are one part of every list. An event matches a conjunction of size k that is in k
of the lists of its values. All lists are walked together, and conjunctions that cannot be in k of them are skipped.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_at_least
from tellwhen.kernels.spaces import find_space
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.be_tree.kindex.arrays import Coverage, KIndexIndex, KIndexScratch, PostingLists


@inline
def is_space_covered(coverage, p, space):
    """Return whether an interval of predicate p covers the space."""
    for i in range(coverage.start[p], coverage.start[p + 1]):
        if coverage.first[i] <= space <= coverage.last[i]:
            return True
    return False


@inline
def is_accepting_on(coverage, p, domain):
    """Return whether p is an accepting predicate on the domain: its postings are the spaces that make it true.

    The postings of an excluding predicate are the spaces that make it false.
    """
    return coverage.domain[p] == domain and not coverage.excluded[p]


@inline
def is_repeated(coverage, code, begin, j):
    """Return whether code[begin:j] has an accepting predicate on the domain of code[j].

    The accepting predicates of a conjunction on one domain share their postings.
    """
    for k in range(begin, j):
        if is_accepting_on(coverage, code[k], coverage.domain[code[j]]):
            return True
    return False


@inline
def is_accepted_by_rest(coverage, code, j, end, space):
    """Return whether all accepting predicates in code[j + 1:end] on the domain of code[j] cover the space."""
    for k in range(j + 1, end):
        if is_accepting_on(coverage, code[k], coverage.domain[code[j]]) and not is_space_covered(
            coverage, code[k], space
        ):
            return False
    return True


@inline
def add_postings(conjunctions, c, is_accepting, coverage, lists, is_placing):
    """Count the postings of conjunction c, either those that accept or those that exclude; or place these postings.

    lists.start is shifted by one: start[s + 1] is the count of space s, and then the place of its next posting.
    """
    code, begin, end = conjunctions.predicate, conjunctions.start[c], conjunctions.start[c + 1]
    for j in range(begin, end):
        p = code[j]
        if coverage.excluded[p] == is_accepting or (is_accepting and is_repeated(coverage, code, begin, j)):
            continue
        for i in range(coverage.start[p], coverage.start[p + 1]):
            for space in range(coverage.first[i], coverage.last[i] + 1):
                if is_accepting and not is_accepted_by_rest(coverage, code, j, end, space):
                    continue
                if is_placing:
                    lists.postings[lists.start[space + 1]] = 2 * c + is_accepting
                lists.start[space + 1] += 1


@kernel
def place_postings(conjunctions, coverage, spaces):
    """Return the lists of all spaces: count the postings of each list, then place them, ascending in each list.

    A list has 2 * conjunction + 1, or 2 * conjunction where the conjunction excludes the space, which comes first.
    """
    coverage = unpack(coverage, Coverage)
    lists = PostingLists(np.zeros(spaces + 2, dtype=np.int64), np.empty(0, dtype=np.int32))
    for is_placing in range(2):
        for c in range(conjunctions.start.size - 1):
            for is_accepting in range(2):
                add_postings(conjunctions, c, is_accepting, coverage, lists, is_placing)
        if not is_placing:
            # Placing then moves the begin of each list to its end.
            lists = PostingLists(lists.start, np.empty(convert_to_offsets(lists.start), dtype=np.int32))
    return PostingLists(lists.start[:-1], lists.postings)


@inline
def open_lists(index, cursors, events, event):
    """Open the lists of the event's spaces, and the list of the conjunctions of size 0; returns how many."""
    domains = index.cut_start.size - 1
    last = index.list_start.size - 2
    cursors.begin[0], cursors.end[0] = index.list_start[last], index.list_start[last + 1]
    count = 1
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < domains:
            space = find_space(index.cut_start, index.cuts, domain, events.low[i])
            cursors.begin[count], cursors.end[count] = index.list_start[space], index.list_start[space + 1]
            count += cursors.begin[count] < cursors.end[count]
    return count


@inline
def move_to_place(cursors, position, live):
    """Move the list at this position of the order to the right, until the lists from there on are sorted by key."""
    order = cursors.order
    moved = order[position]
    key = cursors.key[moved]
    while position + 1 < live:
        following = order[position + 1]
        if cursors.key[following] >= key:
            break
        order[position] = following
        position += 1
    order[position] = moved


@inline
def open_size(postings, cursors, count, low, high):
    """Set the cursors to the postings from low to high, those of one size; returns how many lists have any."""
    live = 0
    for k in range(count):
        at = find_first_at_least(postings, cursors.begin[k], cursors.end[k], low)
        stop = find_first_at_least(postings, at, cursors.end[k], high)
        if at < stop:
            cursors.at[k], cursors.stop[k], cursors.key[k] = at, stop, postings[at]
            cursors.order[live] = k
            live += 1
    for position in range(live - 2, -1, -1):
        move_to_place(cursors, position, live)
    return live


@inline
def advance_cursors(postings, cursors, front, live, key):
    """Move all cursors before `key` to it or beyond, and sort their lists again; returns the new front.

    The order before the front has the lists whose cursors are at the end.
    """
    moved = front
    while moved < live:
        k = cursors.order[moved]
        if cursors.key[k] >= key:
            break
        stop = cursors.stop[k]
        at = find_first_at_least(postings, cursors.at[k], stop, key)
        cursors.at[k] = at
        cursors.key[k] = postings[at] if at < stop else HIGHEST
        moved += 1
    new_front = moved
    for position in range(moved - 1, front - 1, -1):
        k = cursors.order[position]
        if cursors.key[k] != HIGHEST:
            new_front -= 1
            cursors.order[new_front] = k
    for position in range(moved - 1, new_front - 1, -1):
        move_to_place(cursors, position, live)
    return new_front


@kernel
def match_by_size(index, snapshot, scratch, events, out, event):
    """Match by the lists of an event's values, size by size. effort[0] counts the conjunctions tested.

    Exact for single-valued events; writes nothing for other events.
    """
    index, snapshot = unpack(index, KIndexIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, KIndexScratch), borrow(events, Events), borrow(out, Matches)
    postings, cursors, size_start = index.postings, scratch.cursors, index.size_start
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        count = open_lists(index, cursors, events, e) if events.single_valued[e] else 0
        advance_clock(scratch.stamps)
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
                front = advance_cursors(postings, cursors, front, live, least)
        out.start[e + 1] = written
    return events.single_valued.size
