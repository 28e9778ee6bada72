"""The arrays of `cover`, drawn.

A subscription waits on the nodes of its cover (`kernels/places.py`). All that wait on one node are a *cluster*:

    event ──> spaces of its values ──> nodes ──> clusters ──> postings: guard true? ──> program true? ──> slot

Everything is in terms of the *spaces* into which the predicates of this index cut each domain
(`engines/shared/spaces.py`): domain d has the spaces cut_start[d] + d to cut_start[d+1] + d.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64, I32Matrix, I64Matrix

RANGE, LIST, REGISTER, ASSIGN = range(4)
"""Kinds of instruction: test a range of spaces, test a list of ranges, test a register, set a register."""

NEGATED, JUMP_ON_TRUE, POINTS, FLAG_BITS = 4, 8, 16, 5
"""Flags of an instruction beside its kind, in the low 5 bits of its head. The rest of the head is the domain. POINTS
says that every range is a single space."""

HEAD, FIRST, LAST, JUMP, INSTRUCTION_WORDS = range(5)
"""Words of an instruction: its head; the range, or where the list begins and how many ranges it has, or a register and
its value; and where the program goes on if the test is true (JUMP_ON_TRUE) or if it is false. Otherwise the next
instruction follows. ACCEPT and REJECT end the program; behind its last instruction it is false."""

LEVEL, HALF, NODE_FIRST, NODES, TABLE, VARIANT_COLUMNS = range(6)
"""Columns of a variant of nodes: its level, by how many spaces its nodes are shifted, its first node with a cluster,
how many nodes from there on are in the table, and where they begin in it."""

GUARD_TESTS, GUARD_WORDS = 4, 12
"""Ranges that a guard may have, and their words: domain, first and last space. A domain of -1 ends them."""


class Access(NamedTuple):
    """From spaces to clusters."""

    variant_start: I64  # |0|2|2|5|      variants of domain d are variants[variant_start[d]:variant_start[d+1]]
    variants: I64Matrix  # [variants, columns]
    cluster: I32  # |3|-1|0|...    by node of a variant: its cluster, -1 for none


class Postings(NamedTuple):
    """Who waits in a cluster, cluster by cluster. Those of cluster 0 are tested on every event."""

    start: I64  # |0|0|3|4|        postings of cluster c are start[c]:start[c+1]
    slot: I32  # |4|-8|2|        -1 - slot for one of several postings
    program: I64  # |0|17|34|       where its program begins in `words`
    guard: I32Matrix  # [postings, GUARD_WORDS]; one of these ranges must be touched, if there are any


class CoverIndex(NamedTuple):
    """An index of some subscriptions."""

    cut_start: I64  # |0|3|3|          cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64
    access: Access
    postings: Postings
    words: I32  # |8 ........|4 ....| programs: how many words follow, then instructions
    lists: I32  # |3 3|7 9|...        ranges of spaces, first and last, each list ascending


class CoverScratch(NamedTuple):
    """Working arrays of a match."""

    where: I32  # by domain: the space of its value + 1, or what `kernels/match.py` says; zero between events
    first_entry: I32  # by domain that is there: its first entry in the event
    low: I32  # by entry of the event: the space of its least value
    high: I32  # and of its greatest
    present: U64  # a bit for every space: one of the event's several values on its domain; zero between events
    clusters: I32  # that the event opens
    opened: I64  # by cluster: when it was last opened; the last element is the clock
    candidates: I32  # postings whose guard passes
    registers: U8
    stamps: I64
    effort: I64
