"""Exact evaluation of a subscription on an event, shared by all engines."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, NEVER, SET
from tellwhen.kernels.jit import inline
from tellwhen.kernels.search import find_first_at_least
from tellwhen.kernels.truth import clear_true, is_true, set_true

LINEAR_MAX = 8
"""For up to 8 intervals, a linear search is faster than a binary one."""


@inline
def open_event(events, event, first_entry):
    """Write first_entry[domain] for an event: the index + 1 of its first entry on the domain, 0 for none.

    A domain behind the end of `first_entry` is newer than the snapshot, so no subscription of the snapshot uses it.
    """
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < first_entry.size and first_entry[domain] == 0:
            first_entry[domain] = i + 1


@inline
def close_event(events, event, first_entry):
    """Clear `first_entry` after an event."""
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < first_entry.size:
            first_entry[domain] = 0


@inline
def measure_longest_event(events, event):
    """Count the entries of the longest event, from `event` on."""
    most = 0
    for e in range(event, events.start.size - 1):
        most = max(most, events.start[e + 1] - events.start[e])
    return most


@inline
def find_interval(high, start, end, point):
    """Return the first interval that ends at or behind the point."""
    if end - start > LINEAR_MAX:
        return find_first_at_least(high, start, end, point)
    while start < end and high[start] < point:
        start += 1
    return start


@inline
def is_predicate_true(p, predicates, first_entry, events, end):
    """Return whether predicate p is true for the event whose entries end at `end`.

    Some entry must touch an interval of p. If p is negated, every entry must lie inside one interval.
    """
    domain = predicates.domain[p]
    entry = first_entry[domain] - 1
    if entry < 0:
        return False
    start, stop = predicates.start[p], predicates.start[p + 1]
    every = predicates.every[p] == 1
    while entry < end and events.domain[entry] == domain:
        low, high = events.low[entry], events.high[entry]
        i = find_interval(predicates.high, start, stop, low)
        if every:
            if i == stop or predicates.low[i] > low or predicates.high[i] < high:
                return False
        elif i < stop and predicates.low[i] <= high:
            return True
        entry += 1
    return every


@inline
def is_conjunction_true(code, start, end, truth):
    """Return whether all predicates of a conjunction are true."""
    for i in range(np.uint64(start), np.uint64(end)):
        if not is_true(truth, code[i]):
            return False
    return True


@inline
def run_program(code, start, truth, registers):
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
def run_code(slot, subscriptions, truth, registers):
    """Return whether the code of a slot, a conjunction or a program, accepts the true predicates."""
    start, end = subscriptions.start[slot], subscriptions.start[slot + 1]
    if subscriptions.kind[slot] == CONJUNCTION:
        return is_conjunction_true(subscriptions.code, start, end, truth)
    return run_program(subscriptions.code, start, truth, registers)


@inline
def is_satisfied(slot, snapshot, events, event, first_entry, truth, registers):
    """Return whether the event satisfies the subscription of the slot, by testing the event predicate by predicate.

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
        is_true_here = is_predicate_true(p, predicates, first_entry, events, last)
        if kind == CONJUNCTION:
            if not is_true_here:
                return False
        elif is_true_here:
            set_true(truth, p)
        else:
            clear_true(truth, p)
    return kind == CONJUNCTION or run_program(subscriptions.code, start, truth, registers)
