"""Kernels that build and walk posting lists by size (k-index; BE-Tree, section 7.2, and OpIndex, section 3).

Each space of a domain has a list of the conjunctions with a predicate that covers the space. Conjunctions are
numbered by size, so those of one size are one part of every list. An event matches a conjunction of size k that is in k
of the lists of its values. All lists are walked together, and conjunctions that cannot be in k of them are skipped.

The walk is the conjunction algorithm of Whang and others. Theirs goes from large sizes to small ones. Ours goes from
small sizes to large ones, because a cursor then passes from one size to the next by an ordinary skip.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import close_event, open_event
from tellwhen.kernels.galloping import find_first_nearby
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import find_space
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.be_tree.kindex.arrays import Coverage, KIndexIndex, KIndexScratch, PostingLists

LIST_BITS = 32
"""A cursor is one number: the current posting, and in the lower 32 bits the number of its list."""

LIST_MASK = (1 << LIST_BITS) - 1


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
    """Count or place the postings of conjunction c: those that accept if `is_accepting`, or else those that exclude.

    lists.start is shifted by one. While postings are counted, start[s + 1] is the count of space s; while they are
    placed, it is the position of the next posting of space s.
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
def insert_in_order(order, position, live):
    """Move the cursor at this position to the right, to its place among the sorted cursors up to `live`.

    Each position takes the smaller of its right neighbour and of the larger of its own cursor and the moved one. No
    branch depends on the place of the cursor, which the processor could not predict.
    """
    last = np.uint64(live - 1)
    moved = order[np.uint64(position)]
    order[np.uint64(position)] = -1  # before every cursor
    for i in range(np.uint64(position), last):
        order[i] = min(order[i + np.uint64(1)], max(order[i], moved))
    order[last] = max(order[last], moved)


@inline
def open_list(index, cursors, space, live):
    """Set a cursor to the begin of a list, unless the list is empty; returns the new number of cursors."""
    at, end = index.list_start[space], index.list_start[space + 1]
    if at < end:
        cursors.at[live], cursors.end[live] = at, end
        cursors.order[live] = np.int64(index.postings[at]) << LIST_BITS | live
        live += 1
    return live


@inline
def open_lists(index, cursors, events, event):
    """Open the lists of the event's spaces, and the list of the conjunctions of size 0; returns how many."""
    domains = index.cut_start.size - 1
    live = open_list(index, cursors, index.list_start.size - 2, 0)
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < domains:
            live = open_list(index, cursors, find_space(index.cut_start, index.cuts, domain, events.low[i]), live)
    for position in range(live - 2, -1, -1):
        insert_in_order(cursors.order, position, live)
    return live


@inline
def skip_to(postings, cursors, front, live, posting):
    """Move all cursors before `posting` to it or beyond, and sort the cursors again; returns the new front.

    Cursors are order[front:live]. Those that reach the ends of their lists are dropped.
    """
    order, bound = cursors.order, np.int64(posting) << LIST_BITS
    moved = front
    while moved < live and order[np.uint64(moved)] < bound:
        moved += 1
    new_front = moved
    for position in range(moved - 1, front - 1, -1):
        k = order[np.uint64(position)] & LIST_MASK
        at = find_first_nearby(postings, cursors.at[np.uint64(k)] + 1, cursors.end[np.uint64(k)], posting)
        cursors.at[np.uint64(k)] = at
        if at < cursors.end[np.uint64(k)]:
            new_front -= 1
            order[np.uint64(new_front)] = np.int64(postings[np.uint64(at)]) << LIST_BITS | k
            insert_in_order(order, new_front, live)
    return new_front


@inline
def has_all_domains(index, conjunction, first_entry):
    """Return whether the event has a value on every domain whose inequalities the lists only exclude."""
    for k in range(index.excluded_start[conjunction], index.excluded_start[conjunction + 1]):
        if first_entry[index.excluded_domain[k]] == 0:
            return False
    return True


@kernel
def match_by_size(index, snapshot, scratch, events, out, event):
    """Match by the lists of an event's values, walked together. effort[0] counts the conjunctions tested.

    Exact for single-valued events; writes nothing for other events.
    """
    index, snapshot = unpack(index, KIndexIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, KIndexScratch), borrow(events, Events), borrow(out, Matches)
    postings, size_start, order = index.postings, index.size_start, scratch.cursors.order
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        live = open_lists(index, scratch.cursors, events, e) if events.single_valued[e] else 0
        open_event(events, e, scratch.first_entry)
        advance_clock(scratch.stamps)
        front, size, need, fits = 0, 0, 1, True
        while fits and live - front >= need:
            first = order[front] >> LIST_BITS
            if first >> 1 >= size_start[size + 1]:
                size += 1
                need = max(1, size)
                continue
            # The next conjunction that can be in `need` lists, or in more if it is larger. A posting that excludes it
            # comes before those that accept it.
            least = order[front + need - 1] >> LIST_BITS >> 1
            scratch.effort[0] += 1
            if least == first >> 1:
                if first & 1 and has_all_domains(index, least, scratch.first_entry):
                    fits = written < out.slot.size
                    if fits:
                        written = emit(index.slot[least], snapshot, scratch.stamps, out, written)
                least += 1
            front = skip_to(postings, scratch.cursors, front, live, 2 * least)
        close_event(events, e, scratch.first_entry)
        if not fits:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
