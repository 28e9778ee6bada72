"""The arrays of `opindex`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64


class PredicateLists(NamedTuple):
    """A list of entries for every operator o and pivot P, number o * domains + P, cut into segments."""

    key_start: I64  # |0|3|3|7|      operands of operator o on domain L are those of key_start[o*domains+L] and on
    keys: I64  # ascending for each; the place of an operand here is its rank
    key_domain: I32  # by rank: the domain
    segment_start: I64  # |0|3|3|5|      segments of list n begin here; the last only ends it, an empty list has none
    segments: I64  # |0 sig|7 sig|12 0|12 sig|20 0|    where its entries begin, and their signature
    ranks: I32  # |3 3 5|...       ascending in a list
    conjunctions: I32  # whose entry it is, counted from the first of its pivot


class OpIndexIndex(NamedTuple):
    """Conjunctions by pivot, and the lists of their predicates."""

    lists: PredicateLists
    pivot_start: I64  # |0|4|4|9|       conjunctions with the pivot domain L are pivot_start[L]:pivot_start[L+1]; last those without
    conjunction_slot: I32  # |1|-6|-6|       -1 - slot for one of several conjunctions
    need: I32  # |7|3|5|         entries of a conjunction that must be true


class OpIndexCNFIndex(NamedTuple):
    """Conjunctions by pivot, one for each pivot of a subscription, and the lists of their clauses' predicates."""

    lists: PredicateLists
    pivot_start: I64  # as in OpIndexIndex
    conjunction_slot: I32
    clauses: U64  # |0b111|0b1|     a bit for each clause of a conjunction
    clause: U8  # by entry: the number of its bit
    upto: I64  # by rank: where an interval that begins at the operand ends; beyond all values for other operands
