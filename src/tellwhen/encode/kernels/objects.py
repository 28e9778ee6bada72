"""Matching of expressions with the objects in lists."""

from __future__ import annotations

from tellwhen.kernels.arrays import Events, Snapshot
from tellwhen.kernels.evaluate import close_event, is_satisfied, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import kernel


@kernel
def find_true(snapshot, objects, list_start, first_entry, truth, registers, found):
    """Set found[k, slot] to 1 if some object of list k satisfies the slot.

    List k has the objects list_start[k]:list_start[k+1]. `first_entry` has only zeros before and after the call;
    `truth` and `registers` are scratch.
    """
    snapshot, objects = unpack(snapshot, Snapshot), borrow(objects, Events)
    for k in range(list_start.size - 1):
        for e in range(list_start[k], list_start[k + 1]):
            open_event(objects, e, first_entry)
            for slot in range(found.shape[1]):
                if found[k, slot] == 0 and is_satisfied(slot, snapshot, objects, e, first_entry, truth, registers):
                    found[k, slot] = 1
            close_event(objects, e, first_entry)
