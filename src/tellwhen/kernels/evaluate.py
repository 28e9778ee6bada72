"""Does this subscription hold for this event, exactly? The meaning of the arrays, shared by every engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import (
    ACCEPT,
    CLEAR,
    CONJUNCTION,
    I32,
    NEVER,
    SET,
    U8,
    U64,
    Events,
    Matches,
    Snapshot,
    keeps,
)
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import first_at_least
from tellwhen.kernels.truth import clear_true, is_true, set_true

LINEAR_MAX = 8
"""Up to this many intervals a linear search beats a binary one."""


@inline
def open_event(events, event, first_entry):
    """Note where the entries of each domain begin: first_entry[domain] is the entry's index + 1, 0 for none.

    A domain beyond `first_entry` is newer than the snapshot: no subscription in it asks for that domain.
    """
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < first_entry.size and first_entry[domain] == 0:
            first_entry[domain] = i + 1


@inline
def close_event(events, event, first_entry):
    """Leave `first_entry` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < first_entry.size:
            first_entry[domain] = 0


@inline
def longest_event(events, event):
    """Entries of the longest event, from this one on."""
    most = 0
    for e in range(event, events.start.size - 1):
        most = max(most, events.start[e + 1] - events.start[e])
    return most


@inline
def interval_at(high, start, end, point):
    """The first interval that ends at or after the point."""
    if end - start > LINEAR_MAX:
        return first_at_least(high, start, end, point)
    while start < end and high[start] < point:
        start += 1
    return start


@inline
def holds(p, predicates, first_entry, events, end):
    """Is predicate p true for the event whose entries end at `end`?

    Some entry must touch an interval of p. If p is negated, every entry must lie inside one.
    """
    domain = predicates.domain[p]
    entry = first_entry[domain] - 1
    if entry < 0:
        return False
    start, stop = predicates.start[p], predicates.start[p + 1]
    every = predicates.every[p] == 1
    while entry < end and events.domain[entry] == domain:
        low, high = events.low[entry], events.high[entry]
        i = interval_at(predicates.high, start, stop, low)
        if every:
            if i == stop or predicates.low[i] > low or predicates.high[i] < high:
                return False
        elif i < stop and predicates.low[i] <= high:
            return True
        entry += 1
    return every


@inline
def conjunction_accepts(code, start, end, truth):
    """Are all predicates of a conjunction true?"""
    for i in range(np.uint64(start), np.uint64(end)):
        if not is_true(truth, code[i]):
            return False
    return True


@inline
def program_accepts(code, start, truth, registers):
    """Run a program of tests from its first instruction to ACCEPT or REJECT."""
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
def code_accepts(slot, subscriptions, truth, registers):
    """Does the code of a slot accept the true predicates? The slot is a conjunction or a program."""
    start, end = subscriptions.start[slot], subscriptions.start[slot + 1]
    if subscriptions.kind[slot] == CONJUNCTION:
        return conjunction_accepts(subscriptions.code, start, end, truth)
    return program_accepts(subscriptions.code, start, truth, registers)


@inline
def is_satisfied(slot, snapshot, events, event, first_entry, truth, registers):
    """Does the event satisfy the slot's subscription? Tests the event itself, predicate by predicate.

    `truth` is scratch: only the bits of the slot's own predicates are written, then read.
    """
    subscriptions, predicates = snapshot.subscriptions, snapshot.predicates
    kind, start, end = subscriptions.kind[slot], subscriptions.start[slot], subscriptions.start[slot + 1]
    if kind == NEVER:
        return False
    last = events.start[event + 1]
    for i in range(start, end, 1 if kind == CONJUNCTION else 3):
        p = subscriptions.code[i]
        if p < 0:  # an instruction on a register
            continue
        is_true_here = holds(p, predicates, first_entry, events, last)
        if kind == CONJUNCTION:
            if not is_true_here:
                return False
        elif is_true_here:
            set_true(truth, p)
        else:
            clear_true(truth, p)
    return kind == CONJUNCTION or program_accepts(subscriptions.code, start, truth, registers)


class RefineIndex(NamedTuple):
    """What an index has found, and the slots that it does not have yet."""

    found: Matches  # `start` is empty where no index was asked
    pending: I32


@keeps("first_entry")
class RefineScratch(NamedTuple):
    """Working arrays of `refine`."""

    first_entry: I32  # zero between events
    truth: U64
    registers: U8


@kernel
def refine(index, snapshot, scratch, events, out, event):
    """Filter-and-refine: test what an index found exactly where an event is not single-valued, and all pending slots.

    Fills `out` from `event` on; returns the first event whose matches did not fit.
    """
    index, snapshot = unpack(index, RefineIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, RefineScratch), borrow(events, Events), borrow(out, Matches)
    found, pending, first_entry = index.found, index.pending, scratch.first_entry
    died, version = snapshot.subscriptions.died, snapshot.version
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        begin, end = 0, 0
        if found.start.size > 0:
            begin, end = found.start[e], found.start[e + 1]
        if end - begin + pending.size > out.slot.size - written:
            return e
        open_event(events, e, first_entry)
        count = end - begin
        for k in range(count + pending.size):
            slot = found.slot[begin + k] if k < count else pending[k - count]
            out.slot[written] = slot
            is_known = k < count and events.single_valued[e] != 0
            written += is_known or (
                died[slot] > version
                and is_satisfied(slot, snapshot, events, e, first_entry, scratch.truth, scratch.registers)
            )
        close_event(events, e, first_entry)
        out.start[e + 1] = written
    return events.single_valued.size
