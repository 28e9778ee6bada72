"""Kernels that match by pivots and sorted predicate lists (OpIndex, sections 4.2, 5 and 6.1).

Deviation: an operand is stored as its rank among all operands of its operator. A value of an event is located once
among these operands. A list is then searched for a run of ranks, of four bytes each, instead of pairs of attribute and
operand.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import close_event, open_event
from tellwhen.kernels.galloping import find_first_nearby
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above, find_first_at_least
from tellwhen.papers.op_index.arrays import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    OPERATORS,
    ORDERED_OPERATORS,
    PREFIX,
    OpIndexCNFIndex,
    OpIndexCNFScratch,
    OpIndexIndex,
    OpIndexScratch,
)
from tellwhen.papers.op_index.kernels.segments import compute_domain_fraction, compute_signature_bit, find_segment
from tellwhen.papers.op_index.kernels.trie import append_range, append_true_prefixes

# the true operands of an event


@inline
def locate_operands(operands, domains, events, event, located):
    """Find the operands that an event makes true, as ranges of ranks; returns how many entries one domain has at most.

    This is all that matching has to know about an operator: which operands a value makes true (section 6.2).
    """
    first, last = events.start[event], events.start[event + 1]
    size = last - first
    entries_max = domain_entries = 0
    for i in range(size):
        domain = events.domain[first + i]
        domain_entries = domain_entries + 1 if i and events.domain[first + i - 1] == domain else 1
        entries_max = max(entries_max, domain_entries)
        is_known = domain < domains
        located.domain_fraction[i] = compute_domain_fraction(domain, domains) if is_known else 0
        for operator in range(ORDERED_OPERATORS):
            low = high = 0
            if is_known:
                group = operator * domains + domain
                low, high = begin, end = operands.start[group], operands.start[group + 1]
                if operator != AT_LEAST:
                    low = find_first_at_least(operands.keys, begin, end, events.low[first + i])
                if operator != AT_MOST:
                    high = find_first_above(operands.keys, begin, end, events.high[first + i])
            append_range(located, operator * size + i, low, high, first + i)
    for operator in range(OPERATORS):
        located.start[operator] = operator * size
    count = PREFIX * size
    if operands.trie.end.size:
        for entry in range(first, last):
            if events.domain[entry] < domains:
                count = append_true_prefixes(operands, domains, events, entry, located, count)
    located.start[OPERATORS] = count
    return entries_max


@inline
def is_operand_true(operands, operator, rank, events, entry, range_number, located):
    """Return whether an entry, with its range of an ordered operator, makes an operand true."""
    if operator != PREFIX:
        return located.low[range_number] <= rank < located.high[range_number]
    node = rank - (operands.keys.size - operands.trie.end.size)
    return operands.keys[rank] <= events.high[entry] and events.low[entry] <= operands.trie.end[node]


@inline
def add_run(runs, count, begin, end, entry, is_true):
    """Add a run if it is true; returns the new count. A branch here would often be mispredicted, so there is none."""
    runs.begin[count], runs.end[count], runs.entry[count] = begin, end, entry
    return count + is_true


@inline
def add_runs_of_list(lists, operator, begin, end, events, event, scratch, count):
    """Add the runs of a short list: look up each of its postings in the event.

    If several entries of the event make a posting true, the run has the entry with the lowest begin.
    """
    located, first, last = scratch.located, events.start[event], events.start[event + 1]
    shift = operator * (last - first) - first
    for k in range(begin, end):
        rank = lists.ranks[k]
        domain = lists.operands.domain[rank]
        i, best = scratch.first_entry[domain] - 1, -1
        while 0 <= i < last and events.domain[i] == domain:
            is_true = is_operand_true(lists.operands, operator, rank, events, i, shift + i, located)
            if is_true and (best < 0 or events.low[i] < events.low[best]):
                best = i
            i += 1
        count = add_run(scratch.runs, count, k, k + 1, best, best >= 0)
    return count


@inline
def add_runs_of_event(lists, operator, first_segment, segment_count, events, event, scratch, count):
    """Add the runs of a long list: look up each range of true operands in its segment.

    First all segments whose signatures have the bit of a range are listed as runs, without branches, so that the
    processor loads many of them at the same time. Then they are searched.
    """
    located, runs, ranks, segments = scratch.located, scratch.runs, lists.ranks, lists.segments
    first = events.start[event]
    found = count
    for r in range(located.start[operator], located.start[operator + 1]):
        low, high, entry = located.low[r], located.high[r], located.entry[r]
        segment = first_segment + find_segment(located.domain_fraction[entry - first], segment_count)
        begin, end = segments[segment, 0], segments[segment + 1, 0]
        is_signed = segments[segment, 1] & compute_signature_bit(operator, events.domain[entry], low) != 0
        is_signed |= ((operator == EQUAL) | (operator == PREFIX)) & (high > low + 1)
        found = add_run(runs, found, begin, end, r, is_signed & (low < high) & (begin < end))
    for k in range(count, found):
        begin, end, r = runs.begin[k], runs.end[k], runs.entry[k]
        low, high = located.low[r], located.high[r]
        if ranks[begin] < low:
            begin = find_first_at_least(ranks, begin, end, low)
        if ranks[end - 1] >= high:
            end = find_first_nearby(ranks, begin, end, high)
        count = add_run(runs, count, begin, end, located.entry[r], begin < end)
    return count


@inline
def find_runs(lists, pivot, domains, domain_entries_max, events, event, scratch):
    """Find the runs in the lists of a pivot that the event makes true; returns how many."""
    located, count = scratch.located, 0
    for operator in range(OPERATORS):
        ranges = located.start[operator + 1] - located.start[operator]
        if ranges == 0:
            continue
        first_segment = lists.segment_start[operator * domains + pivot]
        segment_count = lists.segment_start[operator * domains + pivot + 1] - first_segment - 1
        if segment_count > 0:
            begin, end = lists.segments[first_segment, 0], lists.segments[first_segment + segment_count, 0]
            if (end - begin) * domain_entries_max < ranges:
                count = add_runs_of_list(lists, operator, begin, end, events, event, scratch, count)
            else:
                count = add_runs_of_event(lists, operator, first_segment, segment_count, events, event, scratch, count)
    return count


# matching


POSTINGS_PER_RESET = 16
"""If true postings are fewer than 1/16 of the pivot's conjunctions, set only the counters that they count down."""


@inline
def list_zero_conjunctions(remaining, done, size):
    """List in `done` the conjunctions of a pivot whose counter or bitmap is zero; returns how many.

    The pivot has `size` conjunctions.
    """
    zero = remaining.dtype.type(0)
    count = 0
    for c in range(np.uint64(size)):
        done[np.uint64(count)] = c
        count += remaining[c] <= zero
    return count


@inline
def count_true_postings(runs, count):
    """Return the number of postings in the runs."""
    postings = 0
    for k in range(count):
        postings += runs.end[k] - runs.begin[k]
    return postings


@inline
def set_true_conjunctions(index, initial, scratch, runs):
    """Set the counters or bitmaps of the conjunctions that have postings in the runs."""
    conjunctions, remaining = index.lists.conjunctions, scratch.remaining
    for k in range(runs):
        for i in range(np.uint64(scratch.runs.begin[k]), np.uint64(scratch.runs.end[k])):
            remaining[np.uint32(conjunctions[i])] = initial[np.uint32(conjunctions[i])]


@inline
def list_true_conjunctions(index, scratch, runs):
    """List in `done` the conjunctions that have postings in the runs, and a counter or bitmap of zero.

    Returns how many. A listed counter is set to one, so that it is listed once.
    """
    conjunctions, remaining, done = index.lists.conjunctions, scratch.remaining, scratch.done
    zero, one = remaining.dtype.type(0), remaining.dtype.type(1)
    count = 0
    for k in range(runs):
        for i in range(np.uint64(scratch.runs.begin[k]), np.uint64(scratch.runs.end[k])):
            c = np.uint32(conjunctions[i])
            done[np.uint64(count)] = c
            count += remaining[c] <= zero
            remaining[c] = max(remaining[c], one)
    return count


@inline
def match_by_pivot(index, initial, snapshot, scratch, events, out, event, apply_runs):
    """Match events by their pivots: the frame of both kernels; returns the first event that did not fit.

    `initial` has the counter or the bitmap of each conjunction before any posting is true. `apply_runs` changes those
    of a pivot by the runs that are true. Exact for single-valued events; writes too many slots for other events.
    effort[0] counts the conjunctions with a true posting.
    """
    lists, pivot_start, slots, first_entry = index.lists, index.pivot_start, index.conjunction_slot, scratch.first_entry
    domains, remaining = pivot_start.size - 1, scratch.remaining
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        # Conjunctions that are always true have no pivot, and come last.
        fits = slots.size - pivot_start[domains] <= out.slot.size - written
        if not fits:
            return e
        advance_clock(scratch.stamps)
        for conjunction in range(pivot_start[domains], slots.size):
            written = emit(slots[conjunction], snapshot, scratch.stamps, out, written)
        domain_entries_max = locate_operands(lists.operands, domains, events, e, scratch.located)
        open_event(events, e, first_entry)
        for j in range(events.start[e], events.start[e + 1]):
            pivot = events.domain[j]
            if pivot >= domains or first_entry[pivot] != j + 1:
                continue
            first, size = pivot_start[pivot], pivot_start[pivot + 1] - pivot_start[pivot]
            runs = find_runs(lists, pivot, domains, domain_entries_max, events, e, scratch)
            if runs == 0:
                continue
            is_sparse = count_true_postings(scratch.runs, runs) * POSTINGS_PER_RESET < size
            if is_sparse and not scratch.effort[0]:
                set_true_conjunctions(index, initial[first:], scratch, runs)
                apply_runs(index, events, scratch, runs)
                done = list_true_conjunctions(index, scratch, runs)
            else:
                for c in range(size):
                    remaining[c] = initial[first + c]
                apply_runs(index, events, scratch, runs)
                if scratch.effort[0]:
                    for c in range(size):
                        scratch.effort[0] += remaining[c] != initial[first + c]
                done = list_zero_conjunctions(remaining, scratch.done, size)
            fits = done <= out.slot.size - written
            if not fits:
                break
            for k in range(done):
                written = emit(slots[first + scratch.done[k]], snapshot, scratch.stamps, out, written)
        close_event(events, e, first_entry)
        if not fits:
            return e
        out.start[e + 1] = written
    return events.single_valued.size


@inline
def count_down(index, events, scratch, runs):
    """Subtract one from the counter of a conjunction for each of its postings in the runs.

    A counter falls below zero when an event with several values makes a posting true twice.
    """
    conjunctions, remaining = index.lists.conjunctions, scratch.remaining
    for k in range(runs):
        for i in range(np.uint64(scratch.runs.begin[k]), np.uint64(scratch.runs.end[k])):
            remaining[np.uint32(conjunctions[i])] -= 1


@inline
def strike_out(index, events, scratch, runs):
    """Clear the bit of a clause for each of its postings in the runs."""
    clause, conjunctions, ranks = index.clause, index.lists.conjunctions, index.lists.ranks
    operand_end, remaining = index.operand_end, scratch.remaining
    for k in range(runs):
        low = events.low[scratch.runs.entry[k]]
        for i in range(np.uint64(scratch.runs.begin[k]), np.uint64(scratch.runs.end[k])):
            is_inside = np.uint64(operand_end[np.uint32(ranks[i])] >= low)
            remaining[np.uint32(conjunctions[i])] &= ~(is_inside << np.uint64(clause[i]))


@kernel
def match_conjunctions(index, snapshot, scratch, events, out, event):
    """Match conjunctions of predicates, with a counter each (section 5)."""
    index, snapshot = unpack(index, OpIndexIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, OpIndexScratch), borrow(events, Events), borrow(out, Matches)
    return match_by_pivot(index, index.need, snapshot, scratch, events, out, event, count_down)


@kernel
def match_clauses(index, snapshot, scratch, events, out, event):
    """Match conjunctions of clauses, with a bitmap each (section 6.1)."""
    index, snapshot = unpack(index, OpIndexCNFIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, OpIndexCNFScratch), borrow(events, Events), borrow(out, Matches)
    return match_by_pivot(index, index.clauses, snapshot, scratch, events, out, event, strike_out)
