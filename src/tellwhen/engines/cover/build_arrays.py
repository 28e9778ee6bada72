"""The arrays that exist only while an index of `cover` is built, drawn.

subscriptions ──> terms ──> covers ──> postings by key ──> clusters ──> chunks, programs, guards
                  TermCode  PredicateLists  KeyedPostings                Cut     ProgramWords

Kernels unpack these bundles (`kernels/handover.py`), so that Numba counts no references to their arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.tree import Tree
from tellwhen.kernels.arrays import F64, I32, I64, U8, U64, Flags, I32Matrix, I64Matrix


class Ranges(NamedTuple):
    """The predicates as ranges of spaces.

    A negated predicate is true if the event has its domain and no value in any of its ranges.
    """

    domain: I32
    negated: U8
    start: I64  # |0|1|3|     ranges of p are first[i]..last[i] for i in start[p]:start[p+1]
    first: I32  # ascending within a predicate
    last: I32


class SpaceMass(NamedTuple):
    """The spaces of all domains, with the share of the events that is expected in them."""

    cut_start: I64  # |0|3|3|     domain d has spaces cut_start[d] + d .. cut_start[d+1] + d
    mass: F64  # |0.0|0.2|0.7|...    mass[b] - mass[a] is the share in the spaces a to b - 1


class PredicateFacts(NamedTuple):
    """Facts about every predicate."""

    ranges: Ranges
    price: F64  # expected share of the events that find a term waiting for it
    is_apart: Flags  # does each of its ranges wait on a node of its own?
    buckets: U64  # a bit for every bucket that has a value of which it may be true
    is_exact: Flags  # do these buckets have no value of which it is false?


class PredicateLists(NamedTuple):
    """A list of predicates for every term."""

    start: I64  # |0|2|3|     list of s is predicate[start[s]:start[s+1]]
    predicate: I32


class TermCode(NamedTuple):
    """The terms of all subscriptions, in the form of subscriptions."""

    owner: I32  # by term: its subscription
    kind: U8
    start: I64  # |0|2|8|     code of term s is code[start[s]:start[s+1]]
    code: I32


class TermColumns(NamedTuple):
    """The predicates that every term requires, with their columns (`kernels/requirements.py`)."""

    start: I64  # |0|2|3|     those of term s are column[start[s]:start[s+1]]
    column: I32
    predicate: I32


class Requirements(NamedTuple):
    """The predicates and clauses that the terms require."""

    all: TermColumns
    plain: TermColumns  # without clauses
    is_whole: Flags  # by term: does testing the buckets of these columns decide it?
    span: int  # number of columns of a group

    @property
    def has_clauses(self) -> Flags:
        """Whether each term requires a clause."""
        return np.diff(self.all.start) > np.diff(self.plain.start)


class KeyedPostings(NamedTuple):
    """Terms with the keys of the nodes that they wait on."""

    key: I64  # |-1 -1 3 3 9|   ascending (`kernels/places.py`)
    term: I32  # |0 2 1 4 1|
    implied: I32  # by term: a predicate that is true of every event that finds the term, or -1


class CoverSearch(NamedTuple):
    """Prices and working arrays of `write_covers`, for the longest program."""

    predicate_price: F64
    tree: Tree  # of one term
    price: F64  # by node
    is_chosen: Flags  # by node
    is_banned: Flags  # by predicate; false between terms


class PartOrder(NamedTuple):
    """Prices and working arrays of `write_sorted_parts`, for the longest program."""

    predicate_price: F64
    nodes: I32Matrix  # [2 * tests + 2, TREE_COLUMNS]
    node: I64  # the parts of an AND, in ascending order of price
    price: F64  # and their prices
    penalty: F64  # by predicate: added to its price; zero between terms


class NodeCandidates(NamedTuple):
    """Working arrays of `list_nodes`: the possible nodes of one term."""

    key: I64
    share: F64  # expected share of the events with a value on the node
    predicate: I64  # the predicate that the node encloses


class KeyTable(NamedTuple):
    """A hash table of keys with open addressing."""

    key: I64  # |0|key + 2|0|...   the length is a power of two; 0 is a free place
    members: I64  # by place: the postings with that key
    used: I64  # [1] places in use


class NodeChoice(NamedTuple):
    """The node that each term moves to, and the predicate that this node encloses; -1 for a term that stays."""

    key: I64
    predicate: I64


WAITING_BEGIN, WAITING_END, TERMS_END, COLUMNS_END, TOUCHED, CURSOR_WORDS = range(6)
"""Words of the cursor of `cut_chunks`: the stretch of `waiting` that chunks are being made of, where the terms and the
columns end that are written, and how many columns are in `touched`."""


class CutScratch(NamedTuple):
    """Working arrays of `cut_chunks`."""

    counts: I64  # by column: the terms that require it; zero between chunks
    weight: F64  # by column: the share of the events that it rules out, summed; zero between chunks
    is_chosen: Flags  # by column; false between chunks
    touched: I32  # the columns that were counted
    waiting: I32  # |given up|WAITING_BEGIN .. WAITING_END|no columns|   terms of a cluster that are in no chunk yet
    cursor: I64


CUT_BEGIN, CUT_END, CUT_COLUMN, CUT_COLUMNS, CUT_CLUSTER, CUT_PLAIN, CUT_WORDS = range(7)
"""Columns of a chunk of `Cut`: where its terms begin and end, its first column and its number of columns, its cluster,
and whether the clauses of its terms are left out."""


class Cut(NamedTuple):
    """Chunks before they have bitmaps."""

    terms: I32  # of all postings, cluster by cluster: those of the chunks first
    chunks: I64Matrix  # [chunks, CUT_WORDS]
    columns: I32  # |3 9 17|3 4|...   the columns of the chunks; chunks that are neighbours may share theirs


class Bitmaps(NamedTuple):
    """The output of `fill_bitmaps`, and its working arrays for one chunk."""

    bits: U64  # as in `Chunks`
    start: I64  # |0|72|...    bitmaps of chunk c are bits[start[c]:start[c+1]]
    buckets: I32  # by domain: how many it has
    column_start: I64  # by column of the chunk: where its bitmaps begin
    group_start: I64  # by group of the chunk: where the bitmap of the members without this clause begins


class ChunkLayout(NamedTuple):
    """The distribution of the postings over chunks."""

    terms: I32  # by posting
    clusters: I64Matrix  # [clusters, CLUSTER_COLUMNS]
    words: I64  # as in `Chunks`
    bits: U64  # as in `Chunks`
    is_single: Flags  # by posting: is it in no chunk?
    is_decided: Flags  # by posting: do the bitmaps of its chunk decide it?


class ProgramWords(NamedTuple):
    """The output of `write_programs`."""

    words: I32
    base: int  # where `words` will begin in the words of the index
    shared: I64  # by predicate: where its shared list begins in the words of the index, or -1
