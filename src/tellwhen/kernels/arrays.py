"""The arrays that kernels read, drawn. Nothing here computes.

One dtype per role, so that every kernel is compiled once: lines, predicates, slots and rows are int32; points,
offsets and versions int64; flags uint8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1

ROW, PROGRAM, NEVER = 0, 1, 2
"""Kinds of subscription: a conjunction, a program of tests, and one that nothing satisfies."""

ACCEPT, REJECT, SET, CLEAR = -1, -2, -3, -4
"""Targets of a test (ACCEPT, REJECT), and marks in its last place for the two instructions that are not tests."""


class Predicates(NamedTuple):
    """Distinct predicates: p is satisfied by the points of line[p] inside its intervals.

    `every[p]` is 1 for a negated predicate: then all entries of the event on that line must lie inside, each in one
    interval (those of a negated predicate are never adjacent).
    """

    line: I32  # |4|4|7|
    every: U8  # |0|1|0|
    start: I64  # |0|1|3|5|             intervals of p are start[p]:start[p+1]
    low: I64  # |20|-inf  31|2 6|      sorted and disjoint
    high: I64  # |40|  29 inf|2 6|      closed


class Subscriptions(NamedTuple):
    """What every slot asks for. Slots are never reused; a removed one keeps its code and has a `died` version."""

    kind: U8  # |ROW|PROGRAM|
    start: I64  # |0|3|12|                       code of slot s is start[s]:start[s+1]
    code: I32  # |5 9 11|5 1 -2, 8 -1 2, ...|    predicates, or instructions (test, on true, on false)
    died: I64  # |HIGHEST|17|                    visible to a reader of version v when died > v


class Events(NamedTuple):
    """A batch of events: entry i says that on line[i] the event takes some value in low[i]..high[i]."""

    start: I64  # |0|2|5|          entries of event e are start[e]:start[e+1]
    line: I32  # |4 7|4 4 9|      entries of one line are neighbours
    low: I64  # |52 2|10 18 1|
    high: I64  # |52 2|10 18 1|   equal to low for a single value
    plain: U8  # |1|0|            1 when no line repeats and every entry is a single value


class Matches(NamedTuple):
    """Which slots each event satisfies, in no particular order."""

    start: I64  # |0|2|2|    slots of event e are slot[start[e]:start[e+1]]
    slot: I32  # |4 19|


class Stabbing(NamedTuple):
    """Intervals of every line, by shape, and who waits for each (see kernels/stabbing.py)."""

    line: I64  # |0 2 2|2 5 5|...     keys of shape h on line L are key[line[h*(lines+1)+L]:line[h*(lines+1)+L+1]]
    key: I64  # |20 31|5 7 9|...     points, half-lines up to, half-lines since, cuts of the trees; each ascending
    start: I64  # |0|4|6|...           list k is members[start[k]:start[k+1]]: lists of the keys, then of nodes
    members: I32


class CountingIndex(NamedTuple):
    """Rows are conjunctions; they wait for the intervals of their predicates.

    A subscription that is one conjunction has the row of its slot's number, so that a match needs no look-up. The
    rows of the others come after.
    """

    stabbing: Stabbing
    need: U64  # |7 0 3 2 ...|  predicates of a row, eight bytes to a word; 0 where none is built for the slot
    slot: I32  # |1|-6|-6|     slots of the last rows; -1 - slot for one of several
    always: I32  # rows without predicates


class PropagationIndex(NamedTuple):
    """Rows in clusters, by the one predicate that must be true before any of them is looked at."""

    stabbing: Stabbing  # whose members are predicates
    cluster: I64  # |0|4|4|9|    rows of predicate p's cluster are cluster[p]:cluster[p+1]; the last has no predicate
    row_start: I64  # |0|6|11|      row r's other predicates are row_code[row_start[r]:row_start[r+1]]
    row_code: I32
    row_slot: I32  # |1|-6|-6|     -1 - slot for one of several rows


class PredicateLists(NamedTuple):
    """A list of entries for every operator o and pivot P, number o * lines + P, cut into segments."""

    key_start: I64  # |0|3|3|7|      operands of operator o on line L are those of key_start[o*lines+L] and on
    keys: I64  # ascending for each; the place of an operand here is its rank
    key_line: I32  # by rank: the line
    segment_start: I64  # |0|3|3|5|      segments of list n begin here; the last only ends it, an empty list has none
    segments: I64  # |0 sig|7 sig|12 0|12 sig|20 0|    where its entries begin, and their signature
    ranks: I32  # |3 3 5|...       ascending in a list
    rows: I32  # whose entry it is, counted from the first of its pivot


class OpIndexIndex(NamedTuple):
    """Rows by pivot, and the lists of their predicates."""

    lists: PredicateLists
    pivot_rows: I64  # |0|4|4|9|       rows with the pivot line L are pivot_rows[L]:pivot_rows[L+1]; last those without
    row_slot: I32  # |1|-6|-6|       -1 - slot for one of several rows
    need: I32  # |7|3|5|         entries of a row that must be true


class OpIndexCNFIndex(NamedTuple):
    """Rows by pivot, one for each pivot of a subscription, and the lists of their clauses' predicates."""

    lists: PredicateLists
    pivot_rows: I64  # as in OpIndexIndex
    row_slot: I32
    clauses: U64  # |0b111|0b1|     a bit for each clause of a row
    clause: U8  # by entry: the number of its bit
    upto: I64  # by rank: where an interval that begins at the operand ends; beyond all values for other operands


class KIndexIndex(NamedTuple):
    """Rows by size, in a list for every segment of every line."""

    sizes: I64  # |0|2|9|         rows of size n are sizes[n]:sizes[n+1]
    row_slot: I32  # |1|-6|-6|       -1 - slot for one of several rows
    cut_start: I64  # |0|3|3|         cuts of line L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # segment L + k of line L is what lies before cut k and not before cut k - 1
    list_start: I64  # |0|4|4|9|       list of segment s is postings[list_start[s]:list_start[s+1]]
    postings: I32  # 2 * row + 1, ascending; 2 * row where the row excludes the segment
    nothing: I32  # a list of all rows of size 0


class GryphonIndex(NamedTuple):
    """A tree. The branches of a node are in groups, one for each line they test; node 0 is the root."""

    group_start: I64  # |0|2|2|       groups of node n are group_start[n]:group_start[n+1]
    group_line: I32
    point_start: I64  # |0|3|3|       branches of group g on single values, ascending
    point: I64
    point_child: I32  # the nodes they lead to
    other_start: I64  # |0|0|2|       branches of group g on other predicates
    other: I32
    other_child: I32
    slot_start: I64  # |0|1|3|       rows that end at node n are slots[slot_start[n]:slot_start[n+1]]
    slots: I32  # |1|-6|-6|     -1 - slot for one of several rows


class BETreeNodes(NamedTuple):
    """A BE-Tree that grows (see kernels/betree_grow.py)."""

    cnodes: I32  # [c-nodes, columns]
    pnodes: I32  # [p-nodes, columns]
    table: I32  # p-node + 1 by c-node and line
    work: I32
    state: I64


class BETreeIndex(NamedTuple):
    """A BE-Tree that is matched: nodes depth first, node 0 the root."""

    cut_start: I64  # |0|3|3|         cuts of line L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # a space begins with its cut
    node: I32  # [nodes+1, columns]    see kernels/betree.py
    pdir_line: I32  # |2 5 9|4|        lines of a node's p-nodes, ascending
    pdir_top: I32  # the nodes they lead to
    words: I32  # |2 17 5 9|0 -6|...    a row: how many predicates, its slot (-1 - slot for one of several), and those


class PSTreeArrays(NamedTuple):
    """PS-Trees: the spaces of every line in a sorted block, with room behind it; counters are found by a space's id."""

    block: I64  # |0|4|7|          the block of line L begins here in keys and ids
    room: I64  # |4|3|8|          and has room for so many spaces
    used: I64  # |3|1|5|          of which so many are in use
    keys: I64  # |LOWEST 20 61 .|LOWEST . .|...    where a space begins; it ends before the next one's begin
    ids: I32  # |7 1 4 .|...     stable
    ends: I32  # by id: intervals that begin at its key, or end just before it
    covers: I64  # by id: predicates that cover it
    events: I64  # by id: historical events in it
    spare: I32  # the ids not in use are the first ones here: as many as are left


class PSTBloomIndex(NamedTuple):
    """Rows in the lists of the spaces of their access predicate, and in the signatures of other spaces.

    Records of rows (see kernels/pstrows.py) stand in the order of their first lists. After those in lists come those
    that wait for a line, line by line, then those without predicates.
    """

    stabbing: Stabbing  # whose members are predicates
    cut_start: I64  # |0|3|3|       cuts of line L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # space L + k of line L is what lies before cut k and not before cut k - 1
    list_start: I64  # |0|4|4|9|     list of space s is rows[list_start[s]:list_start[s+1]]
    rows: I64  # where their records begin
    waiting: I64  # |90|90|120|   records that wait for line L are waiting[L]:waiting[L+1]; the last are always true
    records: I32  # |slot n p p line line|...    -1 - line where the predicate is in no signature
    sign_start: I64  # |0|2|2|5|     signature of space s is sign[sign_start[s]:sign_start[s+1]]
    sign: U64


class PSTHashIndex(NamedTuple):
    """Rows in the lists of combinations of spaces, one space of each access predicate; lists are found by hashing.

    Records stand in the same order as in PSTBloomIndex.
    """

    stabbing: Stabbing  # whose members are predicates
    cut_start: I64  # |0|3|3|       cuts of line L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # space L + k of line L is what lies before cut k and not before cut k - 1
    sizes: U8  # by space: bit n - 1 is set if it is in some key of n spaces
    table: I32  # key number + 1, or 0; open addressing
    keys: I32  # [keys, access]     spaces, ascending; -1 behind the last of fewer
    list_start: I64  # |0|4|4|9|     list of key k is rows[list_start[k]:list_start[k+1]]
    rows: I64  # where their records begin
    waiting: I64  # |90|90|120|   records that wait for line L are waiting[L]:waiting[L+1]; the last are always true
    records: I32  # |slot n p p|...
