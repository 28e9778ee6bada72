"""Does this subscription hold for this event, exactly? The arrays' own meaning, used by every engine."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import ACCEPT, CLEAR, NEVER, PROGRAM, ROW, SET, Events, Predicates, Subscriptions
from tellwhen.kernels.jit import inline, kernel

LINEAR = 8  # up to so many intervals a linear search beats a binary one


@inline
def open_event(events, event, first):
    """Note where each line's entries begin: first[line] is the entry's index + 1, 0 for a line the event lacks.

    A line beyond `first` was added after the reader's snapshot was taken: nothing it can see asks for it.
    """
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size and first[line] == 0:
            first[line] = i + 1


@inline
def close_event(events, event, first):
    """Leave `first` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size:
            first[line] = 0


@inline
def longest_event(entry_start, event):
    """Entries of the longest event from this one on."""
    most = 0
    for e in range(event, entry_start.size - 1):
        most = max(most, entry_start[e + 1] - entry_start[e])
    return most


@inline
def first_at_least(keys, start, end, point):
    """The first index in start:end whose key is at least the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] < point:
            start = middle + 1
        else:
            end = middle
    return start


@inline
def first_above(keys, start, end, point):
    """The first index in start:end whose key is greater than the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] <= point:
            start = middle + 1
        else:
            end = middle
    return start


@inline
def interval_at(high, start, end, point):
    """The first interval that ends at or after the point."""
    if end - start > LINEAR:
        return first_at_least(high, start, end, point)
    while start < end and high[start] < point:
        start += 1
    return start


@inline
def holds(p, line_of, every_of, start_of, lows, highs, first, entry_line, entry_low, entry_high, end):
    """Is predicate p true? Some entry must touch its intervals; every entry must lie inside for a negated one.

    Takes the arrays of Predicates and Events one by one: a field of a tuple, read in a loop, is reference-counted.
    """
    line = line_of[p]
    entry = first[line] - 1
    if entry < 0:
        return False
    start, stop = start_of[p], start_of[p + 1]
    every = every_of[p] == 1
    while entry < end and entry_line[entry] == line:
        low, high = entry_low[entry], entry_high[entry]
        i = interval_at(highs, start, stop, low)
        if every:
            if i == stop or lows[i] > low or highs[i] < high:
                return False
        elif i < stop and lows[i] <= high:
            return True
        entry += 1
    return every


@inline
def is_true(truth, p):
    """Bit p of the predicates' values."""
    return (truth[np.uint32(p) >> np.uint32(6)] >> np.uint64(p & 63)) & np.uint64(1) != 0


@inline
def set_true(truth, p):
    """Set bit p."""
    truth[np.uint32(p) >> np.uint32(6)] |= np.uint64(1) << np.uint64(p & 63)


@inline
def row_accepts(code, start, end, truth):
    """Are all predicates of a conjunction true?"""
    for i in range(np.uint64(start), np.uint64(end)):
        if not is_true(truth, code[i]):
            return False
    return True


@inline
def program_accepts(code, start, truth, registers):
    """Walk a program of tests from its first instruction to ACCEPT or REJECT."""
    at = 0
    while at >= 0:
        i = np.uint64(start + 3 * at)
        test, yes, no = code[i], code[i + np.uint64(1)], code[i + np.uint64(2)]
        if test >= 0:
            at = yes if is_true(truth, test) else no
        elif no == SET or no == CLEAR:
            registers[-1 - test] = no == SET
            at = yes
        else:
            at = yes if registers[-1 - test] else no
    return at == ACCEPT


@inline
def confirm(slots, written, kept, subscriptions, predicates, events, event, first, truth, registers):
    """Keep those of slots[written:kept] that the event satisfies exactly; returns the new end.

    Looks at the event itself, predicate by predicate; `truth` is scratch.
    """
    kinds, starts, code, _ = subscriptions
    line, every, interval, lows, highs = predicates
    entry_start, entry_line, entry_low, entry_high, _ = events
    last = entry_start[event + 1]
    for k in range(written, kept):
        slot = slots[k]
        kind, start, end = kinds[slot], starts[slot], starts[slot + 1]
        hit = kind != NEVER
        if kind == ROW:
            for i in range(start, end):
                if not holds(
                    code[i], line, every, interval, lows, highs, first, entry_line, entry_low, entry_high, last
                ):
                    hit = False
                    break
        elif kind == PROGRAM:
            for i in range(start, end, 3):
                p = code[i]
                if p >= 0:
                    truth[p >> 6] &= ~(np.uint64(1) << np.uint64(p & 63))
                    if holds(p, line, every, interval, lows, highs, first, entry_line, entry_low, entry_high, last):
                        set_true(truth, p)
            hit = program_accepts(code, start, truth, registers)
        slots[written] = slot
        written += hit
    return written


@kernel
def complete(
    found_start, found, loose, version, first, truth, registers, predicate_line, every, interval, low, high,
    kind, code_start, code, died, entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Turn what an index found into exact matches: look again where an event is not plain, and at all loose slots.

    Fills `out` from `event` on; returns the first event whose matches did not fit.
    """
    predicates = Predicates(predicate_line, every, interval, low, high)
    subscriptions = Subscriptions(kind, code_start, code, died)
    events = Events(entry_start, entry_line, entry_low, entry_high, plain)
    written = start[event]
    for e in range(event, plain.size):
        most = found_start[e + 1] - found_start[e] + loose.size
        if most > out.size - written:
            return e
        begin = written
        for i in range(found_start[e], found_start[e + 1]):
            out[written] = found[i]
            written += 1
        open_event(events, e, first)
        if plain[e]:
            begin = written
        for slot in loose:
            out[written] = slot
            written += died[slot] > version
        written = confirm(out, begin, written, subscriptions, predicates, events, e, first, truth, registers)
        close_event(events, e, first)
        start[e + 1] = written
    return plain.size
