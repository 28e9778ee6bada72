"""The arrays of `opindex` and `opindex-cnf`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64, I64Matrix, keeps

EQUAL, AT_LEAST, AT_MOST, PREFIX = 0, 1, 2, 3
"""Operators. `= v` has a posting in the list EQUAL, `>= v` in AT_LEAST, `<= v` in AT_MOST, `STARTS WITH v` in PREFIX.

`ENDS WITH` is a PREFIX on the domain of the reversed strings.
"""

OPERATORS = 4
ORDERED_OPERATORS = 3
"""EQUAL, AT_LEAST and AT_MOST: the operands that a value makes true have consecutive ranks."""


class PrefixTrie(NamedTuple):
    """The operands of PREFIX as a trie: an interval of a domain has all strings with a prefix (section 6.2).

    Of two intervals, one contains the other, or they are disjoint. An interval comes before those inside it. The rank
    of interval i is the first rank of PREFIX plus i.
    """

    end: I64  # |99 40 20 98|   last point; the first one is the key of the operand
    parent: I32  # |-1 0 1 0|      the smallest interval around it: the next shorter prefix; -1 if there is none
    depth: int  # the most intervals that contain one point


class Operands(NamedTuple):
    """The distinct operands of each operator on each of D domains. The *rank* of an operand is its index in `keys`."""

    start: I64  # |0|3|3|7|    operands of operator o on domain d are keys[start[o*D+d]:start[o*D+d+1]]
    keys: I64  # |2 5 9|...   ascending for each operator and domain; of PREFIX the first points
    domain: I32  # |0 0 0|...   by rank
    trie: PrefixTrie


class PredicatePostings(NamedTuple):
    """The postings of each predicate. A posting is an operator and an operand, stored as the rank of the operand."""

    start: I64  # |0|1|3|    postings of predicate p are rank[start[p]:start[p+1]]
    rank: I32  # |5|0 4|
    operands: Operands


class SortedPostings(NamedTuple):
    """The postings of all owners, by predicate list and rank. An owner is a conjunction or a clause."""

    list_start: I64  # |0|4|4|9|    postings of list n are list_start[n]:list_start[n+1]
    rank: I32
    owner: I32


class PredicateLists(NamedTuple):
    """The predicate list of every operator o and pivot d, cut into segments. The number of a list is o*D + d."""

    operands: Operands
    segment_start: I64  # |0|3|3|5|                     list n has segments[segment_start[n]:segment_start[n+1]]
    segments: I64Matrix  # |0 sig|7 sig|12 0|12 sig|20 0|  first posting and signature; the last one only ends the list
    ranks: I32  # |3 3 5|...   by posting, ascending in a list
    conjunctions: I32  # |0 2 1|...   by posting: its conjunction, numbered from the first conjunction of the pivot


class OpIndexIndex(NamedTuple):
    """Conjunctions by pivot, and the lists of their predicates."""

    lists: PredicateLists
    pivot_start: I64  # |0|4|4|9|   conjunctions of pivot d are pivot_start[d]:pivot_start[d+1]; the last have no pivot
    conjunction_slot: I32  # |1|-6|-6|     -1 - slot for one of several
    need: I32  # |7|3|5|       initial value of the counter: postings of the conjunction that must be true


class Clauses(NamedTuple):
    """The clauses of subscriptions."""

    slot: I32  # |4|7|        by subscription
    first: I64  # |0|2|3|      clauses of subscription s are first[s]:first[s+1]
    start: I64  # |0|1|4|6|    predicates of clause c are predicate[start[c]:start[c+1]]
    predicate: I32


class OpIndexCNFIndex(NamedTuple):
    """Conjunctions of clauses by pivot, and the lists of their predicates.

    A subscription is one conjunction of clauses, which is here once for each of its pivots.
    """

    lists: PredicateLists
    pivot_start: I64  # as in OpIndexIndex
    conjunction_slot: I32  # |1|-6|-6|      -1 - slot for one of several pivots
    clauses: U64  # |0b111|0b1|    initial bitmap of the conjunction: a bit for each clause
    clause: U8  # |2 0 1|...     by posting: the number of its clause
    operand_end: I64  # by rank: the end of an interval that starts at an operand of AT_LEAST; HIGHEST for others


class TrueOperands(NamedTuple):
    """Scratch: the operands that the n entries of an event make true, as ranges of ranks.

    Each ordered operator has n ranges, one for each entry; a range may be empty. PREFIX has a range for each prefix of
    the value of each entry; an interval of strings has one more, for the prefixes that begin inside it.
    """

    start: I64  # |0|n|2n|3n|7n|    ranges of operator o are start[o]:start[o+1]
    low: I64  # by range: its first rank
    high: I64  # by range: the rank after its last one
    entry: I64  # by range: the entry that makes its operands true
    domain_fraction: I64  # by entry, from 0: the result of `compute_domain_fraction` for its domain


class ListRuns(NamedTuple):
    """Scratch: runs of postings, in the lists of a pivot, that the event makes true."""

    begin: I64
    end: I64
    entry: I64  # the entry of the event that makes the run true; while runs are found, the number of its range


@keeps("first_entry", "stamps", "effort")
class OpIndexScratch(NamedTuple):
    """Working arrays of a match with counters."""

    located: TrueOperands
    runs: ListRuns
    remaining: I32  # by conjunction of the pivot: its counter, the postings that must still become true
    done: I32  # conjunctions of the pivot that match
    first_entry: I32  # zero between events
    stamps: I64
    effort: I64


@keeps("first_entry", "stamps", "effort")
class OpIndexCNFScratch(NamedTuple):
    """Working arrays of a match with bitmaps."""

    located: TrueOperands
    runs: ListRuns
    remaining: U64  # by conjunction of the pivot: its bitmap, a bit for each clause that is not true yet
    done: I32
    first_entry: I32
    stamps: I64
    effort: I64
