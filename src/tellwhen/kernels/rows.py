"""How does a row that matched become a slot in the output? The same for all engines of rows."""

from __future__ import annotations

from tellwhen.kernels.jit import inline


@inline
def emit(slot, stamps, removed, died, version, out, written):
    """Write the slot of a row, unless it is dead, or has been written for this event; returns the new end.

    A slot of several rows comes as -1 - slot. `stamps` holds, for those, the number of the last event they were
    written for; its last element counts events over the life of the scratch, so that it need not be cleared.

    Without a branch: arrays that only some paths use would be reference-counted. What is not asked for is read where
    it is at hand.
    """
    last = stamps.size - 1
    stamped = -1 - slot if slot < 0 else last
    fresh = (stamped == last) | (stamps[stamped] != stamps[last])
    stamps[stamped] = stamps[last]
    slot = max(slot, -1 - slot)
    alive = (removed == 0) | (died[slot * (removed != 0)] > version)
    out[written] = slot
    return written + (fresh & alive)
