"""Match by size and sorted lists (k-index; BE-Tree section 7.2, OpIndex section 3).

A domain is cut wherever an interval on it begins or has ended: between two cuts all values satisfy the same predicates.
Each such *segment* has a list of the conjunctions with a predicate that covers it, so a range is enumerated segment by segment.
Conjunctions are numbered by size: the conjunctions of one size are one piece of every list. An event matches a conjunction of size n that is in
n of the lists of its values; all lists are walked together, and what cannot be in n of them is skipped.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import HIGHEST
from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import first_at_least
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import to_begins


@inline
def covers(start, first, last, p, segment):
    """Does one of predicate p's intervals cover the segment?"""
    for i in range(start[p], start[p + 1]):
        if first[i] <= segment <= last[i]:
            return True
    return False


@inline
def on_domain(code, begin, end, p, domain_of, excluded):
    """Has one of the predicates before it in the conjunction accepted something on the domain of p?"""
    for other in range(begin, end):
        if domain_of[code[other]] == domain_of[p] and not excluded[code[other]]:
            return True
    return False


@kernel
def place_conjunctions(conjunction_start, conjunction_code, domain_of, start, first, last, excluded, segments):
    """Put every conjunction into the lists of the segments that it accepts: count, then place, conjunctions in ascending order.

    first[i]..last[i] are the segments of interval i. A list holds 2 * conjunction + 1, or 2 * conjunction where the conjunction refuses the
    segment, which only `excluded` predicates do: their intervals are what they exclude.
    """
    offset = np.zeros(segments + 2, dtype=np.int64)
    postings = np.empty(0, dtype=np.int32)
    for placing in range(2):
        for conjunction in range(conjunction_start.size - 1):
            for accepting in range(2):  # what is excluded first: it stands before what is accepted
                for j in range(conjunction_start[conjunction], conjunction_start[conjunction + 1]):
                    p = conjunction_code[j]
                    known = accepting and on_domain(
                        conjunction_code, conjunction_start[conjunction], j, p, domain_of, excluded
                    )
                    if known or excluded[p] == accepting:
                        continue
                    for i in range(start[p], start[p + 1]):
                        for segment in range(first[i], last[i] + 1):
                            # Several predicates on one domain are one, which all of them must accept.
                            accepted = True
                            for other in range(j + 1, conjunction_start[conjunction + 1]):
                                q = conjunction_code[other]
                                if accepting and domain_of[q] == domain_of[p] and not excluded[q]:
                                    accepted &= covers(start, first, last, q, segment)
                            if accepted:
                                if placing:
                                    postings[offset[segment + 1]] = 2 * conjunction + accepting
                                offset[segment + 1] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            postings = np.empty(to_begins(offset), dtype=np.int32)
    return offset[:-1], postings


@inline
def reorder(order, key, front, moved, live):
    """Sort the first `moved` lists from `front` on in again, by insertion; returns the new front.

    The others are in order. Lists that are at their end are left behind the front.
    """
    keep = front + moved
    for k in range(front + moved - 1, front - 1, -1):
        if key[order[k]] != HIGHEST:
            keep -= 1
            order[keep] = order[k]
    for k in range(front + moved - 1, keep - 1, -1):
        mine = order[k]
        at = k
        while at + 1 < live and key[order[at + 1]] < key[mine]:
            order[at] = order[at + 1]
            at += 1
        order[at] = mine
    return keep


@kernel
def conjoin(
    sizes, conjunction_slot, cut_start, cuts, list_start, postings, nothing, died, version, removed, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Conjunctions of size n are sizes[n]:sizes[n+1]; those of size 0 match unless something is excluded, and `nothing` is the
    list of them. Exact for single-valued events; of others nothing is found. effort[0] counts the conjunctions looked at.
    """
    domains = cut_start.size - 1
    written = start[event]
    for e in range(event, single_valued.size):
        if not single_valued[e]:
            start[e + 1] = written
            continue
        # The lists of the segments that the event's values lie in; the first is that of the conjunctions of size 0.
        room = entry_start[e + 1] - entry_start[e] + 1
        begin, end = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        at, stop = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        key, order = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        count = 1
        for i in range(entry_start[e], entry_start[e + 1]):
            domain = entry_domain[i]
            if domain < domains:
                segment = space_of(cut_start, cuts, domain, entry_low[i])
                begin[count], end[count] = list_start[segment], list_start[segment + 1]
                count += begin[count] < end[count]
        stamps[-1] += 1
        for size in range(min(sizes.size - 1, count)):
            need = max(1, size)
            low, high = 2 * sizes[size], 2 * sizes[size + 1]
            if low == high:
                continue
            live = 0
            for k in range(1, count):
                at[k] = first_at_least(postings, begin[k], end[k], low)
                stop[k] = first_at_least(postings, at[k], end[k], high)
                if at[k] < stop[k]:
                    key[k] = postings[at[k]]
                    order[live] = k
                    live += 1
            if size == 0:
                # All conjunctions of this size, as one more list.
                at[0], stop[0] = 0, nothing.size
                key[0] = nothing[0]
                order[live] = 0
                live += 1
            if live < need:
                continue
            some = order[:live].copy()
            order[:live] = some[np.argsort(key[some])]
            front = 0
            while live - front >= need:
                conjunction = key[order[front]] >> 1
                least = key[order[front + need - 1]] >> 1 << 1
                effort[0] += 1
                if least >> 1 == conjunction:
                    if key[order[front]] & 1:
                        if written == out.size:
                            return e
                        written = emit(conjunction_slot[conjunction], stamps, removed, died, version, out, written)
                    least = 2 * conjunction + 2
                moved = 0
                while front + moved < live and key[order[front + moved]] < least:
                    k = order[front + moved]
                    if k == 0:
                        at[k] = first_at_least(nothing, at[k], stop[k], least)
                        key[k] = nothing[at[k]] if at[k] < stop[k] else HIGHEST
                    else:
                        at[k] = first_at_least(postings, at[k], stop[k], least)
                        key[k] = postings[at[k]] if at[k] < stop[k] else HIGHEST
                    moved += 1
                front = reorder(order, key, front, moved, live)
        start[e + 1] = written
    return single_valued.size
