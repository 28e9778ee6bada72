"""Output of matches: the slots that an engine found, without the removed ones and without repetitions."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline


@inline
def emit(slot, snapshot, stamps, out, written):
    """Write the slot of a conjunction, unless it was removed or already written for this event. Return the new end.

    -1 - slot marks a slot of several conjunctions. stamps[slot] is the time of its last write, and stamps[-1] is the
    clock, which `advance_clock` advances. So nothing needs clearing between events.
    """
    if slot < 0:
        slot = -1 - slot
        if stamps[slot] == stamps[-1]:
            return written
        stamps[slot] = stamps[-1]
    out.slot[np.uint64(written)] = slot  # unsigned: not tested for being negative
    return written + (snapshot.removed == 0 or snapshot.subscriptions.died[np.uint32(slot)] > snapshot.version)


@inline
def emit_slots(first, end, slots, snapshot, out, written):
    """Write the slots that are not removed. Return the new end of the output, or -1 if it is full."""
    if end - first > out.slot.size - written:
        return np.int64(-1)
    died, version = snapshot.subscriptions.died, snapshot.version
    for k in range(np.uint64(first), np.uint64(end)):
        out.slot[np.uint64(written)] = slots[k]
        written += snapshot.removed == 0 or died[np.uint32(slots[k])] > version
    return written


@inline
def advance_clock(stamps):
    """Advance the clock of `stamps`, which counts events over the life of the array."""
    stamps[-1] += 1
