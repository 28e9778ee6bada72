"""The arrays of `cover`, drawn.

A subscription waits on the nodes of its cover (`kernels/places.py`). All postings on one node are a *cluster*:

    event ──> spaces of its values ──> nodes ──> clusters ─┬─> chunks: AND of bitmaps ──┬──────────────────> slot
                                                           └─> postings: guard true? ───┴─> program true? ──> slot

All values are numbers of *spaces*, into which the predicates of this index cut each domain
(`engines/shared/spaces.py`). Domain d has the spaces cut_start[d] + d to cut_start[d+1] + d.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64, I64Matrix, keeps

RANGE, LIST, REGISTER, ASSIGN = range(4)
"""Kinds of instruction: test a range of spaces, test a list of ranges, test a register, set a register."""

NEGATED, JUMP_ON_TRUE, POINTS, FLAG_BITS = 4, 8, 16, 5
"""Flags of an instruction, beside its kind, in the low 5 bits of its head. The other bits of the head are the domain.
POINTS says that every range is a single space."""

HEAD, FIRST, LAST, JUMP, INSTRUCTION_WORDS = range(5)
"""Words of an instruction: its head; two words that are a range, or the offset of a list in `words` and the number of
its ranges, or a register and its value; and the target of the jump, taken if the test is true (JUMP_ON_TRUE) or else if
it is false. Without a jump the next instruction follows. ACCEPT and REJECT end the program. A program that runs past
its last instruction is false."""

LEVEL, HALF, NODE_FIRST, NODES, TABLE, VARIANT_COLUMNS = range(6)
"""Columns of a variant of nodes: its level, the shift of its nodes in spaces, its first node with a cluster, the number
of nodes from there on that are in the table, and their offset in the table."""

CHUNK, CHUNKS_END, REST, REST_END, GUARD, CLUSTER_COLUMNS = 0, 1, 2, 3, 4, 8
"""Columns of a cluster: where its chunks begin and end, where its postings in no chunk begin and end, and where their
guards begin. A row is one cache line."""

POSTING, MEMBERS, BITMAPS, COLUMNS, ALTERNATIVES, FEWEST, CHUNK_HEADER = range(7)
"""Words of a chunk: its first posting, the number of its members, where its bitmaps begin, the number of columns that
must be true, the number of columns of clauses, and the fewest columns that must be true for a member. Its columns
follow, clause by clause: each is group << GROUP_SHIFT | BITMAP_SPAN * (2 * domain + negated) + the number of bitmaps
in front of its own. Columns that must be true are in group 0. Every clause has a group of its own, in which `negated`
says that the predicate of some member is negated."""

BITMAP_SPAN = 1 << 16
"""Greater than the number of bitmaps in a chunk."""

GROUP_SHIFT = 56

CHUNK_MEMBERS, CHUNK_WORDS = 512, 8
"""The most members of a chunk, and the words of a bitmap with a bit for each member."""

CHUNK_MIN = 24
"""The fewest terms with the same attributes that are tested together, by default."""

BUCKETS_MAX = 62
"""The most buckets of a domain."""

GAP_FLAG = 128
"""A space between two buckets, a *gap*, has this flag plus the number of the bucket behind it."""


class Access(NamedTuple):
    """The table in which a space finds its clusters."""

    variant_start: I64  # |0|2|2|5|      variants of domain d are variants[variant_start[d]:variant_start[d+1]]
    variants: I64Matrix  # [variants, columns]
    cluster: I32  # |3|-1|0|...    by node of a variant: its cluster, -1 for none


class Postings(NamedTuple):
    """The waiting terms, cluster by cluster: first those in chunks, chunk by chunk, then those in no chunk."""

    slot: I32  # |4|-8|2|        -1 - slot if the slot has several postings
    program: I64  # |0|-1|34|       where its program begins in `words`, -1 for none; in a chunk it has only open tests
    guard: U64  # by posting in no chunk: the bits that an event must have (`kernels/guards.py`)


class Chunks(NamedTuple):
    """Groups of postings that are tested together."""

    words: I64  # |posting members bitmaps columns fewest|column column ...|posting ...
    bits: U64  # by chunk: a bitmap of members whose program must be run, then the bitmaps of its columns
    bucket: U8  # by space: the bucket of its domain that it is in, or GAP_FLAG + the bucket that follows


class CoverIndex(NamedTuple):
    """The index of some subscriptions."""

    cut_start: I64  # |0|3|3|          cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64
    access: Access
    clusters: I64Matrix  # [clusters, CLUSTER_COLUMNS]; every event opens cluster 0
    chunks: Chunks
    postings: Postings
    words: I32  # |3 3 7 9|8 ........ 4 4 6 7|   shared lists of ranges; programs: length, instructions, own lists


@keeps("where", "bitmap", "present", "opened", "entry", "stamps", "effort")
class CoverScratch(NamedTuple):
    """Working arrays of a match."""

    where: I32  # by domain: the space of its value + 1, or a code of `kernels/values.py`; zero between events
    bitmap: I32  # by domain: the bitmap that its value selects in its columns; zero between events
    first_entry: I32  # by domain of the event: its first entry
    low: I32  # by entry of the event: the space of its least value
    high: I32  # by entry of the event: the space of its greatest value
    present: U64  # a bit for every space that has one of several values on its domain; zero between events
    clusters: I32  # the clusters that the event opens
    chunks: I64  # the chunks with members that the event may satisfy
    opened: I64  # by cluster: when it was last opened; the last element is the clock
    buckets: U64  # by domain with several values: a bit for each of their buckets
    joined: U64  # the OR, or the AND, of several bitmaps
    either: U64  # of a chunk: the members for which a clause is true
    members: U64  # of a chunk: the members that no bitmap has ruled out
    candidates: I32  # postings whose program must be run; -1 - posting to test the whole subscription
    registers: U8
    truth: U64
    entry: I32  # by domain of the store, for `kernels.evaluate.open_event`; zero between events
    stamps: I64
    effort: I64


VISIT_ROW, VISIT_NEXT, VISIT_COLUMNS = range(3)
"""Columns of a visit of an event to a cluster: the event's row, and 1 + the next visit to that cluster."""

DECIDED, UNDECIDED, CHAINS = range(3)
"""The two chains of pages of an event: slots, and candidates as in `CoverScratch.candidates`."""

CHAIN_HEAD, CHAIN_END, CHAIN_COLUMNS = range(3)
"""Columns of a chain: the page that is being filled, -1 for none, and the end of its elements."""

PAGE_NEXT, PAGE_END, PAGE_COLUMNS = range(3)
"""Columns of a full page: the next page of its chain, -1 for none, and the end of its elements."""

PAGE_SIZE = 1024
"""Elements of a page, at most."""


@keeps("first_visit")
class BatchScratch(NamedTuple):
    """Working arrays for a block of events. Each event has a row of bitmaps and of buckets in `cover`."""

    cover: CoverScratch
    first_visit: I32  # by cluster: 1 + its first visit; zero between blocks
    met: I32  # the clusters that events of the block have opened
    visits: I32
    chains: I32  # by row, CHAINS each
    pages: I32
    staged: I32  # page by page
    used: I64  # [1] the number of pages in use

    @property
    def effort(self) -> I64:
        """Counts of candidates and of tested guards."""
        return self.cover.effort
