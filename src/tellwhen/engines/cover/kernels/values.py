"""Find the spaces of an event's values, and test whether values are in ranges of spaces."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import FLAG_BITS, GAP_FLAG, NEGATED, POINTS, RANGE
from tellwhen.kernels.jit import inline
from tellwhen.kernels.spaces import find_space
from tellwhen.kernels.truth import is_true, set_true

ABSENT, SEVERAL, INTERVALS = 0, -1, -2
"""Codes in `where` in place of a space + 1: the event has no value on a domain, several, or also intervals."""

UNKNOWN_BITMAP, SEVERAL_BITMAPS, NEIGHBOUR_BITMAPS = -1, -2, -3
"""Codes in `bitmap` in place of the number of a bitmap, which is 1 + bucket, or 0 for an event without the domain: no
bitmap decides; each of several values has one; or the value is in a gap, and has those of its two neighbours and of
bucket 0."""

POINTS_MAX = 64
"""A set of up to 64 values is looked up in the event; in a larger set, the event's values are looked up."""


@inline
def open_spaces(index, events, event, scratch, row):
    """Find the spaces of an event's entries, and note each domain's value, and its bitmap from `row` on."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:  # no subscription of this index has a later domain
            k = i - begin
            scratch.low[k] = find_space(index.cut_start, index.cuts, domain, events.low[i])
            scratch.high[k] = scratch.low[k]
            if events.high[i] != events.low[i]:
                scratch.high[k] = find_space(index.cut_start, index.cuts, domain, events.high[i])
            note_value(index, scratch, domain, k, row + domain)


@inline
def note_value(index, scratch, domain, k, at):
    """Note the value, or the interval, of entry k of a domain."""
    low, is_interval = scratch.low[k], scratch.low[k] != scratch.high[k]
    before = scratch.where[domain]
    if before == ABSENT:
        scratch.first_entry[domain] = k
        scratch.where[domain] = INTERVALS if is_interval else low + 1
        bucket = index.chunks.bucket[low]
        scratch.bitmap[at] = UNKNOWN_BITMAP if is_interval else bucket + 1
        if bucket >= GAP_FLAG and not is_interval:
            after = np.uint64(1) << np.uint64(bucket - GAP_FLAG)
            scratch.bitmap[at] = NEIGHBOUR_BITMAPS
            scratch.buckets[at] = after | after >> np.uint64(1) | np.uint64(1)
    elif is_interval or before == INTERVALS:
        scratch.where[domain], scratch.bitmap[at] = INTERVALS, UNKNOWN_BITMAP
    else:
        one, bucket = np.uint64(1), index.chunks.bucket[low]
        if before != SEVERAL:
            set_true(scratch.present, before - 1)
            scratch.buckets[at] = one << np.uint64(max(0, scratch.bitmap[at] - 1))
        set_true(scratch.present, low)
        scratch.where[domain] = SEVERAL
        if bucket >= GAP_FLAG or scratch.bitmap[at] == UNKNOWN_BITMAP or scratch.bitmap[at] == NEIGHBOUR_BITMAPS:
            scratch.bitmap[at] = UNKNOWN_BITMAP
        else:
            scratch.bitmap[at] = SEVERAL_BITMAPS
            scratch.buckets[at] |= one << np.uint64(bucket)


@inline
def close_spaces(index, events, event, scratch):
    """Make every domain of the event absent again, except in `bitmap`."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:
            scratch.where[domain] = ABSENT
            scratch.present[np.uint32(scratch.low[i - begin]) >> np.uint32(6)] = 0


@inline
def close_bitmaps(index, events, event, scratch, row):
    """Make every domain of the event absent in `bitmap`, from `row` on."""
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] < index.cut_start.size - 1:
            scratch.bitmap[row + events.domain[i]] = 0


@inline
def touches_list(words, first, count, low, high):
    """Return whether low..high overlaps one of the `count` ranges in the words from `first` on."""
    at, stop = np.int64(0), np.int64(count)
    while at < stop:
        middle = (at + stop) >> 1
        if words[np.uint64(first + 2 * middle + 1)] < low:
            at = middle + 1
        else:
            stop = middle
    return at < count and words[np.uint64(first + 2 * at)] <= high


@inline
def has_value_in(domain, first, last, is_range, words, events, begin, end, scratch):
    """Return whether an entry of the domain overlaps first..last, or one of the `last` ranges from words[first] on."""
    k = scratch.first_entry[domain]
    while begin + k < end and events.domain[begin + k] == domain:
        low, high = scratch.low[k], scratch.high[k]
        if (low <= last and high >= first) if is_range else touches_list(words, first, last, low, high):
            return True
        k += 1
    return False


@inline
def has_point_in(present, words, first, last, is_range):
    """Return whether a value is in one of a set of spaces: `first`, or the `last` ranges from words[first] on."""
    if is_range:
        return is_true(present, first)
    for i in range(np.uint64(first), np.uint64(first + 2 * last), np.uint64(2)):
        if is_true(present, words[i]):
            return True
    return False


@inline
def is_test_true(head, first, last, words, events, begin, end, scratch):
    """Return whether the predicate of an instruction is true."""
    domain = head >> FLAG_BITS
    where = scratch.where[np.uint64(domain)]
    if where == ABSENT:
        return False
    is_range = head & 3 == RANGE
    if where > 0:
        space = where - 1
        is_inside = (first <= space and space <= last) if is_range else touches_list(words, first, last, space, space)
    elif where == SEVERAL and head & POINTS != 0 and (is_range or last <= POINTS_MAX):
        is_inside = has_point_in(scratch.present, words, first, last, is_range)
    else:
        is_inside = has_value_in(domain, first, last, is_range, words, events, begin, end, scratch)
    return is_inside != (head & NEGATED != 0)
