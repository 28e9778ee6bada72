"""A hash table of slots: open addressing, by hashes that the caller has computed."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel

FREE, GONE = 0, -1
"""Entries of the table that are no slot; slot s is s + 1."""


@kernel
def put_slots(table, hashes, slots):
    """Enter slots that are not in the table, each at the first free place from its hash on. The place of one that is
    gone is not free: who looks for the old slot of an id, and is too late, must come to the new one."""
    mask = np.uint32(table.size - 1)
    for slot in slots:
        at = hashes[slot] & mask
        while table[at] != FREE:
            at = (at + np.uint32(1)) & mask
        table[at] = slot + 1


@kernel
def forget_slots(table, hashes, slots):
    """Take slots out of the table that are in it."""
    mask = np.uint32(table.size - 1)
    for slot in slots:
        at = hashes[slot] & mask
        while table[at] != slot + 1:
            at = (at + np.uint32(1)) & mask
        table[at] = GONE
