"""The exact test of what an index finds for events that are not single-valued, and of pending slots."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, U8, U64, Events, Matches, Snapshot, keeps
from tellwhen.kernels.evaluate import close_event, is_satisfied, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import kernel


class RefineIndex(NamedTuple):
    """Matches of an index that need an exact test, and the slots that the index does not have yet."""

    found: Matches  # `start` is empty if there is no index
    pending: I32


@keeps("first_entry")
class RefineScratch(NamedTuple):
    """Working arrays of `refine`."""

    first_entry: I32  # zero between events
    truth: U64
    registers: U8


@kernel
def refine(index, snapshot, scratch, events, out, event):
    """Test the matches of an index exactly for events that are not single-valued, and test all pending slots.

    Fills `out` from `event` on. Returns the first event whose matches did not fit.
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
