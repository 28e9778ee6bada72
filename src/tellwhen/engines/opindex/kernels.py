"""Match by pivots and sorted predicate lists (OpIndex, sections 4.2 and 5).

Deviation: operands are ranks among all operands of their operator. A value of an event is located once among those,
and every list is then searched for a run of ranks, four bytes each, instead of pairs of attribute and operand.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.opindex.arrays import PredicateLists
from tellwhen.kernels.arrays import Events
from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import close_event, first_above, first_at_least, longest_event, open_event
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import to_begins

EQUAL, AT_LEAST, AT_MOST = 0, 1, 2
"""Operators. A predicate `= v` waits in the list EQUAL, `>= v` in AT_LEAST, `<= v` in AT_MOST."""


LOW, HIGH, SHARE, PLACES = 0, 3, 6, 7
"""What `locate` notes of every entry of an event."""


@inline
def signature_bit(operator, domain, rank):
    """The bit of a segment's signature that stands for a predicate: of its operand only where that must be equal."""
    key = np.uint64(rank) if operator == EQUAL else np.uint64(domain)
    return np.int64(1) << np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(58))


@inline
def share_of(domain, domains):
    """How far along the domains it is, in parts of 2^32."""
    return ((np.int64(domain) << 32) + domains - 1) // domains


@inline
def segment_of(share, segments):
    """Attributes in order, in as many parts as the list has segments: one each if these are as many."""
    return share * segments >> 32


@kernel
def sort_entries(owner_start, predicate, pivot, entry_start, entry_rank, key_start, domains):
    """All entries by operator, pivot and rank: where each list begins, their ranks, and whose they are.

    A counting sort by rank, which orders the operators too, then one by list.
    """
    at = np.zeros(key_start[-1] + 1, dtype=np.int64)
    begin = np.zeros(3 * domains + 2, dtype=np.int64)
    for owner in range(owner_start.size - 1):
        for j in range(owner_start[owner], owner_start[owner + 1]):
            for i in range(entry_start[predicate[j]], entry_start[predicate[j] + 1]):
                at[entry_rank[i] + 1] += 1
    total = 0
    for rank in range(at.size):
        total += at[rank]
        at[rank] = total
    by_rank = np.empty(total, dtype=np.int32)
    for owner in range(owner_start.size - 1):
        for j in range(owner_start[owner], owner_start[owner + 1]):
            for i in range(entry_start[predicate[j]], entry_start[predicate[j] + 1]):
                rank = entry_rank[i]
                by_rank[at[rank]] = owner
                at[rank] += 1  # ends where the next rank begins
    ranks, owners = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    for placing in range(2):
        k = 0
        for operator in range(3):
            for rank in range(key_start[operator * domains], key_start[(operator + 1) * domains]):
                while k < at[rank]:
                    place = operator * domains + pivot[by_rank[k]] + 1
                    if placing:
                        ranks[begin[place]] = rank
                        owners[begin[place]] = by_rank[k]
                    begin[place] += 1
                    k += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            to_begins(begin)
    return begin[:-1], ranks, owners


@kernel
def sign(list_start, ranks, key_domain, segment_start, domains, segments):
    """Where the segments of every list begin, and their signatures; a list has one more than segments."""
    for place in range(list_start.size - 1):
        first, count = segment_start[place], segment_start[place + 1] - segment_start[place] - 1
        k, end = list_start[place], list_start[place + 1]
        for s in range(count):
            segments[first + s, 0] = k
            while k < end and segment_of(share_of(key_domain[ranks[k]], domains), count) == s:
                segments[first + s, 1] |= signature_bit(place // domains, key_domain[ranks[k]], ranks[k])
                k += 1
        if count > 0:
            segments[first + count, 0] = end


@inline
def locate(events, event, key_start, keys, domains, place):
    """Note of every entry of the event: from LOW on and from HIGH on, by operator, between which ranks lie those that
    it makes true, and in SHARE where the segments of its domain are. Returns how often a domain occurs, at most."""
    first, last = events.start[event], events.start[event + 1]
    most = same = 0
    for i in range(last - first):
        domain = events.domain[first + i]
        same = same + 1 if i and events.domain[first + i - 1] == domain else 1
        most = max(most, same)
        place[SHARE, i] = share_of(domain, domains) if domain < domains else 0
        for operator in range(3):
            place[LOW + operator, i] = place[HIGH + operator, i] = 0
            if domain >= domains:
                continue
            low, high = key_start[operator * domains + domain], key_start[operator * domains + domain + 1]
            begin, end = low, high
            if operator != AT_LEAST:
                low = first_at_least(keys, begin, end, events.low[first + i])
            if operator != AT_MOST:
                high = first_above(keys, begin, end, events.high[first + i])
            place[LOW + operator, i] = low
            place[HIGH + operator, i] = high
    return most


@inline
def near(ranks, start, end, rank):
    """The first index in start:end whose rank is at least this one; found the faster the nearer it is to the start."""
    step = 1
    while start + step <= end and ranks[start + step - 1] < rank:
        start += step
        step += step
    return first_at_least(ranks, start, min(start + step - 1, end), rank)


@inline
def pivot_runs(lists, pivot, domains, events, event, first_entry, repeats, place, runs):
    """Where the runs of a pivot's lists that the event makes true begin and end, and by which entry; returns how many.

    Segments are looked up without branches, before any of them is searched: the processor then waits for many at once.
    """
    _, _, key_domain, segment_start, segments, ranks, _ = lists
    first, last = events.start[event], events.start[event + 1]
    count = 0
    for operator in range(3):
        directory = segment_start[operator * domains + pivot]
        parts = segment_start[operator * domains + pivot + 1] - directory - 1
        if parts <= 0:
            continue
        if (segments[directory + parts, 0] - segments[directory, 0]) * repeats < last - first:
            # A list shorter than the event: each of its entries is looked up in the event. Of several that make it
            # true, the one that begins lowest.
            for k in range(segments[directory, 0], segments[directory + parts, 0]):
                domain = key_domain[ranks[k]]
                i, best = first_entry[domain] - 1, -1
                while 0 <= i < last and events.domain[i] == domain:
                    if place[LOW + operator, i - first] <= ranks[k] < place[HIGH + operator, i - first] and (
                        best < 0 or events.low[i] < events.low[best]
                    ):
                        best = i
                    i += 1
                runs[0, count], runs[1, count], runs[2, count] = k, k + 1, best
                count += best >= 0
            continue
        found = count
        for i in range(last - first):
            low, high = place[LOW + operator, i], place[HIGH + operator, i]
            segment = directory + segment_of(place[SHARE, i], parts)
            begin, end = segments[segment, 0], segments[segment + 1, 0]
            signed = segments[segment, 1] & signature_bit(operator, events.domain[first + i], low) != 0
            signed |= (operator == EQUAL) & (high > low + 1)
            runs[0, found], runs[1, found], runs[2, found] = begin, end, first + i
            found += signed & (low < high) & (begin < end)
        for k in range(count, found):
            begin, end, i = runs[0, k], runs[1, k], runs[2, k]
            low, high = place[LOW + operator, i - first], place[HIGH + operator, i - first]
            if ranks[begin] < low:
                begin = first_at_least(ranks, begin, end, low)
            if ranks[end - 1] >= high:
                end = near(ranks, begin, end, high)
            runs[0, count], runs[1, count], runs[2, count] = begin, end, i
            count += begin < end
    return count


@kernel
def match_pivots(
    key_start, keys, key_domain, segment_start, segments, ranks, conjunctions, pivot_start, conjunction_slot, need,
    died, version, removed, remaining, done, first_entry, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for single-valued events, and for others no match is missing. effort[0] counts the conjunctions whose counters were touched.
    """
    events = Events(entry_start, entry_domain, entry_low, entry_high, single_valued)
    lists = PredicateLists(key_start, keys, key_domain, segment_start, segments, ranks, conjunctions)
    domains = pivot_start.size - 1
    longest = longest_event(entry_start, event)
    place, runs = np.empty((PLACES, longest), dtype=np.int64), np.empty((3, 3 * longest + 1), dtype=np.int64)
    written = start[event]
    for e in range(event, single_valued.size):
        # Conjunctions without predicates have no pivot, and come last.
        fits = conjunction_slot.size - pivot_start[domains] <= out.size - written
        if not fits:
            return e
        stamps[-1] += 1
        for conjunction in range(pivot_start[domains], conjunction_slot.size):
            written = emit(conjunction_slot[conjunction], stamps, removed, died, version, out, written)
        repeats = locate(events, e, key_start, keys, domains, place)
        open_event(events, e, first_entry)
        for j in range(entry_start[e], entry_start[e + 1]):
            pivot = entry_domain[j]
            if pivot >= domains or first_entry[pivot] != j + 1:
                continue
            top, count = pivot_start[pivot], pivot_start[pivot + 1] - pivot_start[pivot]
            for r in range(count):
                remaining[r] = need[top + r]
            for k in range(pivot_runs(lists, pivot, domains, events, e, first_entry, repeats, place, runs)):
                for i in range(np.uint64(runs[0, k]), np.uint64(runs[1, k])):
                    remaining[np.uint32(conjunctions[i])] -= 1
            if effort[0]:
                for r in range(count):
                    effort[0] += remaining[r] != need[top + r]
            # Below zero where an event of several values makes an entry true twice.
            finished = 0
            for r in range(np.uint64(count)):
                done[np.uint64(finished)] = r
                finished += remaining[r] <= 0
            fits = finished <= out.size - written
            if not fits:
                break
            for k in range(finished):
                written = emit(conjunction_slot[top + done[k]], stamps, removed, died, version, out, written)
        close_event(events, e, first_entry)
        if not fits:
            return e
        start[e + 1] = written
    return single_valued.size
