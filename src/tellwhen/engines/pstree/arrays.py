"""The arrays of `pstree`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64


class PSTreeArrays(NamedTuple):
    """PS-Trees: the spaces of every domain in a sorted block, with room behind it; counters are found by a space's id."""

    block: I64  # |0|4|7|          the block of domain L begins here in keys and ids
    room: I64  # |4|3|8|          and has room for so many spaces
    used: I64  # |3|1|5|          of which so many are in use
    keys: I64  # |LOWEST 20 61 .|LOWEST . .|...    where a space begins; it ends before the next one's begin
    ids: I32  # |7 1 4 .|...     stable
    ends: I32  # by id: intervals that begin at its key, or end just before it
    covers: I64  # by id: predicates that cover it
    events: I64  # by id: historical events in it
    spare: I32  # the ids not in use are the first ones here: as many as are left
