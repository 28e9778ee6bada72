"""The arrays of `cover`, drawn.

A subscription waits on the nodes of its cover (`kernels/places.py`). All that wait on one node are a *cluster*:

    event ──> spaces of its values ──> nodes ──> clusters ─┬─> chunks: AND of bitmaps ──┬──────────────────> slot
                                                           └─> postings: guard true? ───┴─> program true? ──> slot

Everything is in terms of the *spaces* into which the predicates of this index cut each domain
(`engines/shared/spaces.py`): domain d has the spaces cut_start[d] + d to cut_start[d+1] + d.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64, I64Matrix, keeps

RANGE, LIST, REGISTER, ASSIGN = range(4)
"""Kinds of instruction: test a range of spaces, test a list of ranges, test a register, set a register."""

NEGATED, JUMP_ON_TRUE, POINTS, FLAG_BITS = 4, 8, 16, 5
"""Flags of an instruction beside its kind, in the low 5 bits of its head. The rest of the head is the domain. POINTS
says that every range is a single space."""

HEAD, FIRST, LAST, JUMP, INSTRUCTION_WORDS = range(5)
"""Words of an instruction: its head; the range, or where its list begins in `words` and how many ranges it has, or a
register and its value; and where the program goes on if the test is true (JUMP_ON_TRUE) or if it is false. Otherwise
the next instruction follows. ACCEPT and REJECT end the program; behind its last instruction it is false."""

LEVEL, HALF, NODE_FIRST, NODES, TABLE, VARIANT_COLUMNS = range(6)
"""Columns of a variant of nodes: its level, by how many spaces its nodes are shifted, its first node with a cluster,
how many nodes from there on are in the table, and where they begin in it."""

CHUNK, CHUNKS_END, REST, REST_END, GUARD, CLUSTER_COLUMNS = 0, 1, 2, 3, 4, 8
"""Columns of a cluster: where its chunks begin and end, its postings that are in no chunk, and where their guards
begin. One cache line."""

POSTING, MEMBERS, BITMAPS, COLUMNS, ALTERNATIVES, FEWEST, CHUNK_HEADER = range(7)
"""Words of a chunk: its first posting, the number of its members, where its bitmaps begin, the number of columns that
must be true, the number of columns of clauses, and the fewest of the former that a member asks for. Its columns
follow, clause by clause: each is group << GROUP_SHIFT | BITMAP_SPAN * (2 * domain + negated) + the number of bitmaps
before its own. Columns that must be true are in group 0. Every clause has a group of its own, in which `negated` says
that the predicate of some member is."""

BITMAP_SPAN = 1 << 16
"""Greater than the number of bitmaps in a chunk."""

GROUP_SHIFT = 56

CHUNK_MEMBERS, CHUNK_WORDS = 512, 8
"""The most members of a chunk, and the words of a bitmap with a bit for each."""

CHUNK_MIN = 24
"""The fewest terms with the same attributes that are worth testing together."""

BUCKETS_MAX = 62
"""The most buckets of a domain."""

GAP_FLAG = 128
"""Added to the bucket that follows a space which is itself in none: a *gap* between two that have buckets."""


class Access(NamedTuple):
    """From spaces to clusters."""

    variant_start: I64  # |0|2|2|5|      variants of domain d are variants[variant_start[d]:variant_start[d+1]]
    variants: I64Matrix  # [variants, columns]
    cluster: I32  # |3|-1|0|...    by node of a variant: its cluster, -1 for none


class Postings(NamedTuple):
    """The terms that wait, cluster by cluster: first those in chunks, chunk by chunk, then those in none."""

    slot: I32  # |4|-8|2|        -1 - slot if the slot has several postings
    program: I64  # |0|-1|34|       where its program begins in `words`, -1 for none; in a chunk, of open tests only
    guard: U64  # by posting that is in no chunk: what an event must have (`kernels/guards.py`)


class Chunks(NamedTuple):
    """Postings that are tested together."""

    words: I64  # |posting members bitmaps columns fewest|column column ...|posting ...
    bits: U64  # by chunk: a bitmap of members whose program must be run, then the bitmaps of its columns
    bucket: U8  # by space: the bucket of its domain that it is in, or GAP + the one that follows


class CoverIndex(NamedTuple):
    """An index of some subscriptions."""

    cut_start: I64  # |0|3|3|          cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64
    access: Access
    clusters: I64Matrix  # [clusters, CLUSTER_COLUMNS]; cluster 0 is opened by every event
    chunks: Chunks
    postings: Postings
    words: I32  # |3 3 7 9|8 ........ 4 4 6 7|   shared lists of ranges; programs: length, instructions, own lists


@keeps("where", "bitmap", "present", "opened", "entry", "stamps", "effort")
class CoverScratch(NamedTuple):
    """Working arrays of a match."""

    where: I32  # by domain: the space of its value + 1, or what `kernels/values.py` says; zero between events
    bitmap: I32  # by domain: the bitmap of its columns that its value selects; zero between events
    first_entry: I32  # by domain that is there: its first entry in the event
    low: I32  # by entry of the event: the space of its least value
    high: I32  # and of its greatest
    present: U64  # a bit for every space: one of the event's several values on its domain; zero between events
    clusters: I32  # that the event opens
    chunks: I64  # that the event may satisfy members of
    opened: I64  # by cluster: when it was last opened; the last element is the clock
    buckets: U64  # by domain of which the event has several values: a bit for each of their buckets
    joined: U64  # a bitmap: the OR, or the AND, of several
    either: U64  # of a chunk: the members for which a clause is true
    members: U64  # of a chunk: those that no bitmap has ruled out yet
    candidates: I32  # postings whose program is to be run; -1 - posting to test the whole subscription
    registers: U8
    truth: U64
    entry: I32  # by domain of the store: as `kernels.evaluate.open_event` says; zero between events
    stamps: I64
    effort: I64


VISIT_ROW, VISIT_NEXT, VISIT_COLUMNS = range(3)
"""Columns of a visit of an event to a cluster: the event's row, and 1 + the next visit to that cluster."""

DECIDED, UNDECIDED, CHAINS = range(3)
"""The chains of pages of an event: one of slots, and one of candidates, as in `CoverScratch.candidates`."""

CHAIN_HEAD, CHAIN_END, CHAIN_COLUMNS = range(3)
"""Columns of a chain: its page that is being filled, -1 for none, and where that ends so far."""

PAGE_NEXT, PAGE_END, PAGE_COLUMNS = range(3)
"""Columns of a page that is full: the next one of its chain, -1 for none, and where it ends."""

PAGE_SIZE = 1024
"""Elements of a page."""


@keeps("first_visit")
class BatchScratch(NamedTuple):
    """Working arrays for a block of events. Each has a row of bitmaps and of buckets in `cover`."""

    cover: CoverScratch
    first_visit: I32  # by cluster: 1 + its first visit; zero between blocks
    met: I32  # clusters that events of the block have opened
    visits: I32
    chains: I32  # by row, CHAINS each
    pages: I32
    staged: I32  # page by page
    used: I64  # how many pages are in use

    @property
    def effort(self) -> I64:
        """What was done for the events."""
        return self.cover.effort
