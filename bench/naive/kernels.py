"""Match one expression after another, and test every predicate on the event again."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, I32, NEVER, SET, U8, Events, Matches, Snapshot, keeps
from tellwhen.kernels.evaluate import close_event, is_predicate_true, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel


class NaiveIndex(NamedTuple):
    """All subscriptions."""

    slots: I32


@keeps("first_entry")
class NaiveScratch(NamedTuple):
    """Working arrays of a match."""

    first_entry: I32  # zero between events
    registers: U8


@inline
def is_conjunction_true(code, start, end, predicates, first_entry, events, last):
    """Return whether every predicate is true; stop at the first one that is not."""
    for i in range(start, end):
        if not is_predicate_true(code[i], predicates, first_entry, events, last):
            return False
    return True


@inline
def is_program_true(code, start, predicates, first_entry, events, last, registers):
    """Run a program, and test the predicate of every instruction that is executed."""
    at = 0
    while at >= 0:
        test, yes, no = code[start + 3 * at], code[start + 3 * at + 1], code[start + 3 * at + 2]
        if test >= 0:
            at = yes if is_predicate_true(test, predicates, first_entry, events, last) else no
        elif no == SET or no == CLEAR:
            registers[-1 - test] = no == SET
            at = yes
        else:
            at = yes if registers[-1 - test] else no
    return at == ACCEPT


@kernel
def scan_naively(index, snapshot, scratch, events, out, event):
    """Match exactly, whatever values events have."""
    index, snapshot = unpack(index, NaiveIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, NaiveScratch), borrow(events, Events), borrow(out, Matches)
    predicates, subscriptions, first_entry = snapshot.predicates, snapshot.subscriptions, scratch.first_entry
    code, died, version = subscriptions.code, subscriptions.died, snapshot.version
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        if index.slots.size > out.slot.size - written:
            return e
        open_event(events, e, first_entry)
        last = events.start[e + 1]
        for slot in index.slots:
            out.slot[written] = slot
            kind, start, end = subscriptions.kind[slot], subscriptions.start[slot], subscriptions.start[slot + 1]
            if died[slot] <= version or kind == NEVER:
                continue
            if kind == CONJUNCTION:
                written += is_conjunction_true(code, start, end, predicates, first_entry, events, last)
            else:
                written += is_program_true(code, start, predicates, first_entry, events, last, scratch.registers)
        close_event(events, e, first_entry)
        out.start[e + 1] = written
    return events.single_valued.size
