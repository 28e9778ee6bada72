"""How does a row that matched become a slot in the output? The same for all engines of rows."""

from __future__ import annotations

from tellwhen.kernels.jit import inline


@inline
def emit(slot, stamps, removed, died, version, out, written):
    """Write the slot of a row, unless it is dead, or has been written for this event; returns the new end.

    A slot of several rows comes as -1 - slot. `stamps` holds, for those, the number of the last event they were
    written for; its last element counts events over the life of the scratch, so that it need not be cleared.
    """
    if slot < 0:
        slot = -1 - slot
        if stamps[slot] == stamps[-1]:
            return written
        stamps[slot] = stamps[-1]
    out[written] = slot
    return written + (removed == 0 or died[slot] > version)
