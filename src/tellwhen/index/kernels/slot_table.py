"""A hash table of slots with open addressing. The caller computes the hashes."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel

FREE, GONE = 0, -1
"""Entries without a slot: never used, and removed. The entry of slot s is s + 1."""


@kernel
def put_slots(table, hashes, slots):
    """Add slots that are not in the table, each at the first free entry from the position of its hash on.

    A removed entry is not free. So a concurrent search that passes the old entry of an id, which was just removed,
    still reaches the new entry behind it.
    """
    mask = np.uint32(table.size - 1)
    for slot in slots:
        position = hashes[slot] & mask
        while table[position] != FREE:
            position = (position + np.uint32(1)) & mask
        table[position] = slot + 1


@kernel
def forget_slots(table, hashes, slots):
    """Remove slots that are in the table."""
    mask = np.uint32(table.size - 1)
    for slot in slots:
        position = hashes[slot] & mask
        while table[position] != slot + 1:
            position = (position + np.uint32(1)) & mask
        table[position] = GONE
